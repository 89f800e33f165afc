// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/gguf/gguf_file.h"
#include "base/status.h"
#include "text/load/gguf_text.h"
#include "text/load/hf_directory.h"
#include "text/load/json_file.h"
#include "text/load/sentencepiece.h"
#include "text/tokenizer.h"

namespace shoal::text {

namespace {

absl::StatusOr<TextModel> LoadSentencePieceFile(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadFileIfPresent(path));
  if (!bytes) return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  auto definition = ParseSentencePieceModel(*bytes);
  if (!definition.ok()) return Annotate(definition.status(), path);
  TextModel model;
  if (definition->bos) model.bos_token = definition->tokens[*definition->bos].spelling;
  if (!definition->eos.empty()) {
    model.eos_token = definition->tokens[definition->eos[0]].spelling;
  }
  auto tokenizer = BuildTokenizer(*std::move(definition));
  if (!tokenizer.ok()) return Annotate(tokenizer.status(), path);
  model.tokenizer = *std::move(tokenizer);
  return model;
}

}  // namespace

absl::StatusOr<TextModel> LoadTextModel(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return LoadHuggingFaceDirectory(path);
  const std::string suffix = ".model";
  if (path.size() > suffix.size() &&
      path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0) {
    return LoadSentencePieceFile(path);
  }
  SHOAL_ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::Open(path));
  return LoadGgufText(*file);
}

}  // namespace shoal::text
