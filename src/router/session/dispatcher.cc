// SPDX-License-Identifier: Apache-2.0
#include "router/session/dispatcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"
#include "router/api_error.h"

namespace shoal::router {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(20);
// Retries are paid for by accepted requests, so that a failing fleet is not hit ever harder.
constexpr double kRetryBudgetStart = 256;
constexpr double kRetryBudgetMax = 1024;
constexpr double kRetryBudgetPerRequest = 0.2;

size_t MailboxCapacity(const DispatcherOptions& options) {
  return static_cast<size_t>(options.admitted_max) * 4 + options.fleet.replicas.size() * 4 + 1024;
}

// Against the limits of the replicas that could take it; a fleet that is not known yet passes.
absl::Status CheckFits(const RequestSpec& spec, const FleetSnapshot& fleet) {
  int64_t context = 0, pool = 0;
  for (const ReplicaView& replica : fleet.replicas) {
    if (replica.model != spec.model || replica.health != ReplicaHealth::kReady) continue;
    context = std::max<int64_t>(context, replica.max_context);
    pool = std::max<int64_t>(pool, replica.pool_tokens);
  }
  if (context == 0) return absl::OkStatus();
  const int64_t least = pool > 0 ? std::min(context, pool) : context;
  for (const auto& prompt : spec.prompts) {
    const auto length = static_cast<int64_t>(prompt.size());
    const int64_t wanted = length + std::max<int64_t>(0, spec.max_tokens);
    const int64_t minimum = length + (spec.max_tokens == 0 ? 0 : 1);
    if (minimum <= least && wanted <= context) continue;
    const int64_t limit = minimum > least ? least : context;
    return ApiError(absl::StatusCode::kInvalidArgument,
                    absl::StrCat("The context holds ", limit, " tokens, but ", wanted,
                                 " were requested: ", length, " in the prompt and ",
                                 wanted - length, " for the completion. Shorten either."),
                    minimum > least ? "prompt" : "max_tokens", kContextLengthExceeded);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dispatcher>> Dispatcher::Start(DispatcherOptions options) {
  auto policy = MakePolicy(options.policy);
  if (!policy.ok()) return policy.status();
  std::unique_ptr<Dispatcher> dispatcher(new Dispatcher(std::move(options), *std::move(policy)));
  return dispatcher;
}

Dispatcher::Dispatcher(DispatcherOptions options, std::unique_ptr<Policy> policy)
    : options_(std::move(options)),
      policy_(std::move(policy)),
      metrics_(*options_.metrics),
      mailbox_(MailboxCapacity(options_)),
      retry_budget_(kRetryBudgetStart) {
  fleet_ = std::make_unique<Fleet>(
      options_.fleet, [this](FleetEvent event) { Post(std::move(event)); }, absl::Now());
  Publish(absl::Now());
  thread_ = std::thread([this] { Run(); });
}

Dispatcher::~Dispatcher() { Stop(); }

void Dispatcher::Stop() {
  {
    MutexLock lock(&mutex_);
    if (stopped_) return;
    stopped_ = true;
  }
  Post(StopEvent{});
  thread_.join();
}

void Dispatcher::Post(Event event) {
  // The capacity counts everything that can be under way.
  const bool pushed = mailbox_.TryPush(std::move(event));
  SHOAL_CHECK(pushed);
}

void Dispatcher::Submit(DispatchRequest request) {
  accepted_.fetch_add(1);
  {
    MutexLock lock(&mutex_);
    if (!stopped_) {
      Post(std::move(request));
      return;
    }
  }
  request.sink->OnEnd({absl::UnavailableError("the router is shutting down"), {}, ""});
  ended_.fetch_add(1);
}

void Dispatcher::Cancel(uint64_t id) {
  MutexLock lock(&mutex_);
  if (!stopped_) Post(CancelEvent{id});
}

std::shared_ptr<const FleetSnapshot> Dispatcher::snapshot() const {
  MutexLock lock(&mutex_);
  return snapshot_;
}

void Dispatcher::Publish(absl::Time now) {
  auto snapshot = std::make_shared<const FleetSnapshot>(fleet_->Snapshot(now));
  if (options_.on_snapshot) options_.on_snapshot(*snapshot);
  MutexLock lock(&mutex_);
  snapshot_ = std::move(snapshot);
}

void Dispatcher::Run() {
  bool running = true;
  absl::Time next_tick = absl::InfinitePast();
  while (running || fleet_->open() > 0) {
    std::vector<Event> events = mailbox_.PopAll(kTick);
    const absl::Time now = absl::Now();
    last_turn_ns_.store(absl::ToUnixNanos(now));
    for (Event& event : events) {
      if (!Handle(std::move(event), now)) running = false;
    }
    if (now >= next_tick || !events.empty()) {
      fleet_->Tick(now);
      HandleLost(now);
    }
    if (now >= next_tick) {
      CheckTimes(now);
      next_tick = now + kTick;
    }
    StartWaiting(now);
    RouteAll(now);
    Publish(now);
    if (!running) {
      while (!active_.empty()) {
        const uint64_t id = active_.begin()->first;
        Carry(id,
              active_.begin()->second.session->Fail(
                  absl::UnavailableError("the router is shutting down")),
              now);
      }
      fleet_->Close();
    }
  }
}

bool Dispatcher::Handle(Event event, absl::Time now) {
  if (auto* request = std::get_if<DispatchRequest>(&event)) {
    OnRequest(std::move(*request), now);
  } else if (auto* cancel = std::get_if<CancelEvent>(&event)) {
    const auto it = active_.find(cancel->id);
    if (it != active_.end()) {
      Carry(cancel->id, it->second.session->Fail(absl::CancelledError("the client left")), now);
    }
  } else if (auto* fleet_event = std::get_if<FleetEvent>(&event)) {
    OnFleetEvent(std::move(*fleet_event), now);
  } else {
    return false;
  }
  return true;
}

void Dispatcher::OnRequest(DispatchRequest request, absl::Time now) {
  const uint64_t id = request.id;
  Active active;
  const size_t sequences = request.spec.sequences();
  const size_t prompts = request.spec.prompts.size();
  active.session = std::make_unique<Session>(std::move(request.spec), std::move(request.tokenizer),
                                             options_.retry);
  active.sink = std::move(request.sink);
  active.slot = std::move(request.slot);
  active.last_sent = now;
  active.wire_ids.resize(sequences, 0);
  active.last_token.resize(sequences, absl::InfinitePast());
  const bool siblings = active.session->spec().n > 1;
  for (size_t i = 0; i < prompts; ++i) active.group_keys.push_back(siblings ? NewId() : 0);
  retry_budget_ = std::min(retry_budget_ + kRetryBudgetPerRequest, kRetryBudgetMax);
  metrics_.OnAccepted(active.session->spec());
  const auto [it, inserted] = active_.emplace(id, std::move(active));
  SHOAL_CHECK(inserted);
  const absl::Status fits = CheckFits(it->second.session->spec(), fleet_->Snapshot(now));
  if (!fits.ok()) {
    Carry(id, it->second.session->Fail(fits), now);
    return;
  }
  waiting_.push_back(id);
}

void Dispatcher::StartWaiting(absl::Time now) {
  while (started_ < options_.inflight_max && !waiting_.empty()) {
    const uint64_t id = waiting_.front();
    waiting_.pop_front();
    const auto it = active_.find(id);
    if (it == active_.end()) continue;  // ended while it waited
    it->second.started = true;
    ++started_;
    metrics_.OnStarted(now - it->second.session->spec().arrival);
    Carry(id, it->second.session->Start(), now);
  }
}

void Dispatcher::RouteAll(absl::Time now) {
  std::deque<Unrouted> items;
  items.swap(unrouted_);
  for (const Unrouted& item : items) Route(item, now);
}

void Dispatcher::Route(Unrouted item, absl::Time now) {
  const auto it = active_.find(item.id);
  if (it == active_.end()) return;
  Active& active = it->second;
  Session& session = *active.session;
  RouteRequest request = session.RouteFor(item.sequence);
  if (WaitsForProbation(session, item.sequence, now, &request)) {
    session.Postpone(item.sequence, now);
    unrouted_.push_back(item);
    return;
  }
  const std::optional<size_t> replica = Decide(session, std::move(request), item.sequence, now);
  if (replica.has_value()) {
    SendTo(*replica, item.id, active, item.sequence, now);
    return;
  }
  const absl::Status none =
      ApiError(absl::StatusCode::kUnavailable,
               absl::StrCat("no replica of model \"", session.spec().model, "\" is ready"), "",
               "no_replica");
  Carry(item.id, session.OnNoReplica(item.sequence, none, now), now);
}

// Suspects go where no other suspect is on probation, so that a replica that ends tells which of
// them it was. True when such a place is only a matter of time.
bool Dispatcher::WaitsForProbation(const Session& session, int32_t sequence, absl::Time now,
                                   RouteRequest* request) const {
  if (!session.sequence(sequence).suspect()) return false;
  const FleetSnapshot fleet = fleet_->Snapshot(now);
  const std::vector<size_t> candidates = Candidates(fleet, *request);
  for (const auto& [wire_id, ref] : wires_) {
    if (!OnProbation(ref)) continue;
    const size_t replica = active_.at(ref.id).session->sequence(ref.sequence).replica();
    request->excluded.push_back({replica, fleet.replicas[replica].generation});
  }
  // Rather wait than continue elsewhere under another numerics profile.
  const std::vector<Exclusion>& excluded = request->excluded;
  return !candidates.empty() &&
         std::all_of(candidates.begin(), candidates.end(), [&](size_t replica) {
           const Exclusion busy{replica, fleet.replicas[replica].generation};
           return std::find(excluded.begin(), excluded.end(), busy) != excluded.end();
         });
}

std::optional<size_t> Dispatcher::Decide(const Session& session, RouteRequest request,
                                         int32_t sequence, absl::Time now) {
  Decision decision;
  decision.policy = policy_->name();
  decision.fleet = fleet_->Snapshot(now);
  decision.request = std::move(request);
  decision.request.ordinal = decision_count_;
  // Siblings share the prompt's blocks, so they follow the first one.
  if (const std::optional<size_t> sibling = session.SiblingReplica(sequence)) {
    const std::vector<size_t> candidates = Candidates(decision.fleet, decision.request);
    if (std::find(candidates.begin(), candidates.end(), *sibling) != candidates.end()) {
      return sibling;
    }
  }
  decision.route = ChooseReplica(*policy_, decision.fleet, decision.request);
  if (!decision.route.has_value()) return std::nullopt;
  ++decision_count_;
  decision.inputs_digest = InputsDigest(decision.fleet, decision.request);
  const Decision& kept = decisions_.Add(std::move(decision));
  log::Debug("{}", Describe(kept));
  return kept.route->replica;
}

void Dispatcher::SendTo(size_t replica, uint64_t id, Active& active, int32_t sequence,
                        absl::Time now) {
  const FleetSnapshot fleet = fleet_->Snapshot(now);
  const ReplicaView& view = fleet.replicas[replica];
  Session& session = *active.session;
  const std::string before = session.sequence(sequence).emitted_fingerprint();
  if (!before.empty() && before != view.fingerprint) {
    log::Warning("request {} continues on {} under another numerics profile ({} was {})",
                 session.spec().label, view.name, view.fingerprint, before);
  }
  SubmitValue submit =
      session.Submit(sequence, Exclusion{replica, view.generation}, view.fingerprint, now);
  submit.wire_id = next_wire_id_++;
  submit.group_key = active.group_keys[static_cast<size_t>(session.sequence(sequence).prompt())];
  active.wire_ids[static_cast<size_t>(sequence)] = submit.wire_id;
  wires_[submit.wire_id] = {id, sequence};
  metrics_.OnRouted(view.name);
  fleet_->Submit(replica, submit);
}

void Dispatcher::ForgetWire(Active& active, int32_t sequence, size_t replica, bool tell_worker) {
  uint64_t& wire_id = active.wire_ids[static_cast<size_t>(sequence)];
  if (wire_id == 0) return;
  wires_.erase(wire_id);
  fleet_->End(replica, wire_id, active.session->sequence(sequence).attempt(), tell_worker);
  wire_id = 0;
}

}  // namespace shoal::router
