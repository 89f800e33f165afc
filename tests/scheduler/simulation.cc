// SPDX-License-Identifier: Apache-2.0
#include "scheduler/simulation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace shoal::scheduler {
namespace {

absl::Status Wrong(SequenceId id, absl::string_view what) {
  return absl::InternalError(absl::StrCat("request ", id.value(), ": ", what));
}

int64_t ContextLimit(const SchedulerOptions& options) {
  int64_t limit = options.max_context;
  for (const KvGroupSpec& group : options.groups)
    if (group.window == 0) limit = std::min(limit, group.blocks * options.block_tokens);
  return limit;
}

}  // namespace

SoloRun RunAlone(const Request& request, const SchedulerOptions& options) {
  SoloRun run;
  const int64_t limit = std::min<int64_t>(ContextLimit(options),
                                          int64_t{request.prompt_tokens} + request.stop.max_tokens);
  uint64_t prefix = PrefixOfNothing(request.cache_namespace);
  for (TokenId token : request.tokens) prefix = ExtendPrefix(prefix, token);
  auto known = static_cast<int64_t>(request.tokens.size());
  const auto& stops = request.stop.stop_token_ids;
  while (known < limit) {
    const TokenId token = SampleAfter(prefix, request.sampling);
    prefix = ExtendPrefix(prefix, token);
    run.tokens.push_back(token);
    ++known;
    if (std::ranges::find(stops, token) == stops.end()) continue;
    run.finish = FinishReason::kStop;
    return run;
  }
  return run;
}

Simulation::Simulation(uint64_t seed) : random_(seed) {
  DrawOptions();
  auto created = CreateScheduler(options_);
  SHOAL_CHECK(created.ok());
  scheduler_ = *std::move(created);
  executor_ = std::make_unique<ShadowExecutor>(options_);
  for (int i = 0; i < 3; ++i) {
    stems_.emplace_back();
    for (int64_t n = Draw(1, 60); n > 0; --n)
      stems_.back().push_back(static_cast<TokenId>(Draw(0, 39)));
  }
}

int64_t Simulation::Draw(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

void Simulation::DrawOptions() {
  options_.block_tokens = static_cast<int32_t>(Draw(1, 8));
  options_.max_context = static_cast<int32_t>(Draw(20, 160));
  options_.max_batch_tokens = static_cast<int32_t>(Chance(20) ? Draw(1, 6) : Draw(8, 96));
  options_.max_sequences = static_cast<int32_t>(Draw(1, 12));
  options_.max_waiting = static_cast<int32_t>(Draw(2, 40));
  if (options_.max_waiting % 2 == 0) {
    options_.max_logits_rows =
        std::min(options_.max_sequences, options_.max_batch_tokens) + options_.max_waiting % 20;
  }
  options_.plans_in_flight = static_cast<int32_t>(Draw(1, 3));
  options_.prefix_cache = Chance(80);
  options_.priority_step = absl::Seconds(Draw(1, 10));
  const int64_t context_blocks = options_.max_context / options_.block_tokens + 1;
  for (int64_t groups = Draw(1, 3); groups > 0; --groups) {
    KvGroupSpec group;
    group.window = Chance(60) ? 0 : static_cast<int32_t>(Draw(1, 40));
    const int64_t least =
        group.window == 0 ? 2
                          : (group.window - 2 + options_.block_tokens) / options_.block_tokens + 1;
    group.blocks =
        Chance(50) ? Draw(least, least + context_blocks) : Draw(least, 8 * context_blocks);
    options_.groups.push_back(group);
  }
}

Request Simulation::DrawRequest() {
  Request request;
  request.id = SequenceId(next_id_++);
  const auto& stem = stems_[static_cast<size_t>(Draw(0, 2))];
  request.tokens.assign(stem.begin(), stem.begin() + Draw(1, static_cast<int64_t>(stem.size())));
  for (int64_t n = Chance(50) ? 0 : Draw(1, 30); n > 0; --n)
    request.tokens.push_back(static_cast<TokenId>(Draw(0, 39)));
  const auto tokens = static_cast<int64_t>(request.tokens.size());
  // Now and then one that was moved here from another replica.
  request.prompt_tokens = static_cast<int32_t>(Chance(85) ? tokens : Draw(1, tokens));
  request.sampling.seed = static_cast<uint64_t>(Draw(0, 5));
  if (Chance(15)) request.sampling.prompt_logprobs = static_cast<int32_t>(Draw(0, 3));
  request.stop.max_tokens = static_cast<int32_t>(Chance(10) ? 0 : Draw(1, 60));
  if (Chance(50)) request.stop.stop_token_ids = {static_cast<TokenId>(Draw(0, 39))};
  request.priority = static_cast<int32_t>(Chance(70) ? 0 : Draw(-2, 3));
  request.arrival = now_;
  if (Chance(10)) request.deadline = now_ + absl::Milliseconds(Draw(0, 3000));
  request.cache_namespace = Chance(80) ? "" : "tenant";
  return request;
}

absl::Status Simulation::SubmitSome() {
  Request first = DrawRequest();
  const int64_t copies = Chance(25) ? Draw(2, 4) : 1;
  if (copies > 1) first.group_key = first.id.value();
  for (int64_t copy = 0; copy < copies; ++copy) {
    Request request = first;
    if (copy > 0) request.id = SequenceId(next_id_++);
    request.sampling.choice = static_cast<uint32_t>(copy);
    const int64_t needed = request.prompt_tokens + (request.stop.max_tokens > 0 ? 1 : 0);
    const bool fits = std::max<int64_t>(needed, static_cast<int64_t>(request.tokens.size())) <=
                      ContextLimit(options_);
    executor_->Announce(request.id, request.cache_namespace);
    const absl::Status status = scheduler_->Submit(request, now_);
    if (absl::IsInvalidArgument(status) != !fits) return Wrong(request.id, status.ToString());
    if (!status.ok()) {
      ++refused_;
      if (fits && !absl::IsResourceExhausted(status)) return Wrong(request.id, status.ToString());
      if (fits && scheduler_->stats().waiting < options_.max_waiting)
        return Wrong(request.id, "was refused although the queue has room");
      continue;
    }
    clients_[request.id].request = std::move(request);
  }
  return absl::OkStatus();
}

absl::Status Simulation::PlanOne() {
  StepPlan plan = scheduler_->Plan(now_);
  if (plan.empty()) {
    if (static_cast<int32_t>(results_.size()) >= options_.plans_in_flight) return absl::OkStatus();
    SHOAL_RETURN_IF_ERROR(Receive(scheduler_->TakePending()));
    if (results_.empty() && !scheduler_->idle())
      return absl::InternalError("nothing is planned although nothing is in flight");
    return absl::OkStatus();
  }
  if (static_cast<int32_t>(results_.size()) >= options_.plans_in_flight)
    return absl::InternalError("more plans in flight than allowed");
  digests_.push_back(plan.digest);
  for (const SubPlan& sub_plan : plan.sub_plans)
    for (const Slice& slice : sub_plan.slices) references_ += slice.input.has_value() ? 1 : 0;
  auto result = executor_->Execute(plan, applied_);
  if (!result.ok()) return Annotate(result.status(), absl::StrCat("step ", plan.step.value()));
  results_.push_back(*std::move(result));
  return absl::OkStatus();
}

absl::Status Simulation::ApplyOne() {
  if (results_.empty()) return absl::OkStatus();
  const StepResult result = std::move(results_.front());
  results_.pop_front();
  applied_ = result.step;
  return Receive(scheduler_->Apply(result, now_));
}

absl::Status Simulation::Receive(const Applied& applied) {
  for (const Delta& delta : applied.deltas) SHOAL_RETURN_IF_ERROR(ReceiveDelta(delta));
  for (uint64_t hash : applied.events.removed)
    if (cached_.erase(hash) != 1)
      return absl::InternalError(absl::StrCat("hash ", hash, " is removed but was not stored"));
  for (uint64_t hash : applied.events.stored)
    if (!cached_.insert(hash).second)
      return absl::InternalError(absl::StrCat("hash ", hash, " is stored twice"));
  return absl::OkStatus();
}

absl::Status Simulation::ReceiveDelta(const Delta& delta) {
  const auto found = clients_.find(delta.sequence);
  if (found == clients_.end()) return Wrong(delta.sequence, "was never accepted");
  Client& client = found->second;
  const Request& request = client.request;
  if (client.ended) return Wrong(delta.sequence, "gets something after its end");
  if (delta.prompt_tokens != request.prompt_tokens) return Wrong(delta.sequence, "prompt_tokens");
  if (delta.cached_tokens >= static_cast<int32_t>(request.tokens.size()))
    return Wrong(delta.sequence, "says that all of it was cached");
  for (const TokenOutput& output : delta.tokens) client.tokens.push_back(output.token);
  if (!delta.prompt.empty() && request.sampling.prompt_logprobs < 0)
    return Wrong(delta.sequence, "gets prompt logprobs it did not ask for");
  for (const TokenOutput& output : delta.prompt) {
    if (client.scored >= request.prompt_tokens) return Wrong(delta.sequence, "repeated logprobs");
    uint64_t prefix = PrefixOfNothing(request.cache_namespace);
    for (int32_t p = 0; p < client.scored; ++p) prefix = ExtendPrefix(prefix, request.tokens[p]);
    const TokenId token = request.tokens[client.scored++];
    if (output.token != token || output.logprob != LogprobAfter(prefix, token))
      return Wrong(delta.sequence, "a prompt logprob of another place");
  }
  if (!delta.finish.has_value()) return absl::OkStatus();
  return Finish(client, delta);
}

absl::Status Simulation::Finish(Client& client, const Delta& delta) {
  client.ended = true;
  ++finishes_[*delta.finish];
  const Request& request = client.request;
  const auto& stops = request.stop.stop_token_ids;
  SoloRun alone = RunAlone(request, options_);
  const bool moved = static_cast<int32_t>(request.tokens.size()) > request.prompt_tokens;
  const bool stopped_before =
      moved && std::ranges::find(stops, request.tokens.back()) != stops.end();
  if (stopped_before) alone = {.tokens = {}, .finish = FinishReason::kStop};
  const bool complete =
      *delta.finish == FinishReason::kStop || *delta.finish == FinishReason::kLength;
  if (complete && (client.tokens != alone.tokens || *delta.finish != alone.finish))
    return Wrong(delta.sequence, absl::StrCat("ends with ", Name(*delta.finish), " after ",
                                              client.tokens.size(), " tokens, alone with ",
                                              Name(alone.finish), " after ", alone.tokens.size()));
  const bool prefix = client.tokens.size() <= alone.tokens.size() &&
                      std::equal(client.tokens.begin(), client.tokens.end(), alone.tokens.begin());
  if (!prefix) return Wrong(delta.sequence, "has other tokens than alone");
  const bool computed = !moved || !alone.tokens.empty();
  if (complete && computed && request.sampling.prompt_logprobs >= 0 &&
      client.scored != request.prompt_tokens)
    return Wrong(delta.sequence, "lacks prompt logprobs");
  return absl::OkStatus();
}

absl::Status Simulation::RandomStep() {
  now_ += absl::Milliseconds(Draw(0, 50));
  if (Chance(30)) SHOAL_RETURN_IF_ERROR(SubmitSome());
  if (Chance(3)) {
    scheduler_->Cancel(SequenceId(static_cast<uint64_t>(Draw(0, static_cast<int64_t>(next_id_)))));
    if (Chance(50)) SHOAL_RETURN_IF_ERROR(Receive(scheduler_->TakePending()));
  }
  SHOAL_RETURN_IF_ERROR(scheduler_->CheckInvariants());
  SHOAL_RETURN_IF_ERROR(Chance(60) ? PlanOne() : ApplyOne());
  return scheduler_->CheckInvariants();
}

absl::Status Simulation::Run(int steps) {
  for (int step = 0; step < steps; ++step)
    SHOAL_RETURN_IF_ERROR(Annotate(RandomStep(), absl::StrCat("random step ", step)));
  return Drain();
}

absl::Status Simulation::Drain() {
  // Each pass advances somebody by a token; recomputing after preemption is what the factor is for.
  int64_t passes = 1000;
  for (const auto& [id, client] : clients_)
    if (!client.ended) passes += 10 * (static_cast<int64_t>(client.request.tokens.size()) + 60);
  while (!scheduler_->idle()) {
    if (--passes < 0) return absl::InternalError("it does not come to an end");
    SHOAL_RETURN_IF_ERROR(PlanOne());
    SHOAL_RETURN_IF_ERROR(ApplyOne());
    SHOAL_RETURN_IF_ERROR(scheduler_->CheckInvariants());
    now_ += absl::Milliseconds(10);
  }
  SHOAL_RETURN_IF_ERROR(Receive(scheduler_->TakePending()));
  for (const auto& [id, client] : clients_)
    if (!client.ended) return Wrong(id, "never ended");
  const SchedulerStats stats = scheduler_->stats();
  if (stats.blocks_free != stats.blocks_total) return absl::InternalError("blocks are not free");
  if (stats.running + stats.waiting + stats.queued_tokens != 0)
    return absl::InternalError("counts are left over");
  if (executor_->live() != 0) return absl::InternalError("the executor still holds sequences");
  return absl::OkStatus();
}

}  // namespace shoal::scheduler
