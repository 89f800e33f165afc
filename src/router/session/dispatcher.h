// SPDX-License-Identifier: Apache-2.0
// Dispatcher: the one thread that owns sessions and fleet. It admits requests, gives their
// sequences to replicas by the policy, and carries deltas to the clients' sinks.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mailbox.h"
#include "base/mutex.h"
#include "router/fleet/fleet.h"
#include "router/metrics.h"
#include "router/policy/decision_log.h"
#include "router/policy/policy.h"
#include "router/session/admission.h"
#include "router/session/request_spec.h"
#include "router/session/session.h"

namespace shoal::router {

struct DispatcherOptions {
  FleetOptions fleet;
  std::string policy;
  int32_t inflight_max = 0;  // requests with a replica; further admitted ones wait
  int32_t admitted_max = 0;  // for the mailbox's size; see Admission
  RetryLimits retry;
  absl::Duration keep_alive = absl::Seconds(10);  // sinks silent for this long get OnWait
  RouterMetrics* metrics = nullptr;               // outlives this
  // Called on the dispatcher's thread with every new snapshot; must not block.
  std::function<void(const FleetSnapshot&)> on_snapshot;
};

struct DispatchRequest {
  uint64_t id = 0;  // from NewId
  RequestSpec spec;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<ClientSink> sink;
  AdmissionSlot slot;  // held until the end
};

// Thread-safe. Destruction ends what is left with UNAVAILABLE.
class Dispatcher {
 public:
  static absl::StatusOr<std::unique_ptr<Dispatcher>> Start(DispatcherOptions options);
  ~Dispatcher();

  uint64_t NewId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  // Accepts the request: its sink will get exactly one OnEnd.
  void Submit(DispatchRequest request);
  // Ends a request with CANCELLED; ignored for one that is unknown or has ended.
  void Cancel(uint64_t id);
  // Stops all requests with UNAVAILABLE, then the thread. Idempotent.
  void Stop();

  std::shared_ptr<const FleetSnapshot> snapshot() const;
  int64_t accepted() const { return accepted_.load(); }
  int64_t ended() const { return ended_.load(); }
  // When its thread last turned; it does so every 20 ms at least.
  int64_t last_turn_ns() const { return last_turn_ns_.load(); }

 private:
  struct CancelEvent {
    uint64_t id = 0;
  };
  struct StopEvent {};
  using Event = std::variant<DispatchRequest, CancelEvent, FleetEvent, StopEvent>;
  struct Active {
    std::unique_ptr<Session> session;
    std::shared_ptr<ClientSink> sink;
    AdmissionSlot slot;
    bool started = false;
    absl::Time last_sent;
    std::vector<uint64_t> wire_ids;      // per sequence, of the last attempt; 0: none
    std::vector<uint64_t> group_keys;    // per prompt
    std::vector<absl::Time> last_token;  // per sequence; InfinitePast before the first
  };
  struct WireRef {
    uint64_t id = 0;
    int32_t sequence = 0;
  };
  struct Unrouted {
    uint64_t id = 0;
    int32_t sequence = 0;
  };

  Dispatcher(DispatcherOptions options, std::unique_ptr<Policy> policy);
  void Run();
  void Post(Event event);
  bool Handle(Event event, absl::Time now);  // false: stop
  void OnRequest(DispatchRequest request, absl::Time now);
  void OnFleetEvent(FleetEvent event, absl::Time now);
  void OnDelta(size_t replica, SequenceDeltaValue delta, absl::Time now);
  void HandleLost(absl::Time now);
  std::vector<WireRef> SequencesAt(size_t replica) const;
  std::vector<WireRef> Suspected(size_t replica) const;
  void BlameFor(size_t replica, const DeltasValue& deltas);
  bool OnProbation(const WireRef& ref) const;
  void CheckTimes(absl::Time now);
  void StartWaiting(absl::Time now);
  void StartSession(uint64_t id, Active& active, absl::Time now);
  void RouteAll(absl::Time now);
  void Route(Unrouted item, absl::Time now);
  void SendTo(size_t replica, uint64_t id, Active& active, int32_t sequence, absl::Time now);
  std::optional<size_t> Decide(const Session& session, RouteRequest request, int32_t sequence,
                               absl::Time now);
  bool WaitsForProbation(const Session& session, int32_t sequence, absl::Time now,
                         RouteRequest* request) const;
  void Carry(uint64_t id, Actions actions, absl::Time now);
  void ForgetWire(Active& active, int32_t sequence, size_t replica, bool tell_worker);
  void Publish(absl::Time now);

  const DispatcherOptions options_;
  const std::unique_ptr<Policy> policy_;
  RouterMetrics& metrics_;
  Mailbox<Event> mailbox_;
  std::atomic<uint64_t> next_id_{1};
  std::atomic<int64_t> accepted_{0};
  std::atomic<int64_t> ended_{0};
  std::atomic<int64_t> last_turn_ns_{0};

  mutable Mutex mutex_;
  std::shared_ptr<const FleetSnapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;

  // The dispatcher thread's own.
  std::unique_ptr<Fleet> fleet_;
  std::map<uint64_t, Active> active_;
  std::map<uint64_t, WireRef> wires_;
  std::deque<uint64_t> waiting_;   // admitted, not started: inflight_max is reached
  std::deque<Unrouted> unrouted_;  // sequences that need a replica
  DecisionLog decisions_{256};
  uint64_t decision_count_ = 0;
  uint64_t next_wire_id_ = 1;
  int32_t started_ = 0;
  double retry_budget_ = 0;
  std::thread thread_;
};

}  // namespace shoal::router
