// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "app/chat/client.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace shoal::app {
namespace {

using nlohmann::json;

constexpr int64_t kConnectTimeoutMs = 5000;
constexpr int64_t kRequestTimeoutMs = 600000;
constexpr size_t kBodyBytesMax = size_t{16} << 20;

json ParseOrNull(const std::string& text) { return json::parse(text, nullptr, false); }

// What an error body says, or the body itself.
std::string ErrorMessage(const std::string& body) {
  const json parsed = ParseOrNull(body);
  if (parsed.is_object() && parsed.contains("error") && parsed["error"].is_object()) {
    return parsed["error"].value("message", body);
  }
  return body;
}

// Receives a body; for an event stream, calls on_event with the data of each event.
struct Sink {
  std::string body;
  std::function<void(const std::string&)> on_event;

  bool Append(const char* data, size_t bytes) {
    body.append(data, bytes);
    if (!on_event) return body.size() <= kBodyBytesMax;
    size_t end = 0;
    while ((end = body.find('\n')) != std::string::npos) {
      const std::string line = body.substr(0, end);
      body.erase(0, end + 1);
      if (absl::StartsWith(line, "data: ")) on_event(line.substr(6));
    }
    return body.size() <= kBodyBytesMax;
  }
};

size_t WriteToSink(char* data, size_t size, size_t count, void* sink) {
  const size_t bytes = size * count;
  return static_cast<Sink*>(sink)->Append(data, bytes) ? bytes : 0;
}

class HttpChatClient final : public ChatClient {
 public:
  HttpChatClient(std::string url, std::string api_key)
      : url_(std::move(url)), api_key_(std::move(api_key)), curl_(curl_easy_init()) {}
  ~HttpChatClient() override { curl_easy_cleanup(curl_); }

  absl::StatusOr<std::vector<std::string>> ListModels() override {
    Sink sink;
    SHOAL_RETURN_IF_ERROR(Perform("/v1/models", nullptr, sink));
    const json parsed = ParseOrNull(sink.body);
    if (!parsed.is_object() || !parsed.contains("data") || !parsed["data"].is_array()) {
      return absl::DataLossError(absl::StrCat(url_, "/v1/models did not answer with a model list"));
    }
    std::vector<std::string> names;
    for (const json& model : parsed["data"]) {
      if (model.is_object() && model.contains("id") && model["id"].is_string()) {
        names.push_back(model["id"].get<std::string>());
      }
    }
    return names;
  }

  absl::Status Chat(const std::vector<ChatTurn>& turns, const ChatSettings& settings,
                    const std::function<void(const std::string&)>& on_text) override {
    json request = {{"model", settings.model},
                    {"stream", true},
                    {"temperature", settings.temperature},
                    {"messages", json::array()}};
    for (const ChatTurn& turn : turns) {
      request["messages"].push_back({{"role", turn.role}, {"content", turn.content}});
    }
    if (settings.max_tokens > 0) request["max_tokens"] = settings.max_tokens;
    if (settings.seed) request["seed"] = *settings.seed;
    const std::string body = request.dump(-1, ' ', false, json::error_handler_t::replace);
    bool finished = false;
    absl::Status failure;
    Sink sink;
    sink.on_event = [&](const std::string& event) {
      const json chunk = ParseOrNull(event);
      if (!chunk.is_object()) return;
      if (chunk.contains("error")) failure = absl::UnavailableError(ErrorMessage(event));
      if (!chunk.contains("choices") || !chunk["choices"].is_array()) return;
      for (const json& choice : chunk["choices"]) {
        const json delta = choice.value("delta", json::object());
        if (delta.contains("content") && delta["content"].is_string()) {
          on_text(delta["content"].get<std::string>());
        }
        finished = finished || choice.value("finish_reason", json()).is_string();
      }
    };
    SHOAL_RETURN_IF_ERROR(Perform("/v1/chat/completions", &body, sink));
    SHOAL_RETURN_IF_ERROR(failure);
    return finished ? absl::OkStatus() : absl::DataLossError("the answer has no finish reason");
  }

 private:
  // GET, or POST of *body. Fails on transport errors and on status codes other than 200.
  absl::Status Perform(const std::string& path, const std::string* body, Sink& sink) {
    curl_easy_reset(curl_);
    const std::string url = url_ + path;
    curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
    if (!api_key_.empty()) {
      headers =
          curl_slist_append(headers, absl::StrCat("Authorization: Bearer ", api_key_).c_str());
    }
    curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, kRequestTimeoutMs);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, WriteToSink);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &sink);
    if (body != nullptr) {
      curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
      curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body->c_str());
    }
    const CURLcode result = curl_easy_perform(curl_);
    int64_t code = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &code);
    curl_slist_free_all(headers);
    if (result != CURLE_OK) {
      return absl::UnavailableError(absl::StrCat(url, ": ", curl_easy_strerror(result)));
    }
    if (code != 200) {
      return absl::UnavailableError(
          absl::StrCat(url, " answered ", code, ": ", ErrorMessage(sink.body)));
    }
    return absl::OkStatus();
  }

  const std::string url_;
  const std::string api_key_;
  CURL* const curl_;
};

}  // namespace

std::unique_ptr<ChatClient> CreateHttpChatClient(const std::string& url,
                                                 const std::string& api_key) {
  return std::make_unique<HttpChatClient>(url, api_key);
}

}  // namespace shoal::app
