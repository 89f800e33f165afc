// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/http_server/connection.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shoal::router {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

Connection::Connection(int fd, uint64_t id, const ConnectionLimits& limits, HttpHandler* handler,
                       std::shared_ptr<Outbox> outbox, BodyBudget* budget, absl::Time now)
    : fd_(fd),
      id_(id),
      limits_(limits),
      handler_(handler),
      outbox_(std::move(outbox)),
      budget_(budget),
      parser_(limits.parser),
      deadline_(now + limits.idle),
      waiting_since_(now) {}

Connection::~Connection() {
  budget_->held -= charged_;
  close(fd_);
  if (exchange_ != nullptr) exchange_->Disconnected();
}

bool Connection::wants_read() const {
  // While a request is answered, reading on is how a leaving client is noticed.
  if (input_ended_) return false;
  return state_ != State::kAnswering || in_.size() < limits_.ahead_bytes_max;
}

bool Connection::OnReadable(absl::Time now) {
  char buffer[kReadBytes];
  const ssize_t count = recv(fd_, buffer, sizeof(buffer), 0);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (count == 0) return OnInputEnd(now);
  if (state_ == State::kLingering || state_ == State::kFlushing) return true;  // thrown away
  in_.append(buffer, static_cast<size_t>(count));
  if (state_ == State::kAnswering) return true;
  if (parser_.in_body()) deadline_ = std::min(now + limits_.body, body_deadline_);
  return Advance(now);
}

bool Connection::OnInputEnd(absl::Time now) {
  input_ended_ = input_end_seen_ = true;
  if (state_ == State::kFlushing) return wants_write();
  if (state_ == State::kLingering) return false;
  if (state_ == State::kReading) {  // the request stays a fragment; earlier answers are still sent
    state_ = State::kFlushing;
    return wants_write() && Flush(now);
  }
  return OnHangup(now);
}

// A client that has sent all of its input and one that has left look the same until something is
// sent: then the latter's system answers with a reset. Within a stream that is the filler; before
// an answer has begun, an interim response, which every HTTP/1.1 client skips.
bool Connection::OnHangup(absl::Time now) {
  input_end_seen_ = true;
  if (streaming_) {
    AppendStreamBytes(filler_);
  } else if (!parser_.http10()) {
    out_ += kContinue;
  }
  return Flush(now);
}

absl::Time Connection::waiting_since() const {
  const bool waits = state_ == State::kReading && !parser_.in_body() && !wants_write();
  return waits ? waiting_since_ : absl::InfiniteFuture();
}

void Connection::ChargeBody() {
  const auto size = static_cast<int64_t>(parser_.request().body.size());
  budget_->held += size - charged_;
  charged_ = size;
}

bool Connection::Advance(absl::Time now) {
  while (state_ == State::kReading) {
    const bool fresh = !parser_.in_body();
    switch (parser_.Parse(in_)) {
      case RequestParser::Step::kMore:
        if (fresh && !in_.empty() && !head_begun_) {  // further pieces of the head do not extend it
          head_begun_ = true;
          deadline_ = now + limits_.head;
        }
        if (input_ended_) {  // and what is left of it is no whole request
          state_ = State::kFlushing;
          break;
        }
        ChargeBody();
        if (budget_->held <= limits_.bodies_bytes_max) return Flush(now);
        Refuse(429, "too many request bodies at once");
        break;
      case RequestParser::Step::kHeaders:
        if (!OnHeadComplete(now)) return false;
        break;
      case RequestParser::Step::kComplete:
        ChargeBody();
        if (!Dispatch(now)) return false;
        break;
      case RequestParser::Step::kError:
        Refuse(parser_.error_status(), parser_.error_message());
        break;
    }
  }
  return Flush(now);
}

bool Connection::OnHeadComplete(absl::Time now) {
  head_begun_ = false;
  deadline_ = now + limits_.body;
  body_deadline_ = now + limits_.body_whole;
  head_method_ = parser_.request().method == "HEAD";
  if (std::optional<HttpResponse> refusal = handler_->OnHeaders(parser_.request())) {
    close_after_ = true;  // the body stays unread
    AppendResponse(*refusal, /*stream=*/false);
    state_ = State::kFlushing;
    return true;
  }
  if (parser_.expects_continue()) out_ += kContinue;
  return Flush(now);
}

bool Connection::Dispatch(absl::Time now) {
  HttpRequest request = std::move(parser_.request());
  head_method_ = request.method == "HEAD";
  close_after_ = !parser_.keep_alive();
  budget_->held -= std::exchange(charged_, 0);
  state_ = State::kAnswering;
  deadline_ = absl::InfiniteFuture();
  if (!request.has_body) {
    if (std::optional<HttpResponse> refusal = handler_->OnHeaders(request)) {
      AppendResponse(*refusal, /*stream=*/false);
      Finish(now);
      return true;
    }
  }
  exchange_ = std::make_shared<Exchange>(outbox_, id_, ++exchange_count_);
  handler_->OnRequest(std::move(request), exchange_);
  return true;
}

void Connection::Refuse(int status, const std::string& message) {
  close_after_ = true;
  head_method_ = false;
  AppendResponse(handler_->OnProtocolError(status, message), /*stream=*/false);
  state_ = State::kFlushing;
}

// The answer is complete (in out_): the next request, or the end.
void Connection::Finish(absl::Time now) {
  exchange_.reset();
  streaming_ = false;
  if (close_after_ || (input_ended_ && in_.empty())) {
    state_ = State::kFlushing;
    return;
  }
  parser_.Reset();
  head_begun_ = false;
  state_ = State::kReading;
  deadline_ = now + limits_.idle;
  waiting_since_ = now;
}

void Connection::AppendResponse(const HttpResponse& response, bool stream) {
  chunked_ = stream && !parser_.http10();
  if (stream && !chunked_) close_after_ = true;
  absl::StrAppend(&out_, "HTTP/1.1 ", response.status, " ", StatusText(response.status), "\r\n");
  for (const auto& [name, value] : response.headers) {
    absl::StrAppend(&out_, name, ": ", value, "\r\n");
  }
  if (chunked_) {
    out_ += "Transfer-Encoding: chunked\r\n";
  } else if (!stream && response.status != 204) {  // which has no body, nor a length of one
    absl::StrAppend(&out_, "Content-Length: ", response.body.size(), "\r\n");
  }
  if (close_after_) out_ += "Connection: close\r\n";
  out_ += "\r\n";
  if (head_method_) return;
  if (stream) {
    AppendStreamBytes(response.body);
  } else {
    out_ += response.body;
  }
}

void Connection::AppendStreamBytes(const std::string& bytes) {
  if (bytes.empty() || head_method_) return;
  if (!chunked_) {
    out_ += bytes;
    return;
  }
  absl::StrAppend(&out_, absl::Hex(bytes.size()), "\r\n", bytes, "\r\n");
}

bool Connection::OnCommand(OutboxCommand command, absl::Time now) {
  if (command.kind == OutboxCommand::Kind::kWrite && exchange_ != nullptr) {
    exchange_->Taken(command.bytes.size());
  }
  if (exchange_ == nullptr || exchange_->id() != command.exchange) return true;
  switch (command.kind) {
    case OutboxCommand::Kind::kRespond:
      AppendResponse(command.response, /*stream=*/false);
      Finish(now);
      break;
    case OutboxCommand::Kind::kStartStream:
      streaming_ = true;
      filler_ = std::move(command.bytes);
      AppendResponse(command.response, /*stream=*/true);
      break;
    case OutboxCommand::Kind::kWrite:
      AppendStreamBytes(command.bytes);
      break;
    case OutboxCommand::Kind::kEndStream:
      if (chunked_) out_ += "0\r\n\r\n";
      Finish(now);
      break;
  }
  if (state_ == State::kReading) return Advance(now);  // a pipelined request may be waiting
  return Flush(now);
}

bool Connection::Flush(absl::Time now) {
  bool progress = false;
  while (wants_write()) {
    const ssize_t count = send(fd_, out_.data() + out_sent_, out_.size() - out_sent_, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (count < 0) break;
    out_sent_ += static_cast<size_t>(count);
    progress = true;
  }
  if (!wants_write()) {
    out_.clear();
    out_sent_ = 0;
    write_deadline_ = absl::InfiniteFuture();
  } else {
    if (progress || write_deadline_ == absl::InfiniteFuture()) {
      write_deadline_ = now + limits_.write_stall;
    }
    if (out_sent_ > kReadBytes && out_sent_ > out_.size() / 2) {
      out_.erase(0, out_sent_);
      out_sent_ = 0;
    }
  }
  const size_t unsent = out_.size() - out_sent_;
  if (exchange_ != nullptr) exchange_->SetUnsent(unsent);
  if (exchange_ != nullptr && unsent > limits_.output_bytes_max) return false;
  if (state_ == State::kFlushing && !wants_write()) {
    if (input_ended_) return false;
    // Closing now could reset the connection before the client has read the answer.
    shutdown(fd_, SHUT_WR);
    state_ = State::kLingering;
    deadline_ = now + limits_.linger;
  }
  return true;
}

bool Connection::OnWritable(absl::Time now) { return Flush(now); }

bool Connection::OnTick(absl::Time now) {
  if (now >= write_deadline_) return false;
  if (now < deadline_) return true;
  if (state_ != State::kReading) return false;
  const bool idle = !parser_.in_body() && in_.empty();
  if (idle) return false;
  Refuse(408, "the request did not arrive in time");
  return Flush(now);
}

const char* StatusText(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

}  // namespace shoal::router
