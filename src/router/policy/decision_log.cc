// SPDX-License-Identifier: Apache-2.0
#include "router/policy/decision_log.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shoal::router {
namespace {

// FNV-1a, fed field by field.
class Digest {
 public:
  void Add(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) AddByte(static_cast<uint8_t>(value >> shift));
  }
  void Add(const std::string& text) {
    Add(static_cast<uint64_t>(text.size()));
    for (const char c : text) AddByte(static_cast<uint8_t>(c));
  }
  void Add(double value) { Add(std::bit_cast<uint64_t>(value)); }
  void Add(int64_t value) { Add(static_cast<uint64_t>(value)); }
  uint64_t value() const { return hash_; }

 private:
  void AddByte(uint8_t byte) { hash_ = (hash_ ^ byte) * uint64_t{0x100000001b3}; }
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

uint64_t InputsDigest(const FleetSnapshot& fleet, const RouteRequest& request) {
  Digest digest;
  for (const ReplicaView& r : fleet.replicas) {
    digest.Add(r.name);
    digest.Add(r.model);
    digest.Add(r.fingerprint);
    digest.Add(static_cast<uint64_t>(r.health));
    digest.Add(r.generation);
    digest.Add(r.incarnation);
    for (const int64_t value : {r.running, r.waiting, r.queued_tokens, r.running_tokens,
                                r.blocks_total, r.blocks_free, r.credit_tokens, r.inflight}) {
      digest.Add(value);
    }
    digest.Add(r.tokens_per_second);
  }
  digest.Add(request.ordinal);
  digest.Add(request.model);
  digest.Add(request.tokens);
  digest.Add(request.fingerprint);
  digest.Add(static_cast<uint64_t>(request.require_fingerprint));
  for (const Exclusion& excluded : request.excluded) {
    digest.Add(static_cast<uint64_t>(excluded.replica));
    digest.Add(excluded.generation);
  }
  return digest.value();
}

std::string Describe(const Decision& decision) {
  std::string line =
      absl::StrCat("route #", decision.request.ordinal, " ", decision.policy, " -> ");
  if (!decision.route.has_value()) {
    absl::StrAppend(&line, "none");
  } else {
    absl::StrAppend(&line, decision.fleet.replicas[decision.route->replica].name, " (");
    const char* separator = "";
    for (const CandidateScore& score : decision.route->reasons) {
      absl::StrAppend(&line, separator, decision.fleet.replicas[score.replica].name, " ",
                      absl::StrFormat("%.6g", score.score));
      separator = ", ";
    }
    absl::StrAppend(&line, ")");
  }
  return absl::StrCat(line, absl::StrFormat(" inputs %016x", decision.inputs_digest));
}

bool Replays(const Policy& policy, const Decision& decision) {
  if (InputsDigest(decision.fleet, decision.request) != decision.inputs_digest) return false;
  const std::optional<Route> again = ChooseReplica(policy, decision.fleet, decision.request);
  if (again.has_value() != decision.route.has_value()) return false;
  return !again.has_value() || again->replica == decision.route->replica;
}

const Decision& DecisionLog::Add(Decision decision) {
  if (decisions_.size() >= capacity_) decisions_.pop_front();
  decisions_.push_back(std::move(decision));
  return decisions_.back();
}

}  // namespace shoal::router
