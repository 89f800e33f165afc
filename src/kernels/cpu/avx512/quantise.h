// SPDX-License-Identifier: Apache-2.0
// int8 activations with AVX-512; the definition is QuantiseRowFn. Only for files in avx512/ and
// amx/.
#pragma once

#include <cstdint>

namespace shoal::kernels::cpu::avx512 {

void QuantiseRow(const float* x, int64_t groups, int64_t height, int64_t row, uint8_t* panel);
void QuantiseRow16(const float* x, int64_t groups, int64_t height, int64_t row, uint8_t* panel);

}  // namespace shoal::kernels::cpu::avx512
