// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "app/chat/client.h"
#include "base/status.h"
#include "shoal/v1/inference.grpc.pb.h"

namespace shoal::app {
namespace {

constexpr auto kListDeadline = std::chrono::seconds(10);
constexpr auto kChatDeadline = std::chrono::minutes(10);

class GrpcChatClient final : public ChatClient {
 public:
  GrpcChatClient(const std::string& target, std::string api_key)
      : api_key_(std::move(api_key)),
        stub_(v1::Inference::NewStub(
            grpc::CreateChannel(target, grpc::InsecureChannelCredentials()))) {}

  absl::StatusOr<std::vector<std::string>> ListModels() override {
    grpc::ClientContext context;
    Prepare(context, kListDeadline);
    v1::ListModelsResponse response;
    SHOAL_RETURN_IF_ERROR(
        ToStatus(stub_->ListModels(&context, v1::ListModelsRequest(), &response)));
    std::vector<std::string> names;
    for (const v1::Model& model : response.models()) names.push_back(model.name());
    return names;
  }

  absl::Status Chat(const std::vector<ChatTurn>& turns, const ChatSettings& settings,
                    const std::function<void(const std::string&)>& on_text) override {
    v1::ChatRequest request;
    request.set_model(settings.model);
    for (const ChatTurn& turn : turns) {
      v1::ChatMessage* message = request.add_messages();
      message->set_role(turn.role);
      message->set_content(turn.content);
    }
    v1::RequestOptions* options = request.mutable_options();
    options->mutable_sampling()->set_temperature(static_cast<float>(settings.temperature));
    if (settings.seed) options->mutable_sampling()->set_seed(*settings.seed);
    if (settings.max_tokens > 0) options->mutable_stop()->set_max_tokens(settings.max_tokens);
    grpc::ClientContext context;
    Prepare(context, kChatDeadline);
    const auto reader = stub_->Chat(&context, request);
    v1::GenerateResponse response;
    bool finished = false;
    while (reader->Read(&response)) {
      if (!response.text().empty()) on_text(response.text());
      finished = finished || response.finish_reason() != v1::FINISH_REASON_UNSPECIFIED;
    }
    SHOAL_RETURN_IF_ERROR(ToStatus(reader->Finish()));
    return finished ? absl::OkStatus() : absl::DataLossError("the answer has no finish reason");
  }

 private:
  template <typename Duration>
  void Prepare(grpc::ClientContext& context, Duration deadline) const {
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    if (!api_key_.empty()) {
      context.AddMetadata("authorization", absl::StrCat("Bearer ", api_key_));
    }
  }

  static absl::Status ToStatus(const grpc::Status& status) {
    if (status.ok()) return absl::OkStatus();
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

  const std::string api_key_;
  const std::unique_ptr<v1::Inference::Stub> stub_;
};

}  // namespace

std::unique_ptr<ChatClient> CreateGrpcChatClient(const std::string& target,
                                                 const std::string& api_key) {
  return std::make_unique<GrpcChatClient>(target, api_key);
}

}  // namespace shoal::app
