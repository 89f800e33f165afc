// SPDX-License-Identifier: Apache-2.0
// The rotary embedding of a GGUF file.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "model/spec/gguf_keys.h"
#include "model/spec/model_spec.h"

namespace shoal::model {

// `interleaved`: the architecture stores q and k permuted for pairs (2i, 2i + 1).
absl::StatusOr<RopeSpec> ReadGgufRope(const GgufKeys& keys, int64_t head_dim, int64_t context,
                                      bool interleaved);

}  // namespace shoal::model
