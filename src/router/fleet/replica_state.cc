// SPDX-License-Identifier: Apache-2.0
#include "router/fleet/replica_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shoal::router {

ReplicaState::ReplicaState(std::string name, std::string model, std::string address,
                           HealthLimits limits, absl::Time now)
    : name_(std::move(name)),
      model_(std::move(model)),
      address_(std::move(address)),
      limits_(limits),
      started_at_(now),
      heard_at_(now),
      open_at_(now),
      backoff_(limits.backoff_first) {}

uint64_t ReplicaState::OnOpen(absl::Time now) {
  SHOAL_CHECK(!connected_);
  connected_ = true;
  heard_at_ = now;
  return ++generation_;
}

absl::Status ReplicaState::OnWelcome(const WelcomeValue& welcome,
                                     const ReplicaExpectation& expected, absl::Time now) {
  heard_at_ = now;
  refusal_.clear();
  // A newer peer keeps the meaning of what this version knows.
  if (welcome.protocol < kProtocolVersionMin || welcome.protocol > kProtocolVersion + 1) {
    refusal_ =
        absl::StrCat("speaks protocol ", welcome.protocol, ", this router ", kProtocolVersion);
  } else if (welcome.model != expected.model) {
    refusal_ = absl::StrCat("serves model \"", welcome.model, "\", not \"", expected.model, "\"");
  } else if (welcome.vocab_size < expected.vocab_size) {
    refusal_ = absl::StrCat("has a vocabulary of ", welcome.vocab_size, ", the tokenizer of ",
                            expected.vocab_size);
  } else if (!expected.weights_digest.empty() &&
             welcome.weights_digest != expected.weights_digest) {
    refusal_ = absl::StrCat("has weights ", welcome.weights_digest, ", its peers ",
                            expected.weights_digest);
  }
  if (!refusal_.empty()) {
    backoff_ = limits_.backoff_max;
    return absl::FailedPreconditionError(absl::StrCat("replica ", name_, " ", refusal_));
  }
  weights_digest_ = welcome.weights_digest;
  welcome_ = welcome;
  load_ = LoadValue{};
  ever_welcomed_ = true;
  backoff_ = limits_.backoff_first;
  return absl::OkStatus();
}

absl::Status ReplicaState::OnLoad(const LoadValue& load, absl::Time now) {
  heard_at_ = now;
  if (!welcome_.has_value() || load.incarnation != welcome_->incarnation) {
    return absl::FailedPreconditionError(
        absl::StrCat("replica ", name_, " reports load of incarnation ", load.incarnation,
                     ", welcomed was ", welcome_.has_value() ? welcome_->incarnation : 0));
  }
  load_ = load;
  ++reports_;
  // A report may have left before a submission arrived, so credit lasts until the second one.
  while (!credits_.empty() && credits_.front().reports + 2 <= reports_) {
    credit_tokens_ -= credits_.front().tokens;
    credits_.pop_front();
  }
  return absl::OkStatus();
}

void ReplicaState::OnClosed(absl::Time now, double jitter) {
  connected_ = false;
  welcome_.reset();
  load_ = LoadValue{};
  credits_.clear();
  credit_tokens_ = 0;
  open_at_ = now + backoff_ * (0.75 + 0.5 * jitter);
  backoff_ = std::min(backoff_ * 2, limits_.backoff_max);
}

ReplicaHealth ReplicaState::Health(absl::Time now) const {
  if (!welcome_.has_value()) {
    const bool young = !ever_welcomed_ && refusal_.empty() && now - started_at_ < limits_.start;
    return young ? ReplicaHealth::kStarting : ReplicaHealth::kDown;
  }
  if (!load_.failure.empty()) return ReplicaHealth::kDown;
  if (absl::Milliseconds(load_.stalled_ms) > limits_.step) return ReplicaHealth::kStalled;
  if (now - heard_at_ > limits_.silence) return ReplicaHealth::kStalled;
  return load_.draining ? ReplicaHealth::kDraining : ReplicaHealth::kReady;
}

bool ReplicaState::ShouldGiveUp(absl::Time now) const {
  return connected_ && now - heard_at_ > 3 * limits_.silence;
}

void ReplicaState::OnSubmitted(int64_t tokens) {
  ++inflight_;
  credits_.push_back({tokens, reports_});
  credit_tokens_ += tokens;
}

void ReplicaState::OnEnded() {
  SHOAL_CHECK(inflight_ > 0);
  --inflight_;
}

ReplicaView ReplicaState::View(absl::Time now) const {
  ReplicaView view;
  view.name = name_;
  view.model = model_;
  view.address = address_;
  view.health = Health(now);
  view.refusal = load_.failure.empty() ? refusal_ : load_.failure;
  view.generation = generation_ + stalls_;
  if (welcome_.has_value()) {
    view.incarnation = welcome_->incarnation;
    view.fingerprint = welcome_->fingerprint;
    view.max_context = welcome_->max_context;
    view.pool_tokens = welcome_->pool_tokens;
  }
  view.steps = load_.steps;
  view.running = load_.running;
  view.waiting = load_.waiting;
  view.queued_tokens = load_.queued_tokens;
  view.running_tokens = load_.running_tokens;
  view.blocks_total = load_.blocks_total;
  view.blocks_free = load_.blocks_free;
  view.preemptions = load_.preemptions;
  view.prefix_query_tokens = load_.prefix_query_tokens;
  view.prefix_hit_tokens = load_.prefix_hit_tokens;
  view.tokens_per_second = load_.tokens_per_second;
  view.credit_tokens = credit_tokens_;
  view.inflight = inflight_;
  return view;
}

}  // namespace shoal::router
