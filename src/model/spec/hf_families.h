// SPDX-License-Identifier: Apache-2.0
// The families a config.json may describe, and what each reads from it beyond the common keys.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/spec/decoder_shape.h"
#include "model/spec/hf_json.h"

namespace shoal::model {

struct HfFamily {
  const char* architecture;  // of "architectures"
  const char* model_type;
  const char* family;  // DecoderShape::family
  // Fills in `shape`, whose family is set. Refuses what it cannot run.
  absl::Status (*read)(const Json& config, DecoderShape& shape);
  // Keys that change the answer and that `read` understands; others of that kind are refused.
  std::vector<const char*> keys;
};

const std::vector<HfFamily>& HfFamilies();

// "llama (LlamaForCausalLM), ...", for error messages.
std::string BuiltFamilies();

}  // namespace shoal::model
