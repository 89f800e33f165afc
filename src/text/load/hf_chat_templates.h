// SPDX-License-Identifier: Apache-2.0
// The chat templates of a Hugging Face directory, wherever they lie.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "text/tokenizer.h"

namespace shoal::text {

// Fills chat_template and named_templates. chat_template.jinja with additional_chat_templates/
// NAME.jinja beside it goes before chat_template of tokenizer_config.json (`config`), which is a
// string or a list of named ones. INVALID_ARGUMENT naming the file for what is neither.
absl::Status LoadChatTemplates(const std::string& path, const nlohmann::json& config,
                               TextModel* model);

}  // namespace shoal::text
