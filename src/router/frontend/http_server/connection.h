// SPDX-License-Identifier: Apache-2.0
// Connection: one client connection of the HTTP server. Owned by the server's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "router/frontend/http_server/http_types.h"
#include "router/frontend/http_server/outbox.h"
#include "router/frontend/http_server/request_parser.h"

namespace shoal::router {

struct ConnectionLimits {
  ParserLimits parser;
  size_t output_bytes_max = 4 << 20;              // unsent output beyond this ends the connection
  size_t ahead_bytes_max = 64 << 10;              // input read while a request is being answered
  int64_t bodies_bytes_max = int64_t{256} << 20;  // of all connections together
  absl::Duration idle = absl::Seconds(75);
  absl::Duration head = absl::Seconds(15);         // of a request, from its first byte on
  absl::Duration body = absl::Seconds(60);         // between two pieces of it
  absl::Duration body_whole = absl::Seconds(120);  // from its head on
  absl::Duration write_stall = absl::Seconds(60);  // unsent output without progress
  absl::Duration linger = absl::Seconds(2);        // reading on after an early answer
};

// Bodies being received by all connections of a server.
struct BodyBudget {
  int64_t held = 0;
};

class Connection {
 public:
  Connection(int fd, uint64_t id, const ConnectionLimits& limits, HttpHandler* handler,
             std::shared_ptr<Outbox> outbox, BodyBudget* budget, absl::Time now);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Each returns false when the connection is over and must be destroyed.
  [[nodiscard]] bool OnReadable(absl::Time now);
  [[nodiscard]] bool OnWritable(absl::Time now);
  [[nodiscard]] bool OnCommand(OutboxCommand command, absl::Time now);
  [[nodiscard]] bool OnTick(absl::Time now);

  int fd() const { return fd_; }
  bool wants_read() const;
  // Reading is paused, so the end of the client's input shows only as a hang-up.
  bool watches_hangup() const {
    return state_ == State::kAnswering && !wants_read() && !input_end_seen_;
  }
  [[nodiscard]] bool OnHangup(absl::Time now);
  bool wants_write() const { return out_sent_ < out_.size(); }
  bool busy() const { return exchange_ != nullptr || wants_write(); }
  // Since when it has waited for a whole head, which nobody is owed an answer for; InfiniteFuture
  // while it does something else.
  absl::Time waiting_since() const;

 private:
  enum class State : uint8_t {
    kReading,    // a request's head or body
    kAnswering,  // the handler has it
    kFlushing,   // the last answer is being sent, then the connection closes
    kLingering,  // sent and shut for writing; reading on so that the client sees the answer
  };

  bool Advance(absl::Time now);
  bool OnInputEnd(absl::Time now);
  bool Dispatch(absl::Time now);
  bool OnHeadComplete(absl::Time now);
  void Refuse(int status, const std::string& message);
  void Finish(absl::Time now);
  void AppendResponse(const HttpResponse& response, bool stream);
  void AppendStreamBytes(const std::string& bytes);
  bool Flush(absl::Time now);
  void ChargeBody();

  const int fd_;
  const uint64_t id_;
  const ConnectionLimits& limits_;
  HttpHandler* const handler_;
  const std::shared_ptr<Outbox> outbox_;
  BodyBudget* const budget_;
  RequestParser parser_;
  State state_ = State::kReading;
  std::string in_;
  std::string out_;
  size_t out_sent_ = 0;  // prefix of out_ already sent
  std::shared_ptr<Exchange> exchange_;
  uint64_t exchange_count_ = 0;
  bool head_begun_ = false;      // deadline_ is that of a head
  bool close_after_ = false;     // the current answer is the last
  bool head_method_ = false;     // the current request is a HEAD
  bool chunked_ = false;         // the current stream is
  bool streaming_ = false;       // the current answer's head is sent, its end is not
  std::string filler_;           // of the current stream
  bool input_ended_ = false;     // all of the client's input is read; it may still be reading
  bool input_end_seen_ = false;  // some of it may be unread
  int64_t charged_ = 0;          // of budget_
  absl::Time deadline_;          // of the state
  absl::Time body_deadline_ = absl::InfiniteFuture();  // of the whole body
  absl::Time waiting_since_;
  absl::Time write_deadline_ = absl::InfiniteFuture();
};

}  // namespace shoal::router
