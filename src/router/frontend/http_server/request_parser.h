// SPDX-License-Identifier: Apache-2.0
// RequestParser: bytes of one connection in, one HTTP/1.x request at a time out. Strict about
// framing, because a request that two parties frame differently is an attack.
#pragma once

#include <http_parser.h>

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "router/frontend/http_server/http_types.h"

namespace shoal::router {

struct ParserLimits {
  size_t header_bytes_max = 32 << 10;
  size_t headers_max = 100;
  size_t body_bytes_max = 8 << 20;
};

// One thread's. After kComplete, or to give up after kError, call Reset.
class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  enum class Step {
    kMore,      // feed more bytes
    kHeaders,   // headers are complete, a body follows: decide, then call Parse again
    kComplete,  // request() is whole; bytes after it stay in the input
    kError,     // answer with error_status() and close
  };
  // Consumes from the front of `input` what it understood.
  Step Parse(std::string& input);
  void Reset();

  HttpRequest& request() { return request_; }
  bool keep_alive() const { return keep_alive_; }
  bool http10() const { return http10_; }
  bool expects_continue() const { return expects_continue_; }
  bool in_body() const { return phase_ == Phase::kBody; }
  int error_status() const { return error_status_; }
  const std::string& error_message() const { return error_message_; }

 private:
  enum class Phase { kHead, kBody };
  Step ParseHead(std::string& input);
  Step ParseBody(std::string& input);
  Step CheckHead();
  Step Fail(int status, std::string message);
  static const http_parser_settings& Settings();
  static RequestParser& Self(http_parser* parser);
  int OnHeaderField(absl::string_view piece);
  int OnHeaderValue(absl::string_view piece);
  int OnBody(absl::string_view piece);

  const ParserLimits limits_;
  http_parser parser_;
  Phase phase_ = Phase::kHead;
  HttpRequest request_;
  std::string url_;
  bool value_follows_ = false;
  bool message_complete_ = false;
  bool headers_complete_ = false;
  bool keep_alive_ = false;
  bool http10_ = false;
  bool expects_continue_ = false;
  int error_status_ = 0;
  std::string error_message_;
};

// "%41b" -> "Ab"; false for a bad escape or a NUL byte.
bool PercentDecode(absl::string_view text, std::string* out);

}  // namespace shoal::router
