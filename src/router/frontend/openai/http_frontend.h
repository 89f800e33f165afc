// SPDX-License-Identifier: Apache-2.0
// HttpFrontend: the OpenAI endpoints, and health, metrics and version, over HTTP.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "router/frontend/http_server/http_types.h"
#include "router/frontend/openai/parse_request.h"
#include "router/frontend/service.h"

namespace shoal::router {

// Thread-safe.
class HttpFrontend final : public HttpHandler {
 public:
  explicit HttpFrontend(Service* service) : service_(*service) {}

  std::optional<HttpResponse> OnHeaders(const HttpRequest& request) override;
  void OnRequest(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override;
  HttpResponse OnProtocolError(int status, const std::string& message) override;

 private:
  struct Job;
  std::optional<HttpResponse> Refuse(const HttpRequest& request) const;
  HttpResponse Answer(const HttpRequest& request) const;
  HttpResponse ListModels() const;
  HttpResponse GetModel(const std::string& name) const;
  HttpResponse Metrics() const;
  void Generate(HttpRequest request, std::shared_ptr<HttpExchange> exchange);
  absl::Status RunJob(const std::shared_ptr<Job>& job);
  std::shared_ptr<ClientSink> MakeSink(const Job& job, const OpenAiRequest& parsed,
                                       const RequestSpec& spec);
  HttpResponse Finish(HttpResponse response, const std::string& route,
                      const std::string& request_id, const std::string& origin) const;

  Service& service_;
};

}  // namespace shoal::router
