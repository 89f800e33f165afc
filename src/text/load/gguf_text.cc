// SPDX-License-Identifier: Apache-2.0
#include "text/load/gguf_text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/bpe/bpe_definition.h"

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

absl::StatusOr<TokenKind> KindOf(int64_t type) {
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
    default:
      return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.token_type: type ", type,
                                                     " is not supported in a BPE model"));
  }
}

absl::Status ReadTokens(const gguf::GgufFile& file, BpeDefinition* definition) {
  using Strings = std::vector<std::string>;
  SHOAL_ASSIGN_OR_RETURN(const Strings* const tokens,
                         Array<Strings>(file, "tokenizer.ggml.tokens"));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<int64_t>* const types,
                         Array<std::vector<int64_t>>(file, "tokenizer.ggml.token_type"));
  SHOAL_ASSIGN_OR_RETURN(const Strings* const merges,
                         Array<Strings>(file, "tokenizer.ggml.merges"));
  if (types->size() != tokens->size()) {
    return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.token_type has ", types->size(),
                                                   " entries for ", tokens->size(), " tokens"));
  }
  definition->tokens.resize(tokens->size());
  for (size_t id = 0; id < tokens->size(); ++id) {
    definition->tokens[id].spelling = (*tokens)[id];
    SHOAL_ASSIGN_OR_RETURN(definition->tokens[id].kind, KindOf((*types)[id]));
  }
  definition->merges.reserve(merges->size());
  for (const std::string& merge : *merges) {
    const size_t space = merge.find(' ', 1);
    if (space == std::string::npos || space + 1 >= merge.size()) {
      return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.merges: entry ",
                                                     definition->merges.size(), " is not a pair"));
    }
    definition->merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return absl::OkStatus();
}

absl::Status ReadPreTokenizer(const gguf::GgufFile& file, BpeDefinition* definition) {
  std::string name = "default";
  if (file.Find("tokenizer.ggml.pre") != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(name, file.GetString("tokenizer.ggml.pre"));
  }
  definition->pre_tokenizer.gpt2_pattern = true;
  if (name == "gpt-2" || name == "default") return absl::OkStatus();
  if (name == "smollm") {
    definition->pre_tokenizer.digits = DigitSplit::kIndividual;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.pre '", name,
                                                 "' is not supported (gpt-2, default and smollm "
                                                 "are)"));
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

absl::Status ReadSpecialIds(const gguf::GgufFile& file, BpeDefinition* definition) {
  const size_t tokens = definition->tokens.size();
  SHOAL_ASSIGN_OR_RETURN(definition->bos, ReadId(file, "tokenizer.ggml.bos_token_id", tokens));
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    SHOAL_ASSIGN_OR_RETURN(const std::optional<int32_t> id, ReadId(file, key, tokens));
    auto& eos = definition->eos;
    if (id && std::find(eos.begin(), eos.end(), *id) == eos.end()) eos.push_back(*id);
  }
  if (file.Find("tokenizer.ggml.add_bos_token") != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(const int64_t add_bos, file.GetInt("tokenizer.ggml.add_bos_token"));
    definition->add_bos = add_bos != 0 && definition->bos;
  }
  return absl::OkStatus();
}

absl::StatusOr<TextModel> Load(const gguf::GgufFile& file) {
  SHOAL_ASSIGN_OR_RETURN(const std::string kind, file.GetString("tokenizer.ggml.model"));
  if (kind != "gpt2") {
    return absl::InvalidArgumentError(
        absl::StrCat("tokenizer.ggml.model '", kind, "' is not supported (gpt2 is)"));
  }
  BpeDefinition definition;
  SHOAL_RETURN_IF_ERROR(ReadPreTokenizer(file, &definition));
  SHOAL_RETURN_IF_ERROR(ReadTokens(file, &definition));
  SHOAL_RETURN_IF_ERROR(ReadSpecialIds(file, &definition));
  TextModel model;
  if (definition.bos) model.bos_token = definition.tokens[*definition.bos].spelling;
  if (!definition.eos.empty()) model.eos_token = definition.tokens[definition.eos[0]].spelling;
  if (file.Find("tokenizer.chat_template") != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(model.chat_template, file.GetString("tokenizer.chat_template"));
  }
  SHOAL_ASSIGN_OR_RETURN(model.tokenizer, BuildBpeTokenizer(std::move(definition)));
  return model;
}

}  // namespace

absl::StatusOr<TextModel> LoadGgufText(const gguf::GgufFile& file) {
  auto model = Load(file);
  if (!model.ok()) return Annotate(model.status(), file.path());
  return model;
}

}  // namespace shoal::text
