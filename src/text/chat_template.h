// SPDX-License-Identifier: Apache-2.0
// ChatTemplate: renders messages with a model's Jinja template into text and token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer.h"

namespace shoal::text {

struct RenderOptions {
  bool add_generation_prompt = true;
  // The text ends where the last message's content ends, for the model to go on from there; not
  // with add_generation_prompt. White space at the end of that content stays unless the template
  // strips it.
  bool continue_final_message = false;
  absl::Time now = absl::UnixEpoch();  // for strftime_now
};

// Immutable after Parse, safe from any thread. Rendering is bounded in steps, depth and output
// size.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  // `messages`: an array of {"role", "content", ...}; `variables` (an object: tools, documents,
  // chat_template_kwargs) are visible to the template, keys in the order given. A content that is
  // missing or null is "", text parts become one string unless the template goes through parts
  // itself, and a tool call's arguments given as JSON text are parsed. INVALID_ARGUMENT with the
  // template's line for what the template refuses (raise_exception) or cannot do;
  // RESOURCE_EXHAUSTED when it would take too much work, memory or output.
  virtual absl::StatusOr<std::string> Render(const nlohmann::ordered_json& messages,
                                             const nlohmann::ordered_json& variables,
                                             const RenderOptions& options) const = 0;
  // Renders and tokenizes. Only text of the template itself can become a control token: text from
  // messages and variables that spells one, whole or in part, stays plain text, whatever the
  // template does with it. The role names in common use count as the template's own words, as
  // templates build control tokens around them. One BOS where the model wants one, or the template
  // writes one.
  virtual absl::StatusOr<std::vector<int32_t>> RenderTokens(const Tokenizer& tokenizer,
                                                            const nlohmann::ordered_json& messages,
                                                            const nlohmann::ordered_json& variables,
                                                            const RenderOptions& options) const = 0;
};

// Syntax errors are found here, with their line. bos and eos are the spellings templates may use.
// The one named "tool_use" is used for requests with tools, "rag" for ones with documents and no
// tools, `source` for all others; templates of other names are ignored.
absl::StatusOr<std::unique_ptr<ChatTemplate>> ParseChatTemplates(
    const std::string& source, const std::vector<NamedTemplate>& named,
    const std::string& bos_token, const std::string& eos_token);

// A model's only template.
absl::StatusOr<std::unique_ptr<ChatTemplate>> ParseChatTemplate(const std::string& source,
                                                                const std::string& bos_token,
                                                                const std::string& eos_token);

}  // namespace shoal::text
