// SPDX-License-Identifier: Apache-2.0
// ChatClient: a conversation with a served model, over OpenAI HTTP or gRPC.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shoal::app {

struct ChatTurn {
  std::string role;
  std::string content;
};

struct ChatSettings {
  std::string model;
  double temperature = 0;
  int32_t max_tokens = 0;  // 0: the server's default
  std::optional<uint64_t> seed;
};

// Owned by one thread.
class ChatClient {
 public:
  virtual ~ChatClient() = default;
  virtual absl::StatusOr<std::vector<std::string>> ListModels() = 0;
  // Streams the answer to `turns` through `on_text`; returns once it has ended. An answer that
  // breaks off without a finish reason is an error.
  virtual absl::Status Chat(const std::vector<ChatTurn>& turns, const ChatSettings& settings,
                            const std::function<void(const std::string&)>& on_text) = 0;
};

// `url` is http://host:port, https://host:port or grpc://host:port. `api_key` may be empty.
absl::StatusOr<std::unique_ptr<ChatClient>> CreateChatClient(const std::string& url,
                                                             const std::string& api_key);

// The two implementations.
std::unique_ptr<ChatClient> CreateHttpChatClient(const std::string& url,
                                                 const std::string& api_key);
std::unique_ptr<ChatClient> CreateGrpcChatClient(const std::string& target,
                                                 const std::string& api_key);

}  // namespace shoal::app
