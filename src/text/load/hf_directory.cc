// SPDX-License-Identifier: Apache-2.0
#include "text/load/hf_directory.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/load/hf_chat_templates.h"
#include "text/load/hf_vocabulary.h"
#include "text/load/json_file.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {
namespace {

using nlohmann::json;

// A token named by a configuration: a string or an object with "content". Empty: not named.
absl::StatusOr<std::string> NamedToken(const json& config, const char* key) {
  const json value = config.value(key, json());
  if (value.is_null()) return std::string();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.value("content", json()).is_string()) {
    return value["content"].get<std::string>();
  }
  return absl::InvalidArgumentError(absl::StrCat(key, " is neither a string nor a token"));
}

// Makes `spelling` a control token, as naming it does; its id.
absl::StatusOr<int32_t> MarkControl(const std::string& spelling, absl::string_view key,
                                    TokenizerDefinition* definition) {
  for (size_t id = 0; id < definition->tokens.size(); ++id) {
    TokenDefinition& token = definition->tokens[id];
    if (token.kind == TokenKind::kAbsent || token.spelling != spelling) continue;
    token.kind = TokenKind::kControl;
    return static_cast<int32_t>(id);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(key, " '", spelling, "' is not in the vocabulary of tokenizer.json"));
}

// tokenizer_config.json repeats the added tokens; one it alone lists would have no place.
absl::Status CheckDecoderTokens(const json& config, const TokenizerDefinition& definition) {
  const json listed = config.value("added_tokens_decoder", json());
  if (!listed.is_object()) return absl::OkStatus();
  absl::flat_hash_set<absl::string_view> spellings;
  for (const TokenDefinition& token : definition.tokens) {
    if (token.kind != TokenKind::kAbsent) spellings.insert(token.spelling);
  }
  for (const auto& [key, entry] : listed.items()) {
    if (!entry.is_object() || !entry.value("content", json()).is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat("added_tokens_decoder: entry '", key, "' has no content"));
    }
    const std::string spelling = entry["content"].get<std::string>();
    const bool known = spellings.contains(spelling);
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("added_tokens_decoder: '", spelling, "' is not in tokenizer.json"));
    }
  }
  return absl::OkStatus();
}

struct NamedTokens {
  std::string bos;
  std::string eos;
};

absl::StatusOr<NamedTokens> ReadNamedTokens(const json& config, const json& map,
                                            TokenizerDefinition* definition) {
  NamedTokens named;
  for (const json* source : {&config, &map}) {
    for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token", "cls_token",
                            "sep_token", "mask_token"}) {
      SHOAL_ASSIGN_OR_RETURN(const std::string spelling, NamedToken(*source, key));
      if (spelling.empty()) continue;
      SHOAL_RETURN_IF_ERROR(MarkControl(spelling, key, definition).status());
      const std::string name = key;
      if (name == "bos_token" && named.bos.empty()) named.bos = spelling;
      if (name == "eos_token" && named.eos.empty()) named.eos = spelling;
    }
    const json additional = source->value("additional_special_tokens", json());
    if (!additional.is_array()) continue;
    for (const json& token : additional) {
      SHOAL_ASSIGN_OR_RETURN(const std::string spelling,
                             NamedToken(json{{"token", token}}, "token"));
      SHOAL_RETURN_IF_ERROR(
          MarkControl(spelling, "additional_special_tokens", definition).status());
    }
  }
  return named;
}

// generation_config.json is the authority on what ends generation.
absl::StatusOr<std::vector<int32_t>> ReadEosIds(const json& generation) {
  std::vector<int32_t> ids;
  const json value = generation.value("eos_token_id", json());
  if (value.is_null()) return ids;
  const json list = value.is_array() ? value : json::array({value});
  for (const json& id : list) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > INT32_MAX) {
      return absl::InvalidArgumentError("eos_token_id is neither a token id nor a list of them");
    }
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

bool AddsPrefixSpace(const TokenizerDefinition& definition) {
  return std::any_of(definition.pre_tokenizer.begin(), definition.pre_tokenizer.end(),
                     [](const PreTokenizerStep& step) {
                       return step.kind == PreTokenizerStep::Kind::kPrefixSpace;
                     });
}

// What the configuration files say; `definition->eos` is what the tokenizer's own file says.
absl::Status ApplyConfig(const json& config, const json& map, const json& generation,
                         bool appends_eos, TokenizerDefinition* definition, TextModel* model) {
  if (definition->model.kind == ModelKind::kByteLevelBpe && !AddsPrefixSpace(*definition) &&
      config.value("add_prefix_space", json()) == true) {
    return absl::InvalidArgumentError(
        "add_prefix_space true beside a ByteLevel without it is not supported");
  }
  SHOAL_RETURN_IF_ERROR(CheckDecoderTokens(config, *definition));
  SHOAL_ASSIGN_OR_RETURN(const NamedTokens named, ReadNamedTokens(config, map, definition));
  const std::optional<int32_t> first_added = definition->bos;
  if (!named.bos.empty()) {
    SHOAL_ASSIGN_OR_RETURN(definition->bos, MarkControl(named.bos, "bos_token", definition));
  }
  if (first_added && first_added != definition->bos) {
    return absl::InvalidArgumentError(
        "a post_processor that puts another token than the BOS first is not supported");
  }
  const json add_bos = config.value("add_bos_token", json());
  if (add_bos.is_boolean()) definition->add_bos = add_bos.get<bool>() && definition->bos;
  const std::vector<int32_t> own_eos = std::move(definition->eos);
  std::optional<int32_t> eos;
  if (!named.eos.empty()) {
    SHOAL_ASSIGN_OR_RETURN(eos, MarkControl(named.eos, "eos_token", definition));
  }
  SHOAL_ASSIGN_OR_RETURN(definition->eos, ReadEosIds(generation));
  if (definition->eos.empty() && eos) definition->eos.push_back(*eos);
  if (definition->eos.empty()) definition->eos = own_eos;
  for (const int32_t id : own_eos) {
    if (!appends_eos) break;
    const bool ends = std::count(definition->eos.begin(), definition->eos.end(), id) > 0;
    if (!ends && eos != id) {
      return absl::InvalidArgumentError(
          "a post_processor that puts another token than the EOS last is not supported");
    }
  }
  if (definition->bos) model->bos_token = definition->tokens[*definition->bos].spelling;
  model->eos_token = named.eos;
  return absl::OkStatus();
}

absl::StatusOr<json> ReadOrEmpty(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(std::optional<json> document, ReadJsonIfPresent(path));
  return document ? std::move(*document) : json(json::object());
}

}  // namespace

absl::StatusOr<TextModel> LoadHuggingFaceDirectory(const std::string& path) {
  const std::string config_path = path + "/tokenizer_config.json";
  SHOAL_ASSIGN_OR_RETURN(const json config, ReadOrEmpty(config_path));
  SHOAL_ASSIGN_OR_RETURN(FoundVocabulary found, FindVocabulary(path, config));
  SHOAL_ASSIGN_OR_RETURN(const json map, ReadOrEmpty(path + "/special_tokens_map.json"));
  SHOAL_ASSIGN_OR_RETURN(const json generation, ReadOrEmpty(path + "/generation_config.json"));
  TextModel model;
  SHOAL_RETURN_IF_ERROR(
      Annotate(ApplyConfig(config, map, generation, found.appends_eos, &found.definition, &model),
               config_path));
  SHOAL_RETURN_IF_ERROR(LoadChatTemplates(path, config, &model));
  auto tokenizer = BuildTokenizer(std::move(found.definition));
  if (!tokenizer.ok()) return Annotate(tokenizer.status(), found.path);
  model.tokenizer = *std::move(tokenizer);
  return model;
}

}  // namespace shoal::text
