// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "text/load/hf_parts.h"
#include "text/models/byte_fallback.h"

namespace shoal::text {
namespace {

using nlohmann::json;

bool IsNullOrEmpty(const json& value) {
  return value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty());
}

absl::Status ReadVocabulary(const json& vocabulary, TokenizerDefinition* definition) {
  if (!vocabulary.is_object()) return absl::InvalidArgumentError("model.vocab is not an object");
  for (const auto& [spelling, id] : vocabulary.items()) {
    if (!id.is_number_integer()) {
      return absl::InvalidArgumentError(
          absl::StrCat("model.vocab: the id of '", spelling, "' is not an integer"));
    }
    SHOAL_ASSIGN_OR_RETURN(TokenDefinition* const token,
                           TokenSlot(id.get<int64_t>(), kTokenIdMax, definition));
    if (token->kind != TokenKind::kAbsent) {
      return absl::InvalidArgumentError(absl::StrCat("model.vocab: '", token->spelling, "' and '",
                                                     spelling, "' have the same id ",
                                                     id.get<int64_t>()));
    }
    *token = {.spelling = spelling, .kind = TokenKind::kNormal, .in_model = true};
  }
  return absl::OkStatus();
}

absl::Status ReadScoredVocabulary(const json& vocabulary, TokenizerDefinition* definition) {
  if (!vocabulary.is_array()) return absl::InvalidArgumentError("model.vocab is not an array");
  if (vocabulary.size() > static_cast<size_t>(kTokenIdMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.vocab has ", vocabulary.size(), " entries; at most ", kTokenIdMax));
  }
  for (const json& entry : vocabulary) {
    const bool pair =
        entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number();
    if (!pair) {
      return absl::InvalidArgumentError(absl::StrCat("model.vocab[", definition->tokens.size(),
                                                     "] is not a pair of text and score"));
    }
    definition->tokens.push_back({.spelling = entry[0].get<std::string>(),
                                  .kind = TokenKind::kNormal,
                                  .in_model = true,
                                  .score = entry[1].get<double>()});
  }
  return absl::OkStatus();
}

absl::Status ReadMerges(const json& merges, ModelDefinition* model) {
  if (!merges.is_array()) return absl::InvalidArgumentError("model.merges is not an array");
  model->merges.reserve(merges.size());
  for (const json& merge : merges) {
    if (merge.is_string()) {
      const std::string& both = merge.get_ref<const std::string&>();
      const size_t space = both.find(' ');
      if (space != std::string::npos && both.find(' ', space + 1) == std::string::npos) {
        model->merges.emplace_back(both.substr(0, space), both.substr(space + 1));
        continue;
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      model->merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("model.merges: entry ", model->merges.size(), " is not a pair"));
  }
  return absl::OkStatus();
}

// The unknown token named by its spelling.
absl::Status ReadUnknownToken(const json& model, ModelDefinition* definition) {
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

absl::Status ReadBpe(const json& model, TokenizerDefinition* definition) {
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    const json& value = Member(model, key);
    const bool zero = value.is_number() && value.get<double>() == 0;
    if (!IsNullOrEmpty(value) && !zero) return Refuse(absl::StrCat("model.", key));
  }
  definition->model.kind = ModelKind::kCharacterBpe;
  definition->model.fuse_unknown = Flag(model, "fuse_unk", false);
  definition->model.ignore_merges = Flag(model, "ignore_merges", false);
  SHOAL_RETURN_IF_ERROR(ReadVocabulary(Member(model, "vocab"), definition));
  SHOAL_RETURN_IF_ERROR(ReadMerges(Member(model, "merges"), &definition->model));
  return ReadUnknownToken(model, &definition->model);
}

absl::Status ReadUnigram(const json& model, TokenizerDefinition* definition) {
  definition->model.kind = ModelKind::kUnigram;
  definition->model.fuse_unknown = true;
  SHOAL_RETURN_IF_ERROR(ReadScoredVocabulary(Member(model, "vocab"), definition));
  const json& unknown = Member(model, "unk_id");
  if (!unknown.is_number_integer() || unknown.get<int64_t>() < 0 ||
      unknown.get<int64_t>() >= static_cast<int64_t>(definition->tokens.size())) {
    return absl::InvalidArgumentError("model.unk_id is not an id of model.vocab");
  }
  definition->model.unknown = unknown.get<int32_t>();
  return absl::OkStatus();
}

absl::Status ReadWordPiece(const json& model, TokenizerDefinition* definition) {
  definition->model.kind = ModelKind::kWordPiece;
  SHOAL_RETURN_IF_ERROR(ReadVocabulary(Member(model, "vocab"), definition));
  SHOAL_ASSIGN_OR_RETURN(definition->model.continuation,
                         StringMember(model, "continuing_subword_prefix", "model"));
  const json& longest = Member(model, "max_input_chars_per_word");
  if (longest.is_number_unsigned()) definition->model.word_characters_max = longest.get<size_t>();
  return ReadUnknownToken(model, &definition->model);
}

}  // namespace

absl::Status ReadModel(const json& model, TokenizerDefinition* definition) {
  // Old files do not say the type of a BPE model.
  const std::string type = model.contains("type") ? TypeOf(model) : "BPE";
  definition->model.byte_fallback = Flag(model, "byte_fallback", false);
  if (type == "BPE") {
    SHOAL_RETURN_IF_ERROR(ReadBpe(model, definition));
  } else if (type == "Unigram") {
    SHOAL_RETURN_IF_ERROR(ReadUnigram(model, definition));
  } else if (type == "WordPiece") {
    SHOAL_RETURN_IF_ERROR(ReadWordPiece(model, definition));
  } else {
    return Refuse(absl::StrCat("model: the tokenizer model ", type));
  }
  if (!definition->model.byte_fallback) return absl::OkStatus();
  for (TokenDefinition& token : definition->tokens) {
    if (token.kind == TokenKind::kNormal && ByteOfToken(token.spelling)) {
      token.kind = TokenKind::kByte;
    }
  }
  return absl::OkStatus();
}

}  // namespace shoal::text
