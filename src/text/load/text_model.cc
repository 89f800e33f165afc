// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <system_error>

#include "base/gguf/gguf_file.h"
#include "base/status.h"
#include "text/load/gguf_text.h"
#include "text/load/hf_directory.h"
#include "text/tokenizer.h"

namespace shoal::text {

absl::StatusOr<TextModel> LoadTextModel(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return LoadHuggingFaceDirectory(path);
  SHOAL_ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::Open(path));
  return LoadGgufText(*file);
}

}  // namespace shoal::text
