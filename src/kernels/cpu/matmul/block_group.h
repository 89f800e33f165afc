// SPDX-License-Identifier: Apache-2.0
// One quantisation group of a file's block format in a form that all formats share.
#pragma once

#include <cstdint>

#include "kernels/cpu/matmul/layout.h"
#include "kernels/weights.h"

namespace shoal::kernels::cpu {

// The format a file's weights are multiplied in: the products of the K formats' two scales are
// rounded once to half, which makes q4_k a q4_1 and q5_k a q5_1.
constexpr WeightFormat StoredFormat(WeightFormat file) {
  switch (file) {
    case WeightFormat::kQ4_K:
      return WeightFormat::kQ4_1;
    case WeightFormat::kQ5_K:
      return WeightFormat::kQ5_1;
    default:
      return file;
  }
}

// weight k = (q[k] - QuantOffset) * scale, or q[k] * scale + minimum where the format has one.
struct BlockGroup {
  uint16_t scale = 0;    // half
  uint16_t minimum = 0;  // half
  bool finite = true;    // scale and minimum are finite and, where rounded, within half's range
  uint8_t q[32] = {};    // GroupSize of them; q8_0: int8
};

// Group `index` of a block of BlockSize weights; `format` is a block format. Block layouts: GGUF
// specification, "ggml-quants" block types.
BlockGroup DecodeGroup(WeightFormat format, const uint8_t* block, int64_t index);

}  // namespace shoal::kernels::cpu
