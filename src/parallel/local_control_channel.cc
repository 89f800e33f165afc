// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mailbox.h"
#include "parallel/control_channel.h"

namespace shoal::parallel {
namespace {

class LocalControlChannel final : public ControlChannel {
 public:
  explicit LocalControlChannel(size_t messages_max)
      : messages_max_(messages_max), mailbox_(messages_max) {}

  absl::Status Publish(std::vector<uint8_t> message) override {
    if (mailbox_.TryPush(std::move(message))) return absl::OkStatus();
    if (mailbox_.closed()) return absl::CancelledError("control channel: closed");
    return absl::ResourceExhaustedError(
        absl::StrCat("control channel: ", messages_max_, " messages are unread, its bound"));
  }

  absl::StatusOr<std::vector<uint8_t>> Next(absl::Duration timeout) override {
    std::optional<std::vector<uint8_t>> message = mailbox_.Pop(timeout);
    if (message.has_value()) return std::move(*message);
    // A message pushed between Pop and Close is still there.
    if (mailbox_.closed()) {
      message = mailbox_.Pop(absl::ZeroDuration());
      if (message.has_value()) return std::move(*message);
      return absl::CancelledError("control channel: closed");
    }
    return absl::DeadlineExceededError(
        absl::StrCat("control channel: no message within ", absl::FormatDuration(timeout)));
  }

  void Close() override { mailbox_.Close(); }

 private:
  const size_t messages_max_;
  Mailbox<std::vector<uint8_t>> mailbox_;
};

}  // namespace

std::unique_ptr<ControlChannel> CreateLocalControlChannel(size_t messages_max) {
  SHOAL_CHECK(messages_max > 0);
  return std::make_unique<LocalControlChannel>(messages_max);
}

}  // namespace shoal::parallel
