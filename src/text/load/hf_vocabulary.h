// SPDX-License-Identifier: Apache-2.0
// Finds the tokenizer of a Hugging Face directory, in whichever of its formats it is there.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer_definition.h"

namespace shoal::text {

struct FoundVocabulary {
  std::string path;          // of the file it came from
  bool appends_eos = false;  // the EOS in it is one that it puts behind every text
  TokenizerDefinition definition;
};

// tokenizer.json, else a SentencePiece model (tokenizer.model, spiece.model,
// sentencepiece.bpe.model), else a WordPiece vocab.txt with BERT's pipeline. `config` is
// tokenizer_config.json; the last two formats take their added tokens and options from it.
// NOT_FOUND when there is none of these files; other errors name the file.
absl::StatusOr<FoundVocabulary> FindVocabulary(const std::string& directory,
                                               const nlohmann::json& config);

}  // namespace shoal::text
