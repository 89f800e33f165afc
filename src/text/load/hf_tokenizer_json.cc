// SPDX-License-Identifier: Apache-2.0
#include "text/load/hf_tokenizer_json.h"

#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "text/load/hf_parts.h"
#include "text/load/hf_post_processor.h"
#include "text/load/json_file.h"

namespace shoal::text {
namespace {

using nlohmann::json;

absl::Status ReadAddedToken(const json& entry,
                            const absl::flat_hash_map<std::string, int64_t>& vocabulary,
                            int64_t ids_max, TokenizerDefinition* definition) {
  const json& id = Member(entry, "id");
  const json& content = Member(entry, "content");
  if (!id.is_number_integer() || !content.is_string()) {
    return absl::InvalidArgumentError("added_tokens: an entry lacks its id or content");
  }
  const std::string spelling = content.get<std::string>();
  const auto known = vocabulary.find(spelling);
  if (known != vocabulary.end() && known->second != id.get<int64_t>()) {
    return absl::InvalidArgumentError(absl::StrCat("added_tokens: '", spelling, "' has id ",
                                                   id.get<int64_t>(), " here but ", known->second,
                                                   " in model.vocab"));
  }
  SHOAL_ASSIGN_OR_RETURN(TokenDefinition* const token,
                         TokenSlot(id.get<int64_t>(), ids_max, definition));
  if (token->kind != TokenKind::kAbsent && token->spelling != spelling) {
    return absl::InvalidArgumentError(absl::StrCat("added_tokens: id ", id.get<int64_t>(), " is '",
                                                   spelling, "' and '", token->spelling, "'"));
  }
  const bool special = Flag(entry, "special", false);
  *token = {.spelling = spelling,
            .kind = special ? TokenKind::kControl : TokenKind::kAdded,
            .strip_left = Flag(entry, "lstrip", false),
            .strip_right = Flag(entry, "rstrip", false),
            .single_word = Flag(entry, "single_word", false),
            .normalized = Flag(entry, "normalized", !special),
            .in_model = token->in_model,
            .score = token->score};
  return absl::OkStatus();
}

absl::Status ReadAddedTokens(const json& added, TokenizerDefinition* definition) {
  if (added.is_null()) return absl::OkStatus();
  if (!added.is_array()) return absl::InvalidArgumentError("added_tokens is not an array");
  absl::flat_hash_map<std::string, int64_t> vocabulary;
  for (size_t id = 0; id < definition->tokens.size(); ++id) {
    if (definition->tokens[id].kind != TokenKind::kAbsent) {
      vocabulary.emplace(definition->tokens[id].spelling, static_cast<int64_t>(id));
    }
  }
  for (const json& entry : added) {
    SHOAL_RETURN_IF_ERROR(ReadAddedToken(entry, vocabulary, kTokenIdMax, definition));
  }
  return absl::OkStatus();
}

absl::Status CheckSections(const json& document) {
  static const std::set<std::string>* const kSections = new std::set<std::string>{
      "version",       "truncation",     "padding", "added_tokens", "normalizer",
      "pre_tokenizer", "post_processor", "decoder", "model"};
  for (const auto& [key, value] : document.items()) {
    if (kSections->count(key) == 0) return Refuse(absl::StrCat("the section '", key, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TokenizerDefinition> ParseTokenizerJson(const json& document) {
  TokenizerDefinition definition;
  SHOAL_RETURN_IF_ERROR(CheckSections(document));
  SHOAL_RETURN_IF_ERROR(ReadModel(Member(document, "model"), &definition));
  SHOAL_RETURN_IF_ERROR(ReadNormalizer(Member(document, "normalizer"), &definition));
  SHOAL_RETURN_IF_ERROR(ReadPreTokenizer(Member(document, "pre_tokenizer"), &definition));
  SHOAL_RETURN_IF_ERROR(ReadDecoder(Member(document, "decoder"), &definition));
  SHOAL_RETURN_IF_ERROR(ReadAddedTokens(Member(document, "added_tokens"), &definition));
  SHOAL_ASSIGN_OR_RETURN(const AddedByPostProcessor added,
                         ReadPostProcessor(Member(document, "post_processor")));
  if (added.first) {
    SHOAL_ASSIGN_OR_RETURN(
        TokenDefinition* const first,
        TokenSlot(*added.first, static_cast<int64_t>(definition.tokens.size()), &definition));
    if (first->kind != TokenKind::kControl) {
      return Refuse("a post_processor that adds a token which is not special");
    }
    definition.bos = static_cast<int32_t>(*added.first);
    definition.add_bos = true;
  }
  if (added.last) definition.eos.push_back(static_cast<int32_t>(*added.last));
  return definition;
}

}  // namespace shoal::text
