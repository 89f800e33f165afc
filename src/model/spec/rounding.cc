// SPDX-License-Identifier: Apache-2.0
#include "model/spec/rounding.h"

#include <bit>
#include <cstdint>

namespace shoal::model {

float RoundToDtype(float value, absl::string_view dtype) {
  int dropped = 0;  // low bits of the significand
  if (dtype == "bfloat16") dropped = 16;
  if (dtype == "float16") dropped = 13;
  if (dropped == 0) return value;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t half = (uint32_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return std::bit_cast<float>((bits + half) >> dropped << dropped);
}

}  // namespace shoal::model
