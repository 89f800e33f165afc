// SPDX-License-Identifier: Apache-2.0
#include "text/load/hf_parts.h"

#include "base/status.h"
#include "text/utf8.h"

namespace shoal::text {
namespace {

using nlohmann::json;

absl::Status Flatten(const json& part, const char* list, const std::string& path, int depth,
                     Chain* chain) {
  if (part.is_null()) return absl::OkStatus();
  if (!part.is_object()) return absl::InvalidArgumentError(absl::StrCat(path, " is no object"));
  if (Member(part, "type") != "Sequence") {
    chain->parts.push_back(&part);
    chain->paths.push_back(path);
    return absl::OkStatus();
  }
  const json& members = Member(part, list);
  if (!members.is_array() || depth > 8) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": a malformed Sequence"));
  }
  for (size_t i = 0; i < members.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(
        Flatten(members[i], list, absl::StrCat(path, ".", list, "[", i, "]"), depth + 1, chain));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> StringMember(const json& object, const char* key,
                                         absl::string_view path) {
  const json& value = Member(object, key);
  if (value.is_string()) return value.get<std::string>();
  return absl::InvalidArgumentError(absl::StrCat(path, ".", key, " is not a string"));
}

absl::StatusOr<Chain> FlattenChain(const json& part, const char* list, const std::string& path) {
  Chain chain;
  SHOAL_RETURN_IF_ERROR(Flatten(part, list, path, 0, &chain));
  return chain;
}

absl::StatusOr<std::shared_ptr<const Pattern>> ReadPattern(const json& part,
                                                           const std::string& path) {
  const json& pattern = Member(part, "pattern");
  const json& expression = Member(pattern, "Regex");
  if (expression.is_string()) {
    auto compiled = Pattern::Compile(expression.get_ref<const std::string&>());
    if (!compiled.ok()) return Annotate(compiled.status(), absl::StrCat(path, ".pattern"));
    return compiled;
  }
  SHOAL_ASSIGN_OR_RETURN(const std::string text,
                         StringMember(pattern, "String", absl::StrCat(path, ".pattern")));
  if (text.empty() || FindIllFormed(text) != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(path, ".pattern is empty or not UTF-8"));
  }
  return Pattern::Literal(text);
}

absl::StatusOr<TokenDefinition*> TokenSlot(int64_t id, int64_t ids_max,
                                           TokenizerDefinition* definition) {
  if (id < 0 || id >= ids_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("token id ", id, " is outside [0, ", ids_max, ")"));
  }
  if (static_cast<size_t>(id) >= definition->tokens.size()) definition->tokens.resize(id + 1);
  return &definition->tokens[id];
}

}  // namespace shoal::text
