// SPDX-License-Identifier: Apache-2.0
// What a worker tells routers about itself, and the bounds of its front end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace shoal::worker {

// Versions of worker.proto that this build speaks: its own and the one before.
inline constexpr uint32_t kProtocolVersion = 2;
inline constexpr uint32_t kProtocolVersionMin = 2;

// One limit for messages of both directions: about 1.5 million token ids fit several times.
inline constexpr int kMessageBytesMax = 64 << 20;

// Constant for the life of a worker.
struct WorkerIdentity {
  uint64_t incarnation = 0;  // random at each start
  std::string model;
  std::string weights_digest;
  std::string system_fingerprint;
  int32_t max_context = 0;
  int32_t vocab_size = 0;
  int32_t block_tokens = 0;
  int64_t pool_tokens = 0;
  int32_t max_sequences = 0;
};

struct FrontendLimits {
  size_t streams_max = 64;             // router streams at once
  size_t unsent_bytes_max = 32 << 20;  // of one stream, before it is cancelled
  size_t unsent_messages_max = 4096;
  absl::Duration hello_deadline = absl::Seconds(10);  // a stream that has not said Hello is ended
  absl::Duration load_interval = absl::Milliseconds(100);     // when Hello names none
  absl::Duration load_interval_min = absl::Milliseconds(10);  // shorter ones are raised to it
  absl::Duration load_interval_max = absl::Seconds(10);
  absl::Duration stalled_after = absl::Seconds(60);      // `deadlines.step`: unhealthy from then on
  absl::Duration request_deadline = absl::Seconds(600);  // of a sequence that brings none
};

}  // namespace shoal::worker
