// SPDX-License-Identifier: Apache-2.0
#include "text/load/hf_tokenizer_json.h"

#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "text/load/hf_post_processor.h"
#include "text/load/json_file.h"

namespace shoal::text {
namespace {

using nlohmann::json;

constexpr int64_t kIdMax = 4'000'000;

absl::Status Refuse(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " is not supported"));
}

std::string TypeOf(const json& part) {
  const json& type = Member(part, "type");
  return type.is_string() ? type.get<std::string>() : "(without a type)";
}

bool Flag(const json& object, const char* key, bool missing) {
  const json& value = Member(object, key);
  return value.is_boolean() ? value.get<bool>() : missing;
}

bool IsNullOrEmpty(const json& value) {
  return value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty());
}

// Grows the table to hold `id`.
absl::StatusOr<TokenDefinition*> Slot(int64_t id, int64_t ids_max, BpeDefinition* definition) {
  if (id < 0 || id >= ids_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("token id ", id, " is outside [0, ", ids_max, ")"));
  }
  if (static_cast<size_t>(id) >= definition->tokens.size()) definition->tokens.resize(id + 1);
  return &definition->tokens[id];
}

absl::Status ReadVocabulary(const json& vocabulary, BpeDefinition* definition) {
  if (!vocabulary.is_object()) return absl::InvalidArgumentError("model.vocab is not an object");
  for (const auto& [spelling, id] : vocabulary.items()) {
    if (!id.is_number_integer()) {
      return absl::InvalidArgumentError(
          absl::StrCat("model.vocab: the id of '", spelling, "' is not an integer"));
    }
    SHOAL_ASSIGN_OR_RETURN(TokenDefinition* const token,
                           Slot(id.get<int64_t>(), kIdMax, definition));
    if (token->kind != TokenKind::kAbsent) {
      return absl::InvalidArgumentError(absl::StrCat("model.vocab: '", token->spelling, "' and '",
                                                     spelling, "' have the same id ",
                                                     id.get<int64_t>()));
    }
    *token = {.spelling = spelling, .kind = TokenKind::kNormal};
  }
  return absl::OkStatus();
}

absl::Status ReadMerges(const json& merges, BpeDefinition* definition) {
  if (!merges.is_array()) return absl::InvalidArgumentError("model.merges is not an array");
  definition->merges.reserve(merges.size());
  for (const json& merge : merges) {
    if (merge.is_string()) {
      const std::string& both = merge.get_ref<const std::string&>();
      const size_t space = both.find(' ');
      if (space != std::string::npos && both.find(' ', space + 1) == std::string::npos) {
        definition->merges.emplace_back(both.substr(0, space), both.substr(space + 1));
        continue;
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      definition->merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("model.merges: entry ", definition->merges.size(), " is not a pair"));
  }
  return absl::OkStatus();
}

absl::Status ReadModel(const json& model, BpeDefinition* definition) {
  if (const std::string type = TypeOf(model); type != "BPE" && model.contains("type")) {
    return Refuse(absl::StrCat("the tokenizer model ", type));
  }
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    const json& value = Member(model, key);
    const bool zero = value.is_number() && value.get<double>() == 0;
    if (!IsNullOrEmpty(value) && !zero) return Refuse(absl::StrCat("model.", key));
  }
  for (const char* key : {"byte_fallback", "fuse_unk"}) {
    if (Flag(model, key, false)) return Refuse(absl::StrCat("model.", key));
  }
  definition->ignore_merges = Flag(model, "ignore_merges", false);
  SHOAL_RETURN_IF_ERROR(ReadVocabulary(Member(model, "vocab"), definition));
  SHOAL_RETURN_IF_ERROR(ReadMerges(Member(model, "merges"), definition));
  const json& unknown = Member(model, "unk_token");
  if (IsNullOrEmpty(unknown)) return absl::OkStatus();
  const json& id = unknown.is_string()
                       ? Member(Member(model, "vocab"), unknown.get_ref<const std::string&>())
                       : unknown;
  if (!id.is_number_integer()) {
    return absl::InvalidArgumentError("model.unk_token is not in model.vocab");
  }
  definition->unknown = id.get<int32_t>();
  return absl::OkStatus();
}

absl::Status ReadAddedToken(const json& entry,
                            const absl::flat_hash_map<std::string, int64_t>& vocabulary,
                            int64_t ids_max, BpeDefinition* definition) {
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
                         Slot(id.get<int64_t>(), ids_max, definition));
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
            .normalized = Flag(entry, "normalized", !special)};
  return absl::OkStatus();
}

absl::Status ReadAddedTokens(const json& added, BpeDefinition* definition) {
  if (added.is_null()) return absl::OkStatus();
  if (!added.is_array()) return absl::InvalidArgumentError("added_tokens is not an array");
  absl::flat_hash_map<std::string, int64_t> vocabulary;
  for (size_t id = 0; id < definition->tokens.size(); ++id) {
    if (definition->tokens[id].kind != TokenKind::kAbsent) {
      vocabulary.emplace(definition->tokens[id].spelling, static_cast<int64_t>(id));
    }
  }
  for (const json& entry : added) {
    SHOAL_RETURN_IF_ERROR(ReadAddedToken(entry, vocabulary, kIdMax, definition));
  }
  return absl::OkStatus();
}

absl::Status ReadByteLevel(const json& part, BpeDefinition* definition) {
  if (Flag(part, "add_prefix_space", true))
    return Refuse("pre_tokenizer ByteLevel.add_prefix_space");
  definition->pre_tokenizer.gpt2_pattern = Flag(part, "use_regex", true);
  return absl::OkStatus();
}

absl::Status ReadPreTokenizer(const json& pre_tokenizer, BpeDefinition* definition) {
  std::vector<const json*> parts;
  if (TypeOf(pre_tokenizer) == "Sequence") {
    for (const json& part : Member(pre_tokenizer, "pretokenizers")) parts.push_back(&part);
  } else if (!pre_tokenizer.is_null()) {
    parts.push_back(&pre_tokenizer);
  }
  if (parts.empty() || TypeOf(*parts.back()) != "ByteLevel") {
    return Refuse("a pre_tokenizer that does not end in ByteLevel");
  }
  if (parts.size() > 2) return Refuse("a pre_tokenizer of more than Digits and ByteLevel");
  if (parts.size() == 2) {
    if (TypeOf(*parts[0]) != "Digits") {
      return Refuse(absl::StrCat("the pre_tokenizer ", TypeOf(*parts[0])));
    }
    definition->pre_tokenizer.digits =
        Flag(*parts[0], "individual_digits", false) ? DigitSplit::kIndividual : DigitSplit::kRuns;
  }
  return ReadByteLevel(*parts.back(), definition);
}

absl::Status CheckDecoder(const json& decoder) {
  if (decoder.is_null()) return Refuse("a byte-level tokenizer without the ByteLevel decoder");
  if (TypeOf(decoder) == "ByteLevel") return absl::OkStatus();
  if (TypeOf(decoder) == "Sequence") {
    const json& parts = Member(decoder, "decoders");
    if (parts.is_array() && parts.size() == 1) return CheckDecoder(parts[0]);
  }
  return Refuse(absl::StrCat("the decoder ", TypeOf(decoder)));
}

absl::Status CheckNormalizer(const json& normalizer) {
  if (normalizer.is_null()) return absl::OkStatus();
  const json& parts = Member(normalizer, "normalizers");
  if (TypeOf(normalizer) == "Sequence" && parts.is_array() && parts.empty()) {
    return absl::OkStatus();
  }
  return Refuse(absl::StrCat("the normalizer ", TypeOf(normalizer)));
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

absl::StatusOr<BpeDefinition> ParseTokenizerJson(const json& document) {
  BpeDefinition definition;
  SHOAL_RETURN_IF_ERROR(CheckSections(document));
  SHOAL_RETURN_IF_ERROR(CheckNormalizer(Member(document, "normalizer")));
  SHOAL_RETURN_IF_ERROR(ReadModel(Member(document, "model"), &definition));
  SHOAL_RETURN_IF_ERROR(ReadPreTokenizer(Member(document, "pre_tokenizer"), &definition));
  SHOAL_RETURN_IF_ERROR(CheckDecoder(Member(document, "decoder")));
  SHOAL_RETURN_IF_ERROR(ReadAddedTokens(Member(document, "added_tokens"), &definition));
  SHOAL_ASSIGN_OR_RETURN(const AddedByPostProcessor added,
                         ReadPostProcessor(Member(document, "post_processor")));
  if (added.first) {
    SHOAL_ASSIGN_OR_RETURN(
        TokenDefinition* const first,
        Slot(*added.first, static_cast<int64_t>(definition.tokens.size()), &definition));
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
