// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/escaping.h"
#include "base/status.h"
#include "text/load/hf_parts.h"
#include "text/utf8.h"

namespace shoal::text {
namespace {

using nlohmann::json;
using Kind = NormalizerStep::Kind;

absl::StatusOr<NormalizerStep> ReadStep(const json& part, const std::string& path) {
  const std::string type = TypeOf(part);
  NormalizerStep step;
  static constexpr struct {
    const char* type;
    Kind kind;
  } kPlain[] = {{"NFC", Kind::kNfc},
                {"NFD", Kind::kNfd},
                {"NFKC", Kind::kNfkc},
                {"NFKD", Kind::kNfkd},
                {"Lowercase", Kind::kLowercase},
                {"StripAccents", Kind::kStripAccents},
                {"Nmt", Kind::kNmt}};
  for (const auto& plain : kPlain) {
    if (type != plain.type) continue;
    step.kind = plain.kind;
    return step;
  }
  if (type == "Replace") {
    step.kind = Kind::kReplace;
    SHOAL_ASSIGN_OR_RETURN(step.pattern, ReadPattern(part, path));
    SHOAL_ASSIGN_OR_RETURN(step.content, StringMember(part, "content", path));
  } else if (type == "Prepend") {
    step.kind = Kind::kPrepend;
    SHOAL_ASSIGN_OR_RETURN(step.content, StringMember(part, "prepend", path));
  } else if (type == "Strip") {
    step.kind = Kind::kStrip;
    step.left = Flag(part, "strip_left", true);
    step.right = Flag(part, "strip_right", true);
  } else if (type == "BertNormalizer") {
    step.kind = Kind::kBert;
    step.clean = Flag(part, "clean_text", true);
    step.chinese = Flag(part, "handle_chinese_chars", true);
    step.lowercase = Flag(part, "lowercase", true);
    step.accents = Flag(part, "strip_accents", step.lowercase);
  } else if (type == "Precompiled") {
    step.kind = Kind::kCharsmap;
    SHOAL_ASSIGN_OR_RETURN(const std::string base64,
                           StringMember(part, "precompiled_charsmap", path));
    if (!absl::Base64Unescape(base64, &step.charsmap)) {
      return absl::InvalidArgumentError(absl::StrCat(path, ".precompiled_charsmap is not base64"));
    }
  } else {
    return Refuse(absl::StrCat(path, ": the normalizer ", type));
  }
  if (FindIllFormed(step.content) != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(path, " puts in text that is not UTF-8"));
  }
  return step;
}

}  // namespace

absl::Status ReadNormalizer(const json& normalizer, TokenizerDefinition* definition) {
  SHOAL_ASSIGN_OR_RETURN(const Chain chain, FlattenChain(normalizer, "normalizers", "normalizer"));
  for (size_t i = 0; i < chain.parts.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(NormalizerStep step, ReadStep(*chain.parts[i], chain.paths[i]));
    definition->normalizer.push_back(std::move(step));
  }
  return absl::OkStatus();
}

}  // namespace shoal::text
