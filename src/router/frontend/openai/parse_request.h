// SPDX-License-Identifier: Apache-2.0
// OpenAI request bodies into GenerationRequest. Wrong types and known fields that are not built are
// refused with the field's name; unknown fields and pure metadata are ignored. Ranges are checked
// later, by CheckParams.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "router/frontend/generation_request.h"

namespace shoal::router {

struct OpenAiRequest {
  GenerationRequest generation;
  bool stream = false;
  bool include_usage = false;
  bool echo = false;  // completions only
};

absl::StatusOr<OpenAiRequest> ParseChat(const nlohmann::ordered_json& body);
absl::StatusOr<OpenAiRequest> ParseCompletion(const nlohmann::ordered_json& body);

}  // namespace shoal::router
