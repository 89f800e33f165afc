// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/openai/http_sink.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "router/frontend/openai/http_errors.h"

namespace shoal::router {

void HttpSink::Open(std::string first) {
  if (opened_) {
    options_.exchange->Write(std::move(first));
    return;
  }
  opened_ = true;
  HttpResponse head;
  head.headers = {{"Content-Type", "text/event-stream; charset=utf-8"},
                  {"Cache-Control", "no-cache"},
                  {"X-Accel-Buffering", "no"}};
  head.body = std::move(first);
  options_.exchange->StartStream(options_.finish(std::move(head)), ":\n\n");
}

bool HttpSink::OnChoice(ChoiceEvent event) {
  if (!options_.stream) {
    options_.renderer->Collect(event);
    return true;
  }
  std::string bytes = options_.renderer->StreamGrowth(event);
  if (!started_) {
    started_ = true;
    bytes.insert(0, options_.renderer->StreamStart());
  }
  if (!bytes.empty()) Open(std::move(bytes));
  return options_.exchange->buffered() <= options_.buffer_max;
}

void HttpSink::OnWait() {
  if (options_.stream) Open(": keep-alive\n\n");
}

void HttpSink::OnEnd(EndEvent end) {
  if (!options_.stream || (!opened_ && !end.status.ok())) {
    HttpResponse response;
    if (end.status.ok()) {
      response.headers = {{"Content-Type", "application/json"}};
      response.body = options_.renderer->Body(end);
    } else {
      response = ErrorResponse(end.status);
    }
    options_.exchange->Respond(options_.finish(std::move(response)));
    return;
  }
  // After a failure the stream ends without [DONE]: it must not look complete.
  Open(end.status.ok() ? options_.renderer->StreamEnd(end)
                       : SseData(ErrorJson(HttpStatusOf(end.status), end.status)));
  options_.exchange->EndStream();
}

}  // namespace shoal::router
