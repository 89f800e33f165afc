// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/openai/http_errors.h"

#include "router/api_error.h"
#include "router/frontend/openai/json_guard.h"

namespace shoal::router {
namespace {

using nlohmann::json;

const char* TypeOf(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  if (status == 504) return "timeout_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

HttpResponse Build(int status, const json& body) {
  HttpResponse response;
  response.status = status;
  response.headers = {{"Content-Type", "application/json"}};
  if (status == 429) {
    response.headers.insert(response.headers.end(),
                            {{"Retry-After", "1"}, {"retry-after-ms", "1000"}});
  } else if (status == 503) {
    response.headers.insert(response.headers.end(),
                            {{"Retry-After", "2"}, {"retry-after-ms", "2000"}});
  } else if (status == 504 || status == 499 || body["error"]["code"] == kReplicaCrash) {
    // Its time is over, or it would do more harm.
    response.headers.emplace_back("x-should-retry", "false");
  } else if (status == 401) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  response.body = DumpJson(body);
  return response;
}

}  // namespace

int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

json ErrorJson(int http_status, const absl::Status& status) {
  const std::string param = ErrorParam(status), code = ErrorCode(status);
  return {{"error",
           {{"message", std::string(status.message())},
            {"type", TypeOf(http_status)},
            {"param", param.empty() ? json(nullptr) : json(param)},
            {"code", code.empty() ? json(nullptr) : json(code)}}}};
}

HttpResponse ErrorResponse(const absl::Status& status) {
  const int http_status = HttpStatusOf(status);
  return Build(http_status, ErrorJson(http_status, status));
}

HttpResponse ErrorResponse(int http_status, const std::string& message, const std::string& code) {
  return Build(http_status,
               ErrorJson(http_status, ApiError(absl::StatusCode::kUnknown, message, "", code)));
}

}  // namespace shoal::router
