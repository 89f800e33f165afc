// SPDX-License-Identifier: Apache-2.0
#include "router/session/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "router/api_error.h"

namespace shoal::router {
namespace {

// Failures of a replica, as opposed to answers about the request.
bool MayRetry(const SequenceDeltaValue& delta) {
  if (delta.finish == WireFinish::kCancelled) return true;  // not by us: the worker is stopping
  if (delta.finish != WireFinish::kError) return false;
  const absl::StatusCode code = delta.error.code();
  if (code == absl::StatusCode::kUnavailable) return true;
  return delta.rejected && code == absl::StatusCode::kResourceExhausted;
}

absl::Status FailureOf(const SequenceDeltaValue& delta) {
  switch (delta.finish) {
    case WireFinish::kCancelled:
      return absl::UnavailableError("the replica cancelled the sequence");
    case WireFinish::kDeadline:
      return absl::DeadlineExceededError("the request's deadline passed");
    case WireFinish::kError:
      return delta.error.ok() ? absl::InternalError("the replica failed without a reason")
                              : delta.error;
    default:
      return absl::OkStatus();
  }
}

}  // namespace

Session::Session(RequestSpec spec, std::shared_ptr<const text::Tokenizer> tokenizer,
                 RetryLimits limits)
    : spec_(std::move(spec)), limits_(limits) {
  SHOAL_CHECK(!spec_.prompts.empty());
  SHOAL_CHECK(spec_.n >= 1);
  const size_t count = spec_.sequences();
  for (size_t i = 0; i < count; ++i) {
    sequences_.push_back(std::make_unique<Sequence>(spec_, tokenizer, static_cast<int32_t>(i)));
  }
  retry_until_.resize(count);
  last_failure_.resize(count);
}

Actions Session::Start() {
  Actions actions;
  for (const auto& sequence : sequences_) actions.routes.push_back(sequence->index());
  return actions;
}

RouteRequest Session::RouteFor(int32_t index) const {
  const Sequence& s = sequence(index);
  RouteRequest request;
  request.model = spec_.model;
  const size_t prompt = spec_.prompts[static_cast<size_t>(s.prompt())].size();
  request.tokens = static_cast<int64_t>(prompt + s.journal().size());
  request.excluded = s.tried();
  const bool emitted = !s.emitted_fingerprint().empty();
  request.fingerprint = emitted ? s.emitted_fingerprint() : s.fingerprint();
  request.require_fingerprint = limits_.exact && emitted;
  return request;
}

std::optional<size_t> Session::SiblingReplica(int32_t index) const {
  if (sequence(index).attempt() > 0) return std::nullopt;
  const int32_t first = index - index % spec_.n;
  for (int32_t i = first; i < first + spec_.n; ++i) {
    if (sequence(i).active()) return sequence(i).replica();
  }
  return std::nullopt;
}

SubmitValue Session::Submit(int32_t index, const Exclusion& where, const std::string& fingerprint,
                            absl::Time now) {
  SHOAL_CHECK(!ended_);
  const auto i = static_cast<size_t>(index);
  retry_until_[i].reset();
  fingerprint_ = fingerprint;
  return sequences_[i]->Submit(where, fingerprint, now);
}

RequestUsage Session::Usage() const {
  RequestUsage usage;
  for (const auto& prompt : spec_.prompts) {
    usage.prompt_tokens += static_cast<int64_t>(prompt.size());
  }
  for (const auto& s : sequences_) {
    usage.completion_tokens += s->completion_tokens();
    if (s->index() % spec_.n == 0) usage.cached_tokens += s->cached_tokens();
  }
  usage.cached_tokens = std::min(usage.cached_tokens, usage.prompt_tokens);
  return usage;
}

void Session::FinishIfDone(Actions& actions) {
  if (ended_) return;
  for (const auto& s : sequences_) {
    if (!s->finished()) return;
  }
  ended_ = true;
  actions.end = EndEvent{absl::OkStatus(), Usage(), fingerprint_};
}

void Session::FailInto(const absl::Status& why, Actions& actions) {
  SHOAL_CHECK(!why.ok());
  if (ended_) return;
  ended_ = true;
  for (const auto& s : sequences_) {
    if (s->active()) {
      actions.cancels.push_back({s->index(), s->replica()});
      s->CloseAttempt();
    }
    if (!s->finished()) s->Abandon();
  }
  actions.routes.clear();
  actions.end = EndEvent{why, Usage(), fingerprint_};
}

Actions Session::Fail(const absl::Status& why) {
  Actions actions;
  FailInto(why, actions);
  return actions;
}

Actions Session::OnDelta(int32_t index, SequenceDeltaValue delta, absl::Time now) {
  const auto i = static_cast<size_t>(index);
  SHOAL_CHECK(!ended_);
  Sequence& s = *sequences_[i];
  const bool retry = MayRetry(delta);
  const absl::Status failure = FailureOf(delta);
  Actions actions;
  const size_t replica = s.replica();
  SequenceGrowth growth = s.Grow(std::move(delta));
  actions.overrun_tokens = growth.overrun_tokens;
  if (growth.cancel_at_worker) actions.cancels.push_back({index, replica});
  if (growth.event.has_value()) actions.events.push_back(*std::move(growth.event));
  if (!s.finished() && !failure.ok()) {
    s.CloseAttempt();
    if (retry) {
      Actions more = Retry(index, failure, now);
      more.events.insert(more.events.begin(), std::make_move_iterator(actions.events.begin()),
                         std::make_move_iterator(actions.events.end()));
      more.overrun_tokens += actions.overrun_tokens;
      return more;
    }
    FailInto(failure, actions);
    return actions;
  }
  FinishIfDone(actions);
  return actions;
}

Actions Session::OnReplicaLost(int32_t index, const absl::Status& why, absl::Time now) {
  Sequence& s = *sequences_[static_cast<size_t>(index)];
  if (ended_ || s.finished() || !s.active()) return {};
  s.CloseAttempt();
  return Retry(index, why, now);
}

Actions Session::Retry(int32_t index, const absl::Status& why, absl::Time now) {
  const auto i = static_cast<size_t>(index);
  Sequence& s = *sequences_[i];
  Actions actions;
  if (std::optional<ChoiceEvent> event = s.FinishFromJournal()) {
    actions.events.push_back(*std::move(event));
    FinishIfDone(actions);
    return actions;
  }
  if (s.crashes() >= limits_.crashes_max) {
    FailInto(
        ApiError(absl::StatusCode::kInternal,
                 absl::StrCat(s.crashes(), " replicas ended while they computed this request; ",
                              "it is not tried again"),
                 "", kReplicaCrash),
        actions);
    return actions;
  }
  if (s.attempt() >= static_cast<uint32_t>(limits_.attempts_max)) {
    FailInto(absl::Status(why.code(),
                          absl::StrCat(why.message(), " (after ", s.attempt(), " attempts)")),
             actions);
    return actions;
  }
  if (!retry_until_[i].has_value()) retry_until_[i] = now + limits_.window;
  last_failure_[i] = why;
  actions.routes.push_back(index);
  actions.retries = 1;
  return actions;
}

void Session::Postpone(int32_t index, absl::Time now) {
  retry_until_[static_cast<size_t>(index)] = now + limits_.window;
}

Actions Session::OnNoReplica(int32_t index, const absl::Status& final, absl::Time now) {
  const auto i = static_cast<size_t>(index);
  Actions actions;
  if (ended_) return actions;
  const absl::Status& last = last_failure_[i];
  const bool full = last.code() == absl::StatusCode::kResourceExhausted;
  if (!full && retry_until_[i].has_value() && now < *retry_until_[i]) {
    actions.routes.push_back(index);  // ask again later
    return actions;
  }
  FailInto(last.ok() ? final : last, actions);
  return actions;
}

}  // namespace shoal::router
