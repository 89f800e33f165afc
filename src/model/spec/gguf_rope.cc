// SPDX-License-Identifier: Apache-2.0
#include "model/spec/gguf_rope.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "model/spec/hf_rope.h"

namespace shoal::model {
namespace {

absl::Status ReadYarn(const GgufKeys& keys, int64_t context, RopeSpec& rope) {
  rope.kind = RopeKind::kYarn;
  SHOAL_ASSIGN_OR_RETURN(rope.factor, keys.Number("rope.scaling.factor"));
  SHOAL_ASSIGN_OR_RETURN(rope.original_context,
                         keys.SizeOr("rope.scaling.original_context_length", context));
  SHOAL_ASSIGN_OR_RETURN(rope.beta_fast, keys.NumberOr("rope.scaling.yarn_beta_fast", 32));
  SHOAL_ASSIGN_OR_RETURN(rope.beta_slow, keys.NumberOr("rope.scaling.yarn_beta_slow", 1));
  SHOAL_ASSIGN_OR_RETURN(const double attention, keys.NumberOr("rope.scaling.attn_factor", 1));
  rope.magnitude = attention * YarnMagnitude(rope.factor, 1);
  return absl::OkStatus();
}

// Two sets of factors as tensors.
absl::Status ReadLongRope(const GgufKeys& keys, int64_t context, RopeSpec& rope) {
  SHOAL_ASSIGN_OR_RETURN(rope.freq_factors, keys.Floats("rope_factors_short.weight"));
  SHOAL_ASSIGN_OR_RETURN(rope.long_freq_factors, keys.Floats("rope_factors_long.weight"));
  if (rope.freq_factors.empty() || rope.long_freq_factors.empty()) {
    return absl::InvalidArgumentError(
        "rope_factors_short.weight or rope_factors_long.weight is missing");
  }
  SHOAL_ASSIGN_OR_RETURN(rope.original_context,
                         keys.SizeOr("rope.scaling.original_context_length", context));
  SHOAL_ASSIGN_OR_RETURN(rope.magnitude, keys.NumberOr("rope.scaling.attn_factor", 1));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RopeSpec> ReadGgufRope(const GgufKeys& keys, int64_t head_dim, int64_t context,
                                      bool interleaved) {
  RopeSpec rope;
  rope.interleaved = interleaved;
  SHOAL_ASSIGN_OR_RETURN(rope.rotary_dim, keys.SizeOr("rope.dimension_count", head_dim));
  SHOAL_ASSIGN_OR_RETURN(rope.theta, keys.NumberOr("rope.freq_base", 10000));
  SHOAL_ASSIGN_OR_RETURN(rope.freq_factors, keys.Floats("rope_freqs.weight"));
  if (keys.HasTensor("rope_factors_long.weight")) {
    SHOAL_RETURN_IF_ERROR(ReadLongRope(keys, context, rope));
    return rope;
  }
  constexpr const char* kType = "rope.scaling.type";
  std::string type = "none";
  if (keys.Has(kType)) {
    SHOAL_ASSIGN_OR_RETURN(type, keys.file().GetString(keys.Key(kType)));
  }
  if (type == "yarn") {
    SHOAL_RETURN_IF_ERROR(ReadYarn(keys, context, rope));
    return rope;
  }
  SHOAL_ASSIGN_OR_RETURN(const double attention, keys.NumberOr("rope.scaling.attn_factor", 1));
  if (attention != 1) {
    return absl::InvalidArgumentError(absl::StrCat(keys.Key("rope.scaling.attn_factor"), " = ",
                                                   attention, " is not available yet with type ",
                                                   type));
  }
  if (type == "none") return rope;
  if (type != "linear") {
    return absl::InvalidArgumentError(absl::StrCat(keys.Key(kType), " = \"", type,
                                                   "\" is not available yet (none, linear, yarn)"));
  }
  rope.kind = RopeKind::kLinear;
  SHOAL_ASSIGN_OR_RETURN(rope.factor, keys.Number("rope.scaling.factor"));
  return rope;
}

}  // namespace shoal::model
