// SPDX-License-Identifier: Apache-2.0
// StreamClient: a router's end of a worker's Serve stream, for tests. Blocking, one thread.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shoal/v1/worker.grpc.pb.h"
#include "worker/frontend/cluster_token.h"
#include "worker/frontend/limits.h"

namespace shoal::worker {

// What a router sees of one sequence.
struct Seen {
  std::vector<int32_t> tokens;
  std::vector<v1::TokenOutput> outputs;
  int finishes = 0;
  v1::SequenceDelta last;
};

// A router's end of a stream; blocking.
class StreamClient {
 public:
  explicit StreamClient(const std::string& address, const std::string& token = "") {
    // One connection each, whose window does not grow beyond what is read.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    stub_ = v1::Worker::NewStub(channel_);
    if (!token.empty()) call_.AddMetadata(kClusterTokenKey, token);
    call_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream_ = stub_->Serve(&call_);
  }

  void Hello(uint32_t protocol = kProtocolVersion, uint32_t load_interval_ms = 10'000) {
    v1::RouterMessage message;
    message.mutable_hello()->set_protocol(protocol);
    message.mutable_hello()->set_router_incarnation(42);
    message.mutable_hello()->set_load_interval_ms(load_interval_ms);
    stream_->Write(message);
  }

  bool Write(const v1::RouterMessage& message) { return stream_->Write(message); }

  void Submit(const v1::Submit& submit) {
    v1::RouterMessage message;
    *message.mutable_submit() = submit;
    stream_->Write(message);
  }

  void Cancel(uint64_t sequence, uint32_t attempt = 0) {
    v1::RouterMessage message;
    message.mutable_cancel()->set_sequence(sequence);
    message.mutable_cancel()->set_attempt(attempt);
    stream_->Write(message);
  }

  void Drain() {
    v1::RouterMessage message;
    message.mutable_drain();
    stream_->Write(message);
  }

  // Reads until `done` holds; false when the stream ends before.
  bool ReadUntil(const std::function<bool()>& done) {
    while (!done()) {
      v1::WorkerMessage message;
      if (!stream_->Read(&message)) return false;
      if (message.has_welcome()) welcomes_.push_back(message.welcome());
      if (message.has_load()) loads_.push_back(message.load());
      for (const v1::SequenceDelta& delta : message.deltas().sequences()) Note(delta);
    }
    return true;
  }

  bool ReadEnd(uint64_t sequence) {
    return ReadUntil([&] { return seen_[sequence].finishes > 0; });
  }

  grpc::Status Finish() {
    stream_->WritesDone();
    v1::WorkerMessage message;
    while (stream_->Read(&message)) {
    }
    return stream_->Finish();
  }

  void Kill() { call_.TryCancel(); }

  const std::vector<v1::Welcome>& welcomes() const { return welcomes_; }
  const std::vector<v1::Load>& loads() const { return loads_; }
  Seen& seen(uint64_t sequence) { return seen_[sequence]; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  void Note(const v1::SequenceDelta& delta) {
    Seen& seen = seen_[delta.sequence()];
    EXPECT_EQ(seen.finishes, 0) << "a delta behind the end of " << delta.sequence();
    for (const v1::TokenOutput& token : delta.tokens()) {
      seen.tokens.push_back(token.token());
      seen.outputs.push_back(token);
    }
    if (delta.finish() != v1::FINISH_NONE) ++seen.finishes;
    seen.last = delta;
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Worker::Stub> stub_;
  grpc::ClientContext call_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::RouterMessage, v1::WorkerMessage>> stream_;
  std::vector<v1::Welcome> welcomes_;
  std::vector<v1::Load> loads_;
  std::map<uint64_t, Seen> seen_;
};

}  // namespace shoal::worker
