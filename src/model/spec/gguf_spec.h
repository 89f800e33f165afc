// SPDX-License-Identifier: Apache-2.0
// Reads a ModelSpec from the metadata of a GGUF file.
#pragma once

#include "absl/status/statusor.h"
#include "base/gguf/gguf_file.h"
#include "model/spec/model_spec.h"

namespace shoal::model {

// INVALID_ARGUMENT names the key at fault; for an architecture that is not built it lists those
// that are. Keys that change the answer and are not supported are refused. Whether biases, an own
// head and rope factors exist is read from the tensor directory, as the format has no keys for
// them.
absl::StatusOr<ModelSpec> SpecFromGguf(const gguf::GgufFile& file);

}  // namespace shoal::model
