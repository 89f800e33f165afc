// SPDX-License-Identifier: Apache-2.0
// ReplicaStream: one connection to a replica's leader: the long-lived bidirectional stream, its
// write queue, and the translation between wire values and proto messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "router/fleet/wire.h"

namespace shoal::router {

struct StreamOptions {
  std::string address;
  std::string cluster_token;  // empty: none sent
  uint64_t router_incarnation = 0;
  uint32_t load_interval_ms = 100;
  size_t queue_max = 0;  // outgoing messages that may wait; more breaks the stream
};

// What a stream reports, on gRPC threads. After on_message nothing more is read until ReadNext, so
// at most one message of a stream is unhandled. on_closed comes exactly once, last.
struct StreamEvents {
  std::function<void(WorkerValue)> on_message;
  std::function<void(absl::Status)> on_closed;
};

// Thread-safe. Sending never blocks.
class ReplicaStream {
 public:
  virtual ~ReplicaStream() = default;
  virtual void Submit(const SubmitValue& submit) = 0;
  virtual void Cancel(uint64_t wire_id, uint32_t attempt) = 0;
  virtual void ReadNext() = 0;
  // Ends the stream; on_closed follows.
  virtual void Close() = 0;
};

// A channel to one replica; each Open starts a new stream on it.
class ReplicaChannel {
 public:
  virtual ~ReplicaChannel() = default;
  virtual std::shared_ptr<ReplicaStream> Open(StreamEvents events) = 0;
};

std::unique_ptr<ReplicaChannel> MakeReplicaChannel(const StreamOptions& options);

}  // namespace shoal::router
