// SPDX-License-Identifier: Apache-2.0
#include "router/session/sequence.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace shoal::router {

Sequence::Sequence(const RequestSpec& spec, std::shared_ptr<const text::Tokenizer> tokenizer,
                   int32_t index)
    : spec_(spec),
      index_(index),
      prompt_(index / spec.n),
      detokenizer_(std::move(tokenizer), spec.skip_special,
                   text::IncrementalDetokenizer::Start::kContinuation),
      matcher_(spec.stop_strings, spec.include_stop) {}

bool Sequence::IsStopToken(int32_t token) const {
  const auto& own = spec_.stop_token_ids;
  const auto& eos = spec_.eos_token_ids;
  return std::find(own.begin(), own.end(), token) != own.end() ||
         std::find(eos.begin(), eos.end(), token) != eos.end();
}

SubmitValue Sequence::Submit(const Exclusion& where, const std::string& fingerprint,
                             absl::Time now) {
  SHOAL_CHECK(!active_);
  SHOAL_CHECK(!finished_);
  active_ = true;
  ++attempt_;
  replica_ = where.replica;
  fingerprint_ = fingerprint;
  probation_ = suspect();
  tried_.push_back(where);
  const std::vector<int32_t>& prompt = spec_.prompts[static_cast<size_t>(prompt_)];
  SubmitValue submit;
  submit.attempt = attempt_;
  submit.tokens = prompt;
  submit.tokens.insert(submit.tokens.end(), journal_.begin(), journal_.end());
  submit.prompt_tokens = static_cast<int32_t>(prompt.size());
  submit.sampling = spec_.sampling;
  submit.sampling.choice = static_cast<uint32_t>(index_ % spec_.n);
  prompt_in_attempt_ = 0;
  if (prompt_seen_ + 1 >= prompt.size()) submit.sampling.prompt_logprobs = -1;  // has them all
  submit.max_tokens = spec_.max_tokens;
  submit.stop_token_ids = spec_.stop_token_ids;
  submit.stop_token_ids.insert(submit.stop_token_ids.end(), spec_.eos_token_ids.begin(),
                               spec_.eos_token_ids.end());
  submit.priority = spec_.priority;
  submit.cache_namespace = spec_.cache_namespace;
  if (spec_.deadline != absl::InfiniteFuture()) {
    submit.deadline_ms = std::max<int64_t>(1, absl::ToInt64Milliseconds(spec_.deadline - now));
  }
  return submit;
}

void Sequence::End(ChoiceFinish finish, ChoiceEvent& event) {
  if (!stopped_by_text_) {
    // What the detokenizer held back may still complete a stop string.
    text::StopMatcher::Result rest = matcher_.Push(detokenizer_.Finish());
    event.text += rest.text;
    if (rest.stopped) {
      finish = ChoiceFinish::kStop;
    } else {
      event.text += matcher_.Finish();
    }
  }
  event.finish = finish;
  finished_ = true;
  active_ = false;
}

std::optional<ChoiceEvent> Sequence::FinishFromJournal() {
  ChoiceEvent event;
  event.choice = index_;
  event.fingerprint = emitted_fingerprint_;
  event.exact = exact_;
  if (!journal_.empty() && IsStopToken(journal_.back())) {
    End(ChoiceFinish::kStop, event);
    return event;
  }
  const bool full = spec_.max_tokens > 0 && completion_tokens() >= spec_.max_tokens;
  if (!full) return std::nullopt;
  End(ChoiceFinish::kLength, event);
  return event;
}

void Sequence::PushToken(scheduler::TokenOutput token, SequenceGrowth& growth, ChoiceEvent& event) {
  const int32_t id = token.token;
  journal_.push_back(id);
  event.tokens.push_back(std::move(token));
  const bool own = std::find(spec_.stop_token_ids.begin(), spec_.stop_token_ids.end(), id) !=
                   spec_.stop_token_ids.end();
  // An end token gives no text, unless the client asked for stops or for control tokens to stay.
  if (IsStopToken(id) && !(own ? spec_.include_stop : !spec_.skip_special)) {
    event.last_token_hidden = true;
    return;
  }
  if (completion_tokens() <= spec_.sampling.min_tokens) {  // stop strings do not count yet
    event.text += detokenizer_.Push(id);
    return;
  }
  text::StopMatcher::Result result = matcher_.Push(detokenizer_.Push(id));
  event.text += result.text;
  if (!result.stopped) return;
  stopped_by_text_ = true;
  growth.cancel_at_worker = true;
}

void Sequence::TakePromptLogprobs(std::vector<scheduler::TokenOutput> prompt, ChoiceEvent& event) {
  for (scheduler::TokenOutput& entry : prompt) {
    if (++prompt_in_attempt_ <= prompt_seen_) continue;  // an earlier attempt delivered it
    ++prompt_seen_;
    event.prompt.push_back(std::move(entry));
  }
}

SequenceGrowth Sequence::Grow(SequenceDeltaValue delta) {
  SHOAL_CHECK(active_);
  SHOAL_CHECK(!finished_);
  SequenceGrowth growth;
  ChoiceEvent event;
  event.choice = index_;
  if (attempt_ == 1 && delta.cached_tokens > cached_tokens_) cached_tokens_ = delta.cached_tokens;
  TakePromptLogprobs(std::move(delta.prompt), event);
  const size_t sent = delta.tokens.size();
  size_t used = 0;
  while (used < sent && !stopped_by_text_) {
    PushToken(std::move(delta.tokens[used++]), growth, event);
  }
  growth.overrun_tokens = static_cast<int64_t>(sent - used);
  if (delta.finish != WireFinish::kNone) growth.cancel_at_worker = false;
  if (stopped_by_text_) {
    End(ChoiceFinish::kStop, event);
  } else if (delta.finish == WireFinish::kStop) {
    End(ChoiceFinish::kStop, event);
  } else if (delta.finish == WireFinish::kLength) {
    End(ChoiceFinish::kLength, event);
  }
  if (!event.tokens.empty() || !event.prompt.empty()) {
    probation_ = false;
    exact_ = exact_ && (emitted_fingerprint_.empty() || emitted_fingerprint_ == fingerprint_);
    emitted_fingerprint_ = fingerprint_;
  }
  event.fingerprint = fingerprint_;
  event.exact = exact_;
  const bool says_something =
      event.finish.has_value() || !event.tokens.empty() || !event.prompt.empty();
  if (says_something) growth.event = std::move(event);
  return growth;
}

}  // namespace shoal::router
