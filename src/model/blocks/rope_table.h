// SPDX-License-Identifier: Apache-2.0
// From the rope a model describes to the frequencies a backend rotates with.
#pragma once

#include "kernels/attention.h"
#include "model/spec/model_spec.h"

namespace shoal::model {

// Frequencies in float64: theta^(-2i/rotary_dim), scaled as the kind says, divided by freq_factors
// or, with `long_rope`, long_freq_factors where there are some. Empty for RopeKind::kNone.
kernels::RopeTable MakeRopeTable(const RopeSpec& rope, bool long_rope = false);

}  // namespace shoal::model
