// SPDX-License-Identifier: Apache-2.0
// Errors as OpenAI clients expect them: status, JSON body, retry headers.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "router/frontend/http_server/http_types.h"

namespace shoal::router {

int HttpStatusOf(const absl::Status& status);
// {"error": {"message", "type", "param", "code"}}
nlohmann::json ErrorJson(int http_status, const absl::Status& status);
HttpResponse ErrorResponse(const absl::Status& status);
// For what has an HTTP status of its own (405, 413, …).
HttpResponse ErrorResponse(int http_status, const std::string& message, const std::string& code);

}  // namespace shoal::router
