// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/openai/http_frontend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "router/api_error.h"
#include "router/frontend/openai/http_errors.h"
#include "router/frontend/openai/http_sink.h"
#include "router/frontend/openai/json_guard.h"
#include "router/frontend/openai/renderer.h"

namespace shoal::router {
namespace {

using nlohmann::json;

constexpr char kChatPath[] = "/v1/chat/completions";
constexpr char kCompletionPath[] = "/v1/completions";
constexpr char kModelsPath[] = "/v1/models";
constexpr char kModelPrefix[] = "/v1/models/";

bool IsGeneration(const std::string& path) { return path == kChatPath || path == kCompletionPath; }

bool IsKnown(const std::string& path) {
  return IsGeneration(path) || path == kModelsPath || absl::StartsWith(path, kModelPrefix) ||
         path == "/health" || path == "/ready" || path == "/metrics" || path == "/version";
}

// The label of a route in metrics: never the client's own text.
std::string RouteOf(const std::string& path) {
  if (absl::StartsWith(path, kModelPrefix)) return kModelsPath;
  return IsKnown(path) ? path : "other";
}

bool IsPlainId(absl::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

std::string RequestIdOf(const HttpRequest& request) {
  const absl::string_view given = request.Header("x-request-id");
  return IsPlainId(given) ? std::string(given) : absl::StrCat("req-", HexId(RandomId()));
}

HttpResponse JsonResponse(const json& body) {
  return {200, {{"Content-Type", "application/json"}}, DumpJson(body)};
}

HttpResponse TextResponse(int status, std::string text) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(text)};
}

}  // namespace

struct HttpFrontend::Job {
  HttpRequest request;
  std::shared_ptr<HttpExchange> exchange;
  AdmissionSlot slot;
  std::string request_id;
  std::string origin;
  uint64_t id = 0;
  absl::Time arrival;
};

HttpResponse HttpFrontend::Finish(HttpResponse response, const std::string& route,
                                  const std::string& request_id, const std::string& origin) const {
  response.headers.emplace_back("x-request-id", request_id);
  for (const std::string& allowed : service_.options.cors_origins) {
    if (origin.empty() || (allowed != "*" && allowed != origin)) continue;
    response.headers.emplace_back("Access-Control-Allow-Origin", allowed == "*" ? "*" : origin);
    response.headers.emplace_back("Vary", "Origin");
    response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    response.headers.emplace_back("Access-Control-Allow-Headers", "*, Authorization");
    response.headers.emplace_back("Access-Control-Expose-Headers", "x-request-id, Retry-After");
    break;
  }
  service_.metrics.OnHttp(route, response.status);
  return response;
}

HttpResponse HttpFrontend::OnProtocolError(int status, const std::string& message) {
  return Finish(ErrorResponse(status, message, ""), "other",
                absl::StrCat("req-", HexId(RandomId())), "");
}

std::optional<HttpResponse> HttpFrontend::Refuse(const HttpRequest& request) const {
  const bool post = request.method == "POST";
  const bool get = request.method == "GET" || request.method == "HEAD";
  if (request.method == "OPTIONS") return std::nullopt;
  if (!IsKnown(request.path)) {
    return ErrorResponse(404, absl::StrCat("there is no ", request.path.substr(0, 200)),
                         "unknown_url");
  }
  if (IsGeneration(request.path) ? !post : !get) {
    HttpResponse response =
        ErrorResponse(405, absl::StrCat(request.method, " is not for this path"), "");
    response.headers.emplace_back("Allow", IsGeneration(request.path) ? "POST" : "GET, HEAD");
    return response;
  }
  if (absl::StartsWith(request.path, "/v1/") &&
      !service_.options.keys.Allows(request.Header("authorization"))) {
    return ErrorResponse(ApiError(absl::StatusCode::kUnauthenticated,
                                  "a valid API key is needed: Authorization: Bearer KEY", "",
                                  "invalid_api_key"));
  }
  if (!IsGeneration(request.path)) return std::nullopt;
  const absl::string_view encoding = request.Header("content-encoding");
  if (!encoding.empty() && !absl::EqualsIgnoreCase(encoding, "identity")) {
    return ErrorResponse(415, "compressed request bodies are not taken", "");
  }
  const absl::Status admitted = service_.admission.Check();
  if (!admitted.ok()) return ErrorResponse(admitted);
  return std::nullopt;
}

std::optional<HttpResponse> HttpFrontend::OnHeaders(const HttpRequest& request) {
  std::optional<HttpResponse> refusal = Refuse(request);
  if (!refusal.has_value()) return std::nullopt;
  return Finish(*std::move(refusal), RouteOf(request.path), RequestIdOf(request),
                std::string(request.Header("origin")));
}

void HttpFrontend::OnRequest(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  if (request.method == "POST") {
    Generate(std::move(request), std::move(exchange));
    return;
  }
  HttpResponse response = request.method == "OPTIONS" ? HttpResponse{204, {}, ""} : Answer(request);
  exchange->Respond(Finish(std::move(response), RouteOf(request.path), RequestIdOf(request),
                           std::string(request.Header("origin"))));
}

HttpResponse HttpFrontend::Answer(const HttpRequest& request) const {
  if (request.path == "/health") return TextResponse(200, "ok\n");
  if (request.path == "/ready") {
    const bool ready = service_.Ready();
    return TextResponse(ready ? 200 : 503, ready ? "ready\n" : "not ready\n");
  }
  if (request.path == "/version") {
    return JsonResponse({{"version", service_.options.version}});
  }
  if (request.path == "/metrics") return Metrics();
  if (request.path == kModelsPath) return ListModels();
  return GetModel(request.path.substr(sizeof(kModelPrefix) - 1));
}

HttpResponse HttpFrontend::Metrics() const {
  const RouterMetrics::Gauges gauges = {.accepted = service_.dispatcher.accepted(),
                                        .ended = service_.dispatcher.ended(),
                                        .held = service_.admission.held()};
  return {200,
          {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
          service_.metrics.Expose(*service_.dispatcher.snapshot(), gauges)};
}

namespace {

json ModelJson(const Service& service, const std::string& name) {
  json model = {{"id", name},
                {"object", "model"},
                {"created", absl::ToUnixSeconds(service.options.started)},
                {"owned_by", "shoal"}};
  const int32_t context = service.ContextOf(name);
  if (context > 0) model["max_model_len"] = context;
  return model;
}

}  // namespace

HttpResponse HttpFrontend::ListModels() const {
  json list = json::array();
  for (const ServedModel& model : service_.options.models) {
    list.push_back(ModelJson(service_, model.name));
  }
  return JsonResponse({{"object", "list"}, {"data", std::move(list)}});
}

HttpResponse HttpFrontend::GetModel(const std::string& name) const {
  const auto model = FindModel(service_.options.models, name);
  if (!model.ok()) return ErrorResponse(model.status());
  return JsonResponse(ModelJson(service_, name));
}

void HttpFrontend::Generate(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  auto job = std::make_shared<Job>();
  job->request_id = RequestIdOf(request);
  job->origin = std::string(request.Header("origin"));
  job->exchange = std::move(exchange);
  job->arrival = absl::Now();
  job->id = service_.dispatcher.NewId();
  job->request = std::move(request);
  auto fail = [this, job](const absl::Status& status) {
    job->exchange->Respond(
        Finish(ErrorResponse(status), RouteOf(job->request.path), job->request_id, job->origin));
  };
  absl::StatusOr<AdmissionSlot> slot = service_.admission.TryAdmit();
  if (!slot.ok()) {
    fail(slot.status());
    return;
  }
  job->slot = *std::move(slot);
  const auto bytes = static_cast<int64_t>(job->request.body.size()) + 1;
  const bool taken = service_.pool.TrySubmit(bytes, [this, job, fail] {
    const absl::Status status = RunJob(job);
    if (!status.ok()) fail(status);
    job->slot = AdmissionSlot();
  });
  if (taken) return;
  fail(ApiError(absl::StatusCode::kResourceExhausted,
                "too much text is waiting to be tokenized; try again in a moment", "",
                "overloaded"));
}

absl::Status HttpFrontend::RunJob(const std::shared_ptr<Job>& job) {
  if (job->request.body.empty()) {
    return absl::InvalidArgumentError("the request has no body; JSON is expected");
  }
  SHOAL_ASSIGN_OR_RETURN(const nlohmann::ordered_json body, ParseJson(job->request.body));
  job->request.body = std::string();
  const bool chat = job->request.path == kChatPath;
  SHOAL_ASSIGN_OR_RETURN(OpenAiRequest parsed, chat ? ParseChat(body) : ParseCompletion(body));
  parsed.generation.label = job->request_id;
  parsed.generation.arrival = job->arrival;
  parsed.generation.deadline = absl::InfiniteFuture();
  GenerationRequest generation = std::move(parsed.generation);
  SHOAL_RETURN_IF_ERROR(service_.Launch(
      job->id, std::move(generation), std::move(job->slot),
      [this, &job, &parsed](const RequestSpec& spec) { return MakeSink(*job, parsed, spec); }));
  // Told after the submission, so that a client that has already left is cancelled as well.
  Dispatcher* dispatcher = &service_.dispatcher;
  job->exchange->OnDisconnect([dispatcher, id = job->id] { dispatcher->Cancel(id); });
  return absl::OkStatus();
}

std::shared_ptr<ClientSink> HttpFrontend::MakeSink(const Job& job, const OpenAiRequest& parsed,
                                                   const RequestSpec& spec) {
  const bool chat = job.request.path == kChatPath;
  RenderContext context;
  context.id = absl::StrCat(chat ? "chatcmpl-" : "cmpl-", HexId(RandomId()), HexId(job.id));
  context.model = spec.model;
  context.created = absl::ToUnixSeconds(job.arrival);
  context.choices = static_cast<int32_t>(spec.sequences());
  context.n = spec.n;
  context.include_usage = parsed.include_usage;
  context.wants_logprobs = spec.sampling.logprobs >= 0;
  const auto model = FindModel(service_.options.models, spec.model);
  context.tokenizer = (*model)->tokenizer;
  if (parsed.echo) {
    for (const auto& prompt : spec.prompts) {
      context.echo_texts.push_back(context.tokenizer->Decode(prompt, spec.skip_special));
    }
    context.echo_tokens = spec.prompts;
  }
  HttpSinkOptions options;
  options.exchange = job.exchange;
  options.renderer =
      chat ? MakeChatRenderer(std::move(context)) : MakeCompletionRenderer(std::move(context));
  options.stream = parsed.stream;
  options.buffer_max = service_.options.client_buffer_max;
  options.finish = [this, route = RouteOf(job.request.path), request_id = job.request_id,
                    origin = job.origin](HttpResponse response) {
    return Finish(std::move(response), route, request_id, origin);
  };
  return std::make_shared<HttpSink>(std::move(options));
}

}  // namespace shoal::router
