// SPDX-License-Identifier: Apache-2.0
// The rotary embedding of a config.json, in the spellings of transformers 4 (rope_theta beside
// rope_scaling, with "type" or "rope_type") and 5 (rope_parameters, also one per layer type).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "model/spec/hf_json.h"
#include "model/spec/model_spec.h"

namespace shoal::model {

// What the rest of the config says.
struct RopeContext {
  int64_t head_dim = 0;
  int64_t context = 0;          // max_position_embeddings
  double theta = 10000;         // where the config states none
  bool partial = false;         // the family reads partial_rotary_factor
  bool phi3 = false;            // the family's "su" and "yarn" mean longrope
  const char* layer_type = "";  // which entry of a rope_parameters per layer type
  bool local = false;           // layers that rope_scaling (4) does not apply to
};

absl::StatusOr<RopeSpec> ReadHfRope(const Json& config, const RopeContext& context);

// YaRN's factor for cosine and sine: 0.1 ln(factor) + 1 for mscale 1; 1 for factors up to 1.
double YarnMagnitude(double factor, double mscale);
// LongRoPE's: sqrt(1 + ln(factor) / ln(original)); 1 for factors up to 1.
double LongRopeMagnitude(double factor, int64_t original_context);

}  // namespace shoal::model
