// SPDX-License-Identifier: Apache-2.0
#include "text/load/gguf_text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/load/sentencepiece.h"
#include "text/load/split_patterns.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {
namespace {

template <typename T>
absl::StatusOr<const T*> Array(const gguf::GgufFile& file, absl::string_view key) {
  const gguf::Value* value = file.Find(key);
  if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat(key, " is missing"));
  const T* array = std::get_if<T>(value);
  if (array == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(key, " is not an array of the expected type"));
  }
  return array;
}

absl::StatusOr<TokenKind> KindOf(int64_t type, bool byte_tokens) {
  switch (type) {
    case 1:
      return TokenKind::kNormal;
    case 2:  // the unknown token
    case 3:
      return TokenKind::kControl;
    case 4:
      return TokenKind::kAdded;
    case 5:
      return TokenKind::kUnused;
    case 6:
      if (byte_tokens) return TokenKind::kByte;
      break;
    default:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.token_type: type ", type,
                                                 " is not supported in this kind of model"));
}

absl::Status ReadTokens(const gguf::GgufFile& file, bool byte_tokens,
                        TokenizerDefinition* definition) {
  using Strings = std::vector<std::string>;
  SHOAL_ASSIGN_OR_RETURN(const Strings* const tokens,
                         Array<Strings>(file, "tokenizer.ggml.tokens"));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<int64_t>* const types,
                         Array<std::vector<int64_t>>(file, "tokenizer.ggml.token_type"));
  if (types->size() != tokens->size()) {
    return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.token_type has ", types->size(),
                                                   " entries for ", tokens->size(), " tokens"));
  }
  definition->tokens.resize(tokens->size());
  for (size_t id = 0; id < tokens->size(); ++id) {
    definition->tokens[id].spelling = (*tokens)[id];
    SHOAL_ASSIGN_OR_RETURN(definition->tokens[id].kind, KindOf((*types)[id], byte_tokens));
  }
  return absl::OkStatus();
}

absl::Status ReadMerges(const gguf::GgufFile& file, ModelDefinition* model) {
  using Strings = std::vector<std::string>;
  SHOAL_ASSIGN_OR_RETURN(const Strings* const merges,
                         Array<Strings>(file, "tokenizer.ggml.merges"));
  model->merges.reserve(merges->size());
  for (const std::string& merge : *merges) {
    const size_t space = merge.find(' ', 1);
    if (space == std::string::npos || space + 1 >= merge.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tokenizer.ggml.merges: entry ", model->merges.size(), " is not a pair"));
    }
    model->merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return absl::OkStatus();
}

absl::Status ReadScores(const gguf::GgufFile& file, TokenizerDefinition* definition) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<double>* const scores,
                         Array<std::vector<double>>(file, "tokenizer.ggml.scores"));
  if (scores->size() != definition->tokens.size()) {
    return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.scores has ", scores->size(),
                                                   " entries for ", definition->tokens.size(),
                                                   " tokens"));
  }
  for (size_t id = 0; id < scores->size(); ++id) definition->tokens[id].score = (*scores)[id];
  return absl::OkStatus();
}

absl::StatusOr<bool> ReadFlag(const gguf::GgufFile& file, absl::string_view key, bool missing) {
  if (file.Find(key) == nullptr) return missing;
  SHOAL_ASSIGN_OR_RETURN(const int64_t value, file.GetInt(key));
  return value != 0;
}

absl::StatusOr<std::optional<int32_t>> ReadId(const gguf::GgufFile& file, absl::string_view key,
                                              size_t tokens) {
  if (file.Find(key) == nullptr) return std::optional<int32_t>();
  SHOAL_ASSIGN_OR_RETURN(const int64_t id, file.GetInt(key));
  if (id < 0 || static_cast<uint64_t>(id) >= tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat(key, " is ", id, ", outside the ", tokens, " tokens"));
  }
  return std::optional<int32_t>(static_cast<int32_t>(id));
}

absl::Status ReadSpecialIds(const gguf::GgufFile& file, TokenizerDefinition* definition) {
  const size_t tokens = definition->tokens.size();
  SHOAL_ASSIGN_OR_RETURN(definition->bos, ReadId(file, "tokenizer.ggml.bos_token_id", tokens));
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    SHOAL_ASSIGN_OR_RETURN(const std::optional<int32_t> id, ReadId(file, key, tokens));
    auto& eos = definition->eos;
    if (id && std::find(eos.begin(), eos.end(), *id) == eos.end()) eos.push_back(*id);
  }
  // SentencePiece models have a BOS unless they say otherwise.
  const bool missing = definition->model.kind == ModelKind::kScoredBpe;
  SHOAL_ASSIGN_OR_RETURN(const bool add_bos,
                         ReadFlag(file, "tokenizer.ggml.add_bos_token", missing));
  definition->add_bos = add_bos && definition->bos;
  return absl::OkStatus();
}

absl::Status ReadByteLevelBpe(const gguf::GgufFile& file, TokenizerDefinition* definition) {
  std::string name = "default";
  if (file.Find("tokenizer.ggml.pre") != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(name, file.GetString("tokenizer.ggml.pre"));
  }
  definition->model.kind = ModelKind::kByteLevelBpe;
  definition->decoder.byte_level = true;
  SHOAL_RETURN_IF_ERROR(ApplyGgufPre(name, definition));
  SHOAL_RETURN_IF_ERROR(ReadTokens(file, /*byte_tokens=*/false, definition));
  return ReadMerges(file, &definition->model);
}

// A charsmap is an array of signed or unsigned bytes.
absl::StatusOr<std::string> ReadCharsmap(const gguf::GgufFile& file) {
  const absl::string_view key = "tokenizer.ggml.precompiled_charsmap";
  if (file.Find(key) == nullptr) return std::string();
  SHOAL_ASSIGN_OR_RETURN(const std::vector<int64_t>* const bytes,
                         Array<std::vector<int64_t>>(file, key));
  std::string charsmap;
  for (const int64_t byte : *bytes) charsmap.push_back(static_cast<char>(byte));
  return charsmap;
}

absl::Status ReadSentencePiece(const gguf::GgufFile& file, bool unigram,
                               TokenizerDefinition* definition) {
  SHOAL_RETURN_IF_ERROR(ReadTokens(file, /*byte_tokens=*/true, definition));
  SHOAL_RETURN_IF_ERROR(ReadScores(file, definition));
  SentencePieceOptions options;
  options.unigram = unigram;
  SHOAL_ASSIGN_OR_RETURN(options.prefix_always,
                         ReadFlag(file, "tokenizer.ggml.add_space_prefix", !unigram));
  SHOAL_ASSIGN_OR_RETURN(options.collapse_spaces,
                         ReadFlag(file, "tokenizer.ggml.remove_extra_whitespaces", false));
  SHOAL_ASSIGN_OR_RETURN(options.charsmap, ReadCharsmap(file));
  SHOAL_ASSIGN_OR_RETURN(
      options.unknown, ReadId(file, "tokenizer.ggml.unknown_token_id", definition->tokens.size()));
  const auto& tokens = definition->tokens;
  for (size_t id = 0; id < tokens.size() && !options.unknown; ++id) {
    if (tokens[id].spelling == "<unk>") options.unknown = static_cast<int32_t>(id);
  }
  ApplySentencePieceOptions(options, definition);
  return absl::OkStatus();
}

absl::StatusOr<TextModel> Load(const gguf::GgufFile& file) {
  SHOAL_ASSIGN_OR_RETURN(const std::string kind, file.GetString("tokenizer.ggml.model"));
  TokenizerDefinition definition;
  if (kind == "gpt2") {
    SHOAL_RETURN_IF_ERROR(ReadByteLevelBpe(file, &definition));
  } else if (kind == "llama" || kind == "t5" || kind == "unigram") {
    SHOAL_RETURN_IF_ERROR(ReadSentencePiece(file, kind != "llama", &definition));
  } else {
    return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.model '", kind,
                                                   "' is not supported (gpt2, llama, t5 and "
                                                   "unigram are)"));
  }
  SHOAL_RETURN_IF_ERROR(ReadSpecialIds(file, &definition));
  TextModel model;
  if (definition.bos) model.bos_token = definition.tokens[*definition.bos].spelling;
  if (!definition.eos.empty()) model.eos_token = definition.tokens[definition.eos[0]].spelling;
  if (file.Find("tokenizer.chat_template") != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(model.chat_template, file.GetString("tokenizer.chat_template"));
    for (const char* name : {"rag", "tool_use"}) {
      const std::string key = absl::StrCat("tokenizer.chat_template.", name);
      if (file.Find(key) == nullptr) continue;
      SHOAL_ASSIGN_OR_RETURN(std::string source, file.GetString(key));
      model.named_templates.push_back({.name = name, .source = std::move(source)});
    }
  }
  SHOAL_ASSIGN_OR_RETURN(model.tokenizer, BuildTokenizer(std::move(definition)));
  return model;
}

}  // namespace

absl::StatusOr<TextModel> LoadGgufText(const gguf::GgufFile& file) {
  auto model = Load(file);
  if (!model.ok()) return Annotate(model.status(), file.path());
  return model;
}

}  // namespace shoal::text
