// SPDX-License-Identifier: Apache-2.0
// What is drawn from one row of logits. A pure function of the row, the request and the seed.
//
// Logits: NaN counts as -infinity, +infinity as the largest float. A row without any logit above
// -infinity gives token 0.
// The adjustment of the logits (kernels/sampling.h) comes first, then the filters in the order
// temperature, top-k, top-p, min-p.
//   weight   w_i = exp((logit_i - maximum) / temperature)
//   top-k    the k first of the order (descending logit, ties by lower id)
//   top-p    of those, the shortest prefix whose weights reach top_p of their sum
//   min-p    of those, the prefix whose weights reach min_p times the largest
// The draw: u from Philox (counter: position, choice, purpose; key: seed), 53 bits in [0, 1); the
// first token whose running sum (double) exceeds u times the sum of what is kept. Tokens run in
// order of id if no filter is on, else in the order above.
// A temperature below kGreedyTemperature takes the first of the order.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/ops/op_kernels.h"
#include "kernels/sampling.h"

namespace shoal::kernels::cpu {

inline constexpr float kGreedyTemperature = 1e-5F;

// Uniform in [0, 1) with 53 bits.
double UniformOf(const SampleRow& row);

// logits: n of them, n >= 1; row.given_token in [0, n) if !row.draw. Runs in the mode of
// float_mode.h. `scratch` belongs to the calling thread.
SampledToken SampleLogits(const OpKernels& kernels, const float* logits, int64_t n,
                          const SampleRow& row, Scratch& scratch);

}  // namespace shoal::kernels::cpu
