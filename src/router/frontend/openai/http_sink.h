// SPDX-License-Identifier: Apache-2.0
// HttpSink: carries a session's events to an HTTP client, as one JSON body or as an SSE stream.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "router/frontend/http_server/http_types.h"
#include "router/frontend/openai/renderer.h"
#include "router/session/request_spec.h"

namespace shoal::router {

struct HttpSinkOptions {
  std::shared_ptr<HttpExchange> exchange;
  std::unique_ptr<Renderer> renderer;
  bool stream = false;
  size_t buffer_max = 0;
  // Adds the headers every response has, and counts it.
  std::function<HttpResponse(HttpResponse)> finish;
};

// The status line is sent with the first growth (or sign of life), so that an error before it has
// its own status in both modes.
class HttpSink final : public ClientSink {
 public:
  explicit HttpSink(HttpSinkOptions options) : options_(std::move(options)) {}
  bool OnChoice(ChoiceEvent event) override;
  void OnWait() override;
  void OnEnd(EndEvent end) override;

 private:
  void Open(std::string first);

  const HttpSinkOptions options_;
  bool opened_ = false;   // the stream's head is sent
  bool started_ = false;  // and StreamStart's events
};

}  // namespace shoal::router
