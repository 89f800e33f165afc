// SPDX-License-Identifier: Apache-2.0
// Rounding of a constant to the type a model's file names.
#pragma once

#include "absl/strings/string_view.h"

namespace shoal::model {

// `value` (positive, in the range of both 16-bit types) rounded to nearest even as "bfloat16" or
// "float16"; itself for any other name.
float RoundToDtype(float value, absl::string_view dtype);

}  // namespace shoal::model
