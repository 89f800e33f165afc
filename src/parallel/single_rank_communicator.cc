// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status.h"
#include "parallel/communicator.h"

namespace shoal::parallel {
namespace {

// memmove: in and out may be the same buffer; a null pointer is legal when nothing is copied.
void Copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

absl::Status SizeMismatch(absl::string_view operation, absl::string_view what, int64_t got,
                          int64_t wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat(operation, " on rank 0 of 1: ", what, " is ", got, ", but must be ", wanted));
}

class SingleRankCommunicator final : public Communicator {
 public:
  int32_t rank() const override { return 0; }
  int32_t size() const override { return 1; }

  absl::Status AllGather(ConstBytes in, Bytes out) override {
    SHOAL_RETURN_IF_ERROR(Alive());
    if (out.size() != in.size()) {
      return SizeMismatch("AllGather", "bytes of out", static_cast<int64_t>(out.size()),
                          static_cast<int64_t>(in.size()));
    }
    Copy(out.data(), in.data(), in.size());
    return absl::OkStatus();
  }

  absl::Status ReduceScatter(std::span<const float> in, std::span<float> out) override {
    SHOAL_RETURN_IF_ERROR(Alive());
    if (out.size() != in.size()) {
      return SizeMismatch("ReduceScatter", "elements of out", static_cast<int64_t>(out.size()),
                          static_cast<int64_t>(in.size()));
    }
    Copy(out.data(), in.data(), in.size_bytes());
    return absl::OkStatus();
  }

  absl::Status AllToAllV(ConstBytes in, std::span<const int64_t> send_counts, Bytes out,
                         std::span<const int64_t> recv_counts) override {
    SHOAL_RETURN_IF_ERROR(Alive());
    SHOAL_RETURN_IF_ERROR(CheckCounts("send_counts", send_counts, in.size()));
    SHOAL_RETURN_IF_ERROR(CheckCounts("recv_counts", recv_counts, out.size()));
    if (send_counts[0] != recv_counts[0]) {
      return SizeMismatch("AllToAllV", "recv_counts[0]", recv_counts[0], send_counts[0]);
    }
    Copy(out.data(), in.data(), in.size());
    return absl::OkStatus();
  }

  absl::Status Broadcast(Bytes data, int32_t root) override {
    SHOAL_RETURN_IF_ERROR(Alive());
    return root == 0 ? absl::OkStatus() : SizeMismatch("Broadcast", "root", root, 0);
  }

  absl::Status Send(ConstBytes data, int32_t to) override { return NoPeer("Send", "to", to); }
  absl::Status Receive(Bytes data, int32_t from) override {
    return NoPeer("Receive", "from", from);
  }

  void Abort(absl::string_view reason) override {
    MutexLock lock(&mutex_);
    if (aborted_.ok()) {
      aborted_ = absl::AbortedError(absl::StrCat("communicator aborted: ", reason));
    }
  }

 private:
  absl::Status Alive() const {
    MutexLock lock(&mutex_);
    return aborted_;
  }

  static absl::Status CheckCounts(absl::string_view name, std::span<const int64_t> counts,
                                  size_t bytes) {
    if (counts.size() != 1) {
      return SizeMismatch("AllToAllV", absl::StrCat("the number of ", name),
                          static_cast<int64_t>(counts.size()), 1);
    }
    if (counts[0] != static_cast<int64_t>(bytes)) {
      return SizeMismatch("AllToAllV", absl::StrCat(name, "[0]"), counts[0],
                          static_cast<int64_t>(bytes));
    }
    return absl::OkStatus();
  }

  absl::Status NoPeer(absl::string_view operation, absl::string_view word, int32_t peer) const {
    SHOAL_RETURN_IF_ERROR(Alive());
    return absl::InvalidArgumentError(absl::StrCat(operation, " on rank 0 of 1: ", word, " rank ",
                                                   peer, ": a group of one has no peer"));
  }

  mutable Mutex mutex_;
  absl::Status aborted_ ABSL_GUARDED_BY(mutex_);  // OK while the group lives
};

}  // namespace

std::unique_ptr<Communicator> CreateSingleRankCommunicator() {
  return std::make_unique<SingleRankCommunicator>();
}

}  // namespace shoal::parallel
