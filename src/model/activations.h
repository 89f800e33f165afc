// SPDX-License-Identifier: Apache-2.0
// ActivationPlan: where a decoder's activations lie in its one arena. Planned from the spec and the
// limits alone, so that `shoal check` and the decoder cannot disagree.
#pragma once

#include <cstdint>

#include "kernels/tensor.h"
#include "model/decoder.h"
#include "model/spec/model_spec.h"

namespace shoal::model {

// Byte offsets into the arena, each 64-byte aligned. The widest block sets the size of the scratch,
// which attention and MLP use in turn.
struct ActivationPlan {
  int64_t hidden = 0;    // [rows, hidden]: the residual stream
  int64_t normed = 0;    // [rows, hidden]
  int64_t wide = 0;      // [rows, q/k/v or gate and up]
  int64_t narrow = 0;    // [rows, attention output or gated]
  int64_t selected = 0;  // [logits rows, hidden]
  int64_t logits = 0;    // [logits rows, vocabulary]
  int64_t bytes = 0;     // of the arena

  int64_t rows_max = 0;
  int64_t logits_rows_max = 0;
};

ActivationPlan PlanActivations(const ModelSpec& spec, const DecoderOptions& options);

// INVALID_ARGUMENT naming the option that is out of range or not built.
absl::Status ValidateOptions(const DecoderOptions& options);

}  // namespace shoal::model
