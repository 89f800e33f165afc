// SPDX-License-Identifier: Apache-2.0
#include "model/spec/hf_rope.h"

#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::model {
namespace {

constexpr const char* kOriginal = "original_max_position_embeddings";

// One rope description within the config.
struct Section {
  const char* name;
  const Json& rope;
  const Json& config;
  const RopeContext& context;
};

absl::StatusOr<std::string> RopeType(const Section& section) {
  for (const char* key : {"rope_type", "type"}) {
    const Json* value = Find(section.rope, key);
    if (value == nullptr) continue;
    const std::string name = absl::StrCat(section.name, ".", key);
    if (!value->is_string()) return Bad(name, *value, "must be a string");
    auto type = value->get<std::string>();
    if (section.context.phi3 && (type == "su" || type == "yarn")) type = "longrope";
    for (const char* known : {"default", "linear", "dynamic", "llama3", "yarn", "longrope"}) {
      if (type == known) return type;
    }
    return Bad(name, *value,
               "not available yet (default, linear, dynamic, llama3, yarn, longrope)");
  }
  return std::string("default");
}

absl::StatusOr<double> Required(const Section& section, const char* key) {
  if (Find(section.rope, key) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(section.name, ".", key, " is absent"));
  }
  auto number = NumberOr(section.rope, key, 0);
  if (!number.ok()) return Annotate(number.status(), section.name);
  return number;
}

absl::StatusOr<int64_t> OriginalContext(const Section& section, int64_t fallback) {
  SHOAL_ASSIGN_OR_RETURN(const int64_t outer, SizeOr(section.config, kOriginal, fallback));
  return SizeOr(section.rope, kOriginal, outer);
}

absl::Status ReadLlama3(const Section& section, RopeSpec& spec) {
  spec.kind = RopeKind::kLlama3;
  SHOAL_ASSIGN_OR_RETURN(spec.factor, Required(section, "factor"));
  SHOAL_ASSIGN_OR_RETURN(spec.low_freq_factor, Required(section, "low_freq_factor"));
  SHOAL_ASSIGN_OR_RETURN(spec.high_freq_factor, Required(section, "high_freq_factor"));
  SHOAL_ASSIGN_OR_RETURN(const int64_t inner,
                         SizeOr(section.rope, kOriginal, section.context.context));
  SHOAL_ASSIGN_OR_RETURN(spec.original_context, SizeOr(section.config, kOriginal, inner));
  return absl::OkStatus();
}

// `factor`, or how far the context exceeds the original one.
absl::StatusOr<double> FactorOrRatio(const Section& section, int64_t original) {
  return NumberOr(section.rope, "factor",
                  static_cast<double>(section.context.context) / static_cast<double>(original));
}

absl::Status ReadYarn(const Section& section, RopeSpec& spec) {
  spec.kind = RopeKind::kYarn;
  SHOAL_ASSIGN_OR_RETURN(spec.original_context, OriginalContext(section, section.context.context));
  SHOAL_ASSIGN_OR_RETURN(spec.factor, FactorOrRatio(section, spec.original_context));
  SHOAL_ASSIGN_OR_RETURN(spec.beta_fast, NumberOr(section.rope, "beta_fast", 32));
  SHOAL_ASSIGN_OR_RETURN(spec.beta_slow, NumberOr(section.rope, "beta_slow", 1));
  SHOAL_ASSIGN_OR_RETURN(spec.truncate, BoolOr(section.rope, "truncate", true));
  SHOAL_ASSIGN_OR_RETURN(const double mscale, NumberOr(section.rope, "mscale", 0));
  SHOAL_ASSIGN_OR_RETURN(const double all_dim, NumberOr(section.rope, "mscale_all_dim", 0));
  const double magnitude = mscale != 0 && all_dim != 0 ? YarnMagnitude(spec.factor, mscale) /
                                                             YarnMagnitude(spec.factor, all_dim)
                                                       : YarnMagnitude(spec.factor, 1);
  SHOAL_ASSIGN_OR_RETURN(spec.magnitude, NumberOr(section.rope, "attention_factor", magnitude));
  return absl::OkStatus();
}

absl::Status ReadLongRope(const Section& section, RopeSpec& spec) {
  for (const char* key : {"short_mscale", "long_mscale"}) {
    const Json* value = Find(section.rope, key);
    if (value != nullptr)
      return Bad(absl::StrCat(section.name, ".", key), *value, "not available yet");
  }
  const int64_t fallback = section.context.phi3 ? 4096 : section.context.context;
  SHOAL_ASSIGN_OR_RETURN(spec.original_context, OriginalContext(section, fallback));
  SHOAL_ASSIGN_OR_RETURN(spec.freq_factors, Numbers(section.rope, "short_factor"));
  SHOAL_ASSIGN_OR_RETURN(spec.long_freq_factors, Numbers(section.rope, "long_factor"));
  if (spec.freq_factors.empty() || spec.long_freq_factors.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(section.name, " lacks short_factor or long_factor"));
  }
  SHOAL_ASSIGN_OR_RETURN(const double factor, FactorOrRatio(section, spec.original_context));
  SHOAL_ASSIGN_OR_RETURN(
      spec.magnitude,
      NumberOr(section.rope, "attention_factor", LongRopeMagnitude(factor, spec.original_context)));
  return absl::OkStatus();
}

absl::Status ReadPartial(const Json& object, absl::string_view prefix, const RopeContext& context,
                         RopeSpec& spec) {
  SHOAL_ASSIGN_OR_RETURN(const double partial, NumberOr(object, "partial_rotary_factor", 1));
  if (Find(object, "partial_rotary_factor") == nullptr) return absl::OkStatus();
  const std::string key = absl::StrCat(prefix, "partial_rotary_factor");
  if (!context.partial && partial != 1) return Bad(key, partial, "not available yet");
  if (!(partial > 0 && partial <= 1)) return Bad(key, partial, "must be in (0, 1]");
  spec.rotary_dim = static_cast<int64_t>(static_cast<double>(context.head_dim) * partial);
  return absl::OkStatus();
}

absl::Status ReadSection(const Section& section, RopeSpec& spec) {
  SHOAL_ASSIGN_OR_RETURN(spec.theta, NumberOr(section.rope, "rope_theta", spec.theta));
  SHOAL_RETURN_IF_ERROR(
      ReadPartial(section.rope, absl::StrCat(section.name, "."), section.context, spec));
  SHOAL_ASSIGN_OR_RETURN(const std::string type, RopeType(section));
  if (type == "llama3") return ReadLlama3(section, spec);
  if (type == "yarn") return ReadYarn(section, spec);
  if (type == "longrope") return ReadLongRope(section, spec);
  if (type == "linear") {
    spec.kind = RopeKind::kLinear;
    SHOAL_ASSIGN_OR_RETURN(spec.factor, Required(section, "factor"));
  }
  // "dynamic" changes nothing up to max_position_embeddings, and no more is ever served.
  return absl::OkStatus();
}

}  // namespace

double YarnMagnitude(double factor, double mscale) {
  if (!(factor > 1)) return 1;
  // Extended precision has one code path for all CPUs; see MakeRopeTable.
  return static_cast<double>(
      0.1L * static_cast<long double>(mscale) * std::log(static_cast<long double>(factor)) + 1);
}

double LongRopeMagnitude(double factor, int64_t original_context) {
  if (!(factor > 1) || original_context <= 1) return 1;
  return static_cast<double>(
      std::sqrt(1 + std::log(static_cast<long double>(factor)) /
                        std::log(static_cast<long double>(original_context))));
}

absl::StatusOr<RopeSpec> ReadHfRope(const Json& config, const RopeContext& context) {
  RopeSpec spec;
  spec.rotary_dim = context.head_dim;
  spec.theta = context.theta;
  if (!context.local) {
    SHOAL_ASSIGN_OR_RETURN(spec.theta, NumberOr(config, "rope_theta", spec.theta));
  }
  if (context.partial) SHOAL_RETURN_IF_ERROR(ReadPartial(config, "", context, spec));
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    const Json* rope = Find(config, name);
    if (rope == nullptr) continue;
    if (!rope->is_object()) return Bad(name, *rope, "must be an object");
    const bool per_layer_type =
        rope->contains("full_attention") || rope->contains("sliding_attention");
    if (per_layer_type) {
      if (context.layer_type[0] == '\0') {
        return Bad(name, *rope, "one per layer type is not available for this family");
      }
      rope = Find(*rope, context.layer_type);
      if (rope == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ".", context.layer_type, " is absent"));
      }
      if (!rope->is_object()) return Bad(name, *rope, "must be an object");
    } else if (context.local) {
      continue;
    }
    SHOAL_RETURN_IF_ERROR(
        ReadSection({.name = name, .rope = *rope, .config = config, .context = context}, spec));
    return spec;
  }
  return spec;
}

}  // namespace shoal::model
