// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "base/status.h"
#include "text/load/hf_parts.h"
#include "text/load/split_patterns.h"
#include "text/utf8.h"

namespace shoal::text {
namespace {

using nlohmann::json;
using Kind = PreTokenizerStep::Kind;
using Prefix = PreTokenizerStep::Prefix;

// What \w is to Rust's regular expressions, which this pre-tokenizer is made of: beside Oniguruma's
// also letter-like numbers, joiners, and circled and squared letters.
#define SHOAL_WORD                                                       \
  "\\w\\p{Nl}\\x{200C}\\x{200D}\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}" \
  "\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}"

// Category P and the ASCII symbols.
constexpr char kPunctuationPattern[] = R"([\p{P}$+<=>^`|~])";

absl::StatusOr<SplitBehavior> ReadBehavior(const json& part, const std::string& path) {
  const json& behavior = Member(part, "behavior");
  if (behavior.is_null() || behavior == "Isolated") return SplitBehavior::kIsolated;
  if (behavior == "Removed") return SplitBehavior::kRemoved;
  if (behavior == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (behavior == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (behavior == "Contiguous") return SplitBehavior::kContiguous;
  return Refuse(absl::StrCat(path, ".behavior ", behavior.dump()));
}

absl::StatusOr<PreTokenizerStep> ReadMetaspace(const json& part, const std::string& path) {
  PreTokenizerStep step;
  step.kind = Kind::kMetaspace;
  SHOAL_ASSIGN_OR_RETURN(step.replacement, StringMember(part, "replacement", path));
  if (CountCharacters(step.replacement) != 1 ||
      FindIllFormed(step.replacement) != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(path, ".replacement is not one character"));
  }
  step.split = Flag(part, "split", true);
  const json& scheme = Member(part, "prepend_scheme");
  if (scheme.is_null()) {
    step.prefix = Flag(part, "add_prefix_space", true) ? Prefix::kAlways : Prefix::kNever;
  } else if (scheme == "always") {
    step.prefix = Prefix::kAlways;
  } else if (scheme == "first") {
    step.prefix = Prefix::kFirst;
  } else if (scheme == "never") {
    step.prefix = Prefix::kNever;
  } else {
    return Refuse(absl::StrCat(path, ".prepend_scheme ", scheme.dump()));
  }
  return step;
}

absl::StatusOr<std::vector<PreTokenizerStep>> One(absl::StatusOr<PreTokenizerStep> step) {
  if (!step.ok()) return step.status();
  return std::vector<PreTokenizerStep>{*std::move(step)};
}

absl::StatusOr<std::vector<PreTokenizerStep>> ReadByteLevel(const json& part) {
  std::vector<PreTokenizerStep> steps;
  if (Flag(part, "add_prefix_space", true)) {
    steps.emplace_back();
    steps.back().kind = Kind::kPrefixSpace;
  }
  if (Flag(part, "use_regex", true)) {
    SHOAL_ASSIGN_OR_RETURN(PreTokenizerStep step, SplitStep(kGpt2Pattern));
    steps.push_back(std::move(step));
  }
  return steps;
}

absl::StatusOr<std::vector<PreTokenizerStep>> ReadSteps(const json& part, const std::string& path) {
  const std::string type = TypeOf(part);
  if (type == "ByteLevel") return ReadByteLevel(part);
  if (type == "Metaspace") return One(ReadMetaspace(part, path));
  if (type == "Whitespace") {
    return One(SplitStep("[" SHOAL_WORD "]+|[^\\s" SHOAL_WORD "]+", SplitBehavior::kRemoved,
                         /*invert=*/true));
  }
  if (type == "WhitespaceSplit") return One(SplitStep(R"(\s)", SplitBehavior::kRemoved));
  if (type == "Digits") {
    return One(SplitStep(Flag(part, "individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)"));
  }
  if (type == "BertPreTokenizer") {
    SHOAL_ASSIGN_OR_RETURN(PreTokenizerStep spaces, SplitStep(R"(\s)", SplitBehavior::kRemoved));
    SHOAL_ASSIGN_OR_RETURN(PreTokenizerStep marks, SplitStep(kPunctuationPattern));
    return std::vector<PreTokenizerStep>{spaces, marks};
  }
  if (type == "Punctuation") {
    SHOAL_ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(part, path));
    return One(SplitStep(kPunctuationPattern, behavior));
  }
  if (type == "CharDelimiterSplit") {
    PreTokenizerStep step;
    SHOAL_ASSIGN_OR_RETURN(const std::string delimiter, StringMember(part, "delimiter", path));
    if (delimiter.empty()) return Refuse(absl::StrCat(path, ": an empty delimiter"));
    step.pattern = Pattern::Literal(delimiter);
    step.behavior = SplitBehavior::kRemoved;
    return One(std::move(step));
  }
  if (type == "Split") {
    PreTokenizerStep step;
    SHOAL_ASSIGN_OR_RETURN(step.pattern, ReadPattern(part, path));
    SHOAL_ASSIGN_OR_RETURN(step.behavior, ReadBehavior(part, path));
    step.invert = Flag(part, "invert", false);
    return One(std::move(step));
  }
  return Refuse(absl::StrCat(path, ": the pre_tokenizer ", type));
}

}  // namespace

absl::Status ReadPreTokenizer(const json& pre_tokenizer, TokenizerDefinition* definition) {
  SHOAL_ASSIGN_OR_RETURN(const Chain chain,
                         FlattenChain(pre_tokenizer, "pretokenizers", "pre_tokenizer"));
  bool byte_level = false;
  for (size_t i = 0; i < chain.parts.size(); ++i) {
    if (byte_level) return Refuse(absl::StrCat(chain.paths[i], ": anything after ByteLevel"));
    SHOAL_ASSIGN_OR_RETURN(std::vector<PreTokenizerStep> steps,
                           ReadSteps(*chain.parts[i], chain.paths[i]));
    for (PreTokenizerStep& step : steps) definition->pre_tokenizer.push_back(std::move(step));
    byte_level = TypeOf(*chain.parts[i]) == "ByteLevel";
  }
  if (!byte_level) return absl::OkStatus();
  ModelDefinition& model = definition->model;
  if (model.kind != ModelKind::kCharacterBpe) {
    return Refuse("pre_tokenizer: ByteLevel with another model than BPE");
  }
  if (model.byte_fallback) return Refuse("model.byte_fallback with ByteLevel");
  if (model.fuse_unknown) return Refuse("model.fuse_unk with ByteLevel");
  model.kind = ModelKind::kByteLevelBpe;
  return absl::OkStatus();
}

}  // namespace shoal::text
