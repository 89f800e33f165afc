// SPDX-License-Identifier: Apache-2.0
// The router <-> replica messages as plain values; proto types stay in fleet/replica_stream.cc.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/types/request.h"
#include "scheduler/types/step_result.h"

namespace shoal::router {

inline constexpr uint32_t kProtocolVersion = 2;
inline constexpr uint32_t kProtocolVersionMin = 2;  // the oldest that is still understood

struct SubmitValue {
  uint64_t wire_id = 0;
  uint32_t attempt = 0;
  std::vector<int32_t> tokens;  // prompt, then what earlier attempts emitted
  int32_t prompt_tokens = 0;
  scheduler::SamplingParams sampling;
  int32_t max_tokens = -1;
  std::vector<int32_t> stop_token_ids;
  int32_t priority = 0;
  int64_t deadline_ms = 0;  // 0: none
  uint64_t group_key = 0;
  std::string cache_namespace;
};

struct WelcomeValue {
  uint32_t protocol = 0;
  uint64_t incarnation = 0;
  std::string model;
  std::string weights_digest;
  std::string fingerprint;
  int32_t max_context = 0;
  int32_t vocab_size = 0;
  int64_t pool_tokens = 0;
};

struct LoadValue {
  uint64_t incarnation = 0;
  int64_t steps = 0;
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t queued_tokens = 0;
  int64_t running_tokens = 0;
  int64_t blocks_total = 0;
  int64_t blocks_free = 0;
  int64_t stalled_ms = 0;
  double tokens_per_second = 0;
  bool draining = false;
  int64_t preemptions = 0;
  int64_t prefix_query_tokens = 0;
  int64_t prefix_hit_tokens = 0;
  std::string failure;  // why it cannot serve any more; empty while it can
};

enum class WireFinish : uint8_t { kNone, kStop, kLength, kCancelled, kDeadline, kError };

struct SequenceDeltaValue {
  uint64_t wire_id = 0;
  uint32_t attempt = 0;
  std::vector<scheduler::TokenOutput> tokens;
  std::vector<scheduler::TokenOutput> prompt;
  WireFinish finish = WireFinish::kNone;
  absl::Status error;     // with kError
  bool rejected = false;  // nothing ran
  int32_t cached_tokens = 0;
};

using DeltasValue = std::vector<SequenceDeltaValue>;
using WorkerValue = std::variant<std::monostate, WelcomeValue, LoadValue, DeltasValue>;

}  // namespace shoal::router
