// SPDX-License-Identifier: Apache-2.0
// JSON in (messages, tools) and out (the tojson filter).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

// Everything is marked as user text. INVALID_ARGUMENT when nested too deeply or not UTF-8.
absl::StatusOr<Value> FromJson(const nlohmann::ordered_json& json, Arena* arena);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  int indent = -1;  // negative: one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// As Python's json.dumps(). Errors carry no line.
absl::Status AppendJson(const Value& value, const JsonStyle& style, TextBuilder* out);

}  // namespace shoal::text::jinja
