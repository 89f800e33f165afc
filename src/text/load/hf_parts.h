// SPDX-License-Identifier: Apache-2.0
// Reads the parts of a Hugging Face tokenizer.json. Errors name the place in the document and what
// of it this build does not have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "text/load/json_file.h"
#include "text/tokenizer_definition.h"

namespace shoal::text {

inline constexpr int64_t kTokenIdMax = 4'000'000;

inline absl::Status Refuse(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, " is not supported"));
}

// The "type" of a part, as text for messages.
inline std::string TypeOf(const nlohmann::json& part) {
  const nlohmann::json& type = Member(part, "type");
  return type.is_string() ? type.get<std::string>() : "(without a type)";
}

inline bool Flag(const nlohmann::json& object, const char* key, bool missing) {
  const nlohmann::json& value = Member(object, key);
  return value.is_boolean() ? value.get<bool>() : missing;
}

// A string member; INVALID_ARGUMENT when it is missing or no string.
absl::StatusOr<std::string> StringMember(const nlohmann::json& object, const char* key,
                                         absl::string_view path);

// The parts of a chain in order: null has none, a Sequence (which keeps them under `list`) has
// those of its members, anything else is one. `paths` says where each is.
struct Chain {
  std::vector<const nlohmann::json*> parts;
  std::vector<std::string> paths;
};
absl::StatusOr<Chain> FlattenChain(const nlohmann::json& part, const char* list,
                                   const std::string& path);

// The pattern of a Split or Replace: {"String": ..} or {"Regex": ..}.
absl::StatusOr<std::shared_ptr<const Pattern>> ReadPattern(const nlohmann::json& part,
                                                           const std::string& path);

// Grows the table to hold `id`. INVALID_ARGUMENT when it is not in [0, ids_max).
absl::StatusOr<TokenDefinition*> TokenSlot(int64_t id, int64_t ids_max,
                                           TokenizerDefinition* definition);

// Each fills its part of `definition`. The model goes first; the pre-tokenizer decides whether a
// BPE is byte-level, and the decoder must suit it.
absl::Status ReadModel(const nlohmann::json& model, TokenizerDefinition* definition);
absl::Status ReadNormalizer(const nlohmann::json& normalizer, TokenizerDefinition* definition);
absl::Status ReadPreTokenizer(const nlohmann::json& pre_tokenizer, TokenizerDefinition* definition);
absl::Status ReadDecoder(const nlohmann::json& decoder, TokenizerDefinition* definition);

}  // namespace shoal::text
