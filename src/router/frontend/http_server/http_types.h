// SPDX-License-Identifier: Apache-2.0
// HTTP requests and responses as plain values, and what a server asks of its handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace shoal::router {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;   // "GET"
  std::string path;     // percent-decoded, without the query
  HttpHeaders headers;  // names in lower case
  std::string body;
  bool has_body = false;  // one was announced

  // The first header of that (lower-case) name; empty when there is none.
  absl::string_view Header(absl::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers;  // without Content-Length, Transfer-Encoding and Connection
  std::string body;
};

// One request being answered. Thread-safe; calls after the end, or for a client that has left, do
// nothing. Exactly one of: Respond, or StartStream … EndStream.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual void Respond(HttpResponse response) = 0;
  // `filler` means nothing to the client: it is sent to learn whether a client that has ended its
  // input still reads.
  virtual void StartStream(HttpResponse head, std::string filler) = 0;
  virtual void Write(std::string bytes) = 0;
  virtual void EndStream() = 0;
  // Bytes given to this exchange that the client's socket has not taken yet.
  virtual size_t buffered() const = 0;
  // `callback` runs once, on a server thread, if the client leaves before the end; at once when it
  // has left already.
  virtual void OnDisconnect(std::function<void()> callback) = 0;
};

// Called on the server's thread: must not block.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Before the body is read. A response refuses the request; the body is then not read.
  virtual std::optional<HttpResponse> OnHeaders(const HttpRequest& request) = 0;
  virtual void OnRequest(HttpRequest request, std::shared_ptr<HttpExchange> exchange) = 0;
  // The body of a response to what is not a proper request: 400, 408, 413, 431, ….
  virtual HttpResponse OnProtocolError(int status, const std::string& message) = 0;
};

const char* StatusText(int status);

}  // namespace shoal::router
