// SPDX-License-Identifier: Apache-2.0
// Cuts a Jinja template into tokens, with the whitespace rules that chat templates are written for
// (trim_blocks and lstrip_blocks on, one newline at the end of the template dropped).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal::text::jinja {

struct Token {
  enum class Type {
    kData,
    kVariableBegin,
    kVariableEnd,
    kBlockBegin,
    kBlockEnd,
    kName,
    kString,
    kInt,
    kFloat,
    kOperator,
    kEnd,
  };
  Type type = Type::kEnd;
  std::string text;  // of strings: after escapes
  int64_t integer = 0;
  double real = 0;
  int line = 1;
};

// "chat template, line N: <what>".
absl::Status TemplateError(int line, absl::string_view what);

// Ends with a kEnd token. INVALID_ARGUMENT with the line of what cannot be read.
absl::StatusOr<std::vector<Token>> Lex(absl::string_view source);

}  // namespace shoal::text::jinja
