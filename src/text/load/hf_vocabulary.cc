// SPDX-License-Identifier: Apache-2.0
#include "text/load/hf_vocabulary.h"

#include <optional>
#include <utility>

#include "base/status.h"
#include "text/load/hf_parts.h"
#include "text/load/hf_tokenizer_json.h"
#include "text/load/json_file.h"
#include "text/load/sentencepiece.h"
#include "text/load/split_patterns.h"

namespace shoal::text {
namespace {

using nlohmann::json;

// Tokens that only the configuration lists, with their flags.
absl::Status AddListedTokens(const json& config, TokenizerDefinition* definition) {
  const json& listed = Member(config, "added_tokens_decoder");
  if (!listed.is_object()) return absl::OkStatus();
  for (const auto& [key, entry] : listed.items()) {
    const absl::string_view path = "added_tokens_decoder";
    if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": '", key, "' is no token id"));
    }
    SHOAL_ASSIGN_OR_RETURN(std::string spelling, StringMember(entry, "content", path));
    SHOAL_ASSIGN_OR_RETURN(TokenDefinition* const token,
                           TokenSlot(std::stoll(key), kTokenIdMax, definition));
    const bool special = Flag(entry, "special", false);
    if (token->kind != TokenKind::kAbsent && token->spelling != spelling) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": id ", key, " is '", spelling, "' and '", token->spelling, "'"));
    }
    token->spelling = std::move(spelling);
    token->kind = special ? TokenKind::kControl : TokenKind::kAdded;
    token->strip_left = Flag(entry, "lstrip", false);
    token->strip_right = Flag(entry, "rstrip", false);
    token->single_word = Flag(entry, "single_word", false);
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenizerDefinition> ReadSentencePiece(const std::string& bytes,
                                                      const json& config) {
  SHOAL_ASSIGN_OR_RETURN(TokenizerDefinition definition, ParseSentencePieceModel(bytes));
  SHOAL_RETURN_IF_ERROR(AddListedTokens(config, &definition));
  // "legacy" puts a space in front of the text after every added token, too. Llama's tokenizer
  // does so unless told not to.
  const json& name = Member(config, "tokenizer_class");
  const bool llama = name.is_string() && name.get<std::string>().rfind("Llama", 0) == 0;
  NormalizerStep& step = definition.normalizer.back();
  if (Flag(config, "legacy", llama) && step.prefix_first) step.prefix_always = true;
  return definition;
}

// One token per line, with the pipeline that BERT's tokenizer has in code.
absl::StatusOr<TokenizerDefinition> ReadVocabTxt(const std::string& text, const json& config) {
  TokenizerDefinition definition;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    SHOAL_ASSIGN_OR_RETURN(
        TokenDefinition* const token,
        TokenSlot(static_cast<int64_t>(definition.tokens.size()), kTokenIdMax, &definition));
    token->spelling = std::move(line);
    token->kind = TokenKind::kNormal;
    begin = end + 1;
  }
  const auto find = [&](const char* key, const char* missing) -> absl::StatusOr<int32_t> {
    const json& named = Member(config, key);
    const std::string spelling = named.is_string() ? named.get<std::string>() : missing;
    for (size_t id = 0; id < definition.tokens.size(); ++id) {
      if (definition.tokens[id].spelling != spelling) continue;
      definition.tokens[id].kind = TokenKind::kControl;
      return static_cast<int32_t>(id);
    }
    return absl::InvalidArgumentError(absl::StrCat(key, " '", spelling, "' is not a line of it"));
  };
  definition.model.kind = ModelKind::kWordPiece;
  SHOAL_ASSIGN_OR_RETURN(definition.model.unknown, find("unk_token", "[UNK]"));
  SHOAL_ASSIGN_OR_RETURN(definition.bos, find("cls_token", "[CLS]"));
  SHOAL_ASSIGN_OR_RETURN(const int32_t separator, find("sep_token", "[SEP]"));
  for (const char* key : {"pad_token", "mask_token"}) {
    if (Member(config, key).is_string()) SHOAL_RETURN_IF_ERROR(find(key, "").status());
  }
  definition.eos = {separator};
  definition.add_bos = true;
  NormalizerStep step;
  step.kind = NormalizerStep::Kind::kBert;
  step.clean = true;
  step.chinese = Flag(config, "tokenize_chinese_chars", true);
  step.lowercase = Flag(config, "do_lower_case", true);
  step.accents = Flag(config, "strip_accents", step.lowercase);
  definition.normalizer.push_back(std::move(step));
  SHOAL_RETURN_IF_ERROR(ReadPreTokenizer(json{{"type", "BertPreTokenizer"}}, &definition));
  definition.decoder.start = DecoderDefinition::Start::kWordPiece;
  definition.decoder.start_text = definition.model.continuation;
  definition.decoder.clean_up = true;
  SHOAL_RETURN_IF_ERROR(AddListedTokens(config, &definition));
  return definition;
}

absl::StatusOr<FoundVocabulary> Found(std::string path,
                                      absl::StatusOr<TokenizerDefinition> definition) {
  if (!definition.ok()) return Annotate(definition.status(), path);
  FoundVocabulary found;
  found.path = std::move(path);
  found.definition = *std::move(definition);
  return found;
}

}  // namespace

absl::StatusOr<FoundVocabulary> FindVocabulary(const std::string& directory, const json& config) {
  std::string path = directory + "/tokenizer.json";
  SHOAL_ASSIGN_OR_RETURN(const std::optional<json> document, ReadJsonIfPresent(path));
  if (document) {
    SHOAL_ASSIGN_OR_RETURN(FoundVocabulary found,
                           Found(std::move(path), ParseTokenizerJson(*document)));
    found.appends_eos = true;
    return found;
  }
  for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}) {
    path = directory + "/" + name;
    SHOAL_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadFileIfPresent(path));
    if (bytes) return Found(std::move(path), ReadSentencePiece(*bytes, config));
  }
  path = directory + "/vocab.txt";
  SHOAL_ASSIGN_OR_RETURN(const std::optional<std::string> lines, ReadFileIfPresent(path));
  if (lines) return Found(std::move(path), ReadVocabTxt(*lines, config));
  return absl::NotFoundError(absl::StrCat(directory,
                                          ": no tokenizer.json, tokenizer.model, spiece.model, "
                                          "sentencepiece.bpe.model or vocab.txt"));
}

}  // namespace shoal::text
