// SPDX-License-Identifier: Apache-2.0
// Renderer: the growth of a request's choices as OpenAI JSON: one body, or a stream of events.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "router/session/request_spec.h"
#include "text/tokenizer.h"

namespace shoal::router {

struct RenderContext {
  std::string id;  // "chatcmpl-…", "cmpl-…"
  std::string model;
  int64_t created = 0;  // seconds
  int32_t choices = 1;
  bool include_usage = false;
  bool wants_logprobs = false;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  // Completions with echo: the text and tokens of each prompt, and choices of each; else empty.
  std::vector<std::string> echo_texts;
  std::vector<std::vector<int32_t>> echo_tokens;
  int32_t n = 1;
};

// One request's. Used either for a stream (Stream*) or for a body (Collect, Body).
class Renderer {
 public:
  virtual ~Renderer() = default;
  // Events that open the stream; possibly none.
  virtual std::string StreamStart() = 0;
  // Events of this growth; none while there is no text to show yet.
  virtual std::string StreamGrowth(const ChoiceEvent& event) = 0;
  // The usage event (if asked for) and [DONE].
  virtual std::string StreamEnd(const EndEvent& end) = 0;
  virtual void Collect(const ChoiceEvent& event) = 0;
  virtual std::string Body(const EndEvent& end) = 0;
};

std::unique_ptr<Renderer> MakeChatRenderer(RenderContext context);
std::unique_ptr<Renderer> MakeCompletionRenderer(RenderContext context);

// "data: {…}\n\n"
std::string SseData(const nlohmann::json& value);
// Which numerics gave the answer so far.
struct AnswerNumerics {
  std::string fingerprint;  // of the last growth
  bool exact = true;        // no choice was continued under another profile
  void Note(const ChoiceEvent& event) {
    if (!event.fingerprint.empty()) fingerprint = event.fingerprint;
    exact = exact && event.exact;
  }
};

// What every chunk and body begins with; `object` is its kind, an empty fingerprint shows as null.
// "exact" is there, and false, only when the answer is not.
nlohmann::json ResponseHead(const RenderContext& context, const char* object,
                            const AnswerNumerics& numerics);
nlohmann::json UsageJson(const RequestUsage& usage);
const char* FinishName(ChoiceFinish finish);
// JSON has no infinities: they become -9999.
double FiniteLogprob(float logprob);

}  // namespace shoal::router
