// SPDX-License-Identifier: Apache-2.0
#include "app/chat/client.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shoal::app {

absl::StatusOr<std::unique_ptr<ChatClient>> CreateChatClient(const std::string& url,
                                                             const std::string& api_key) {
  constexpr absl::string_view kGrpc = "grpc://";
  std::string base = url;
  while (!base.empty() && base.back() == '/') base.pop_back();
  if (absl::StartsWith(base, kGrpc)) {
    return CreateGrpcChatClient(base.substr(kGrpc.size()), api_key);
  }
  if (absl::StartsWith(base, "http://") || absl::StartsWith(base, "https://")) {
    return CreateHttpChatClient(base, api_key);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--url '", url, "' must start with http://, https:// or grpc://"));
}

}  // namespace shoal::app
