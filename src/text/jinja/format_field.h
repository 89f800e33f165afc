// SPDX-License-Identifier: Apache-2.0
// One value written in a field of some width, as format() and % do it. Errors carry no line.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

struct FieldSpec {
  absl::string_view fill = " ";  // one character; points into the specifier
  char align = '\0';             // '<' '>' '^' '='; none: by the kind of value
  char sign = '-';
  bool alternate = false;  // a prefix such as 0x
  bool comma = false;      // between thousands
  int width = 0;
  int precision = -1;
  char type = '\0';
};

// "[[fill]align][sign][#][0][width][,][.precision][type]".
absl::StatusOr<FieldSpec> ParseFieldSpec(absl::string_view text);

// A decimal number at the start of `text`, which is cut off it; 0 when there is none.
absl::StatusOr<int> TakeFieldNumber(absl::string_view* text);

// Numbers by type d, i, u, b, o, x, X, c, e, E, f, F, g, G, %.
absl::Status AppendNumberField(const Value& value, const FieldSpec& spec, TextBuilder* out);

// A piece of text, cut to the precision and padded to the width.
absl::Status AppendTextField(const Text& text, const FieldSpec& spec, TextBuilder* out);

}  // namespace shoal::text::jinja
