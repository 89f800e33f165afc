// SPDX-License-Identifier: Apache-2.0
#include "app/bench/load_generator.h"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "app/chat/client.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace shoal::app {
namespace {

using nlohmann::json;

constexpr int64_t kConnectTimeoutMs = 10'000;
constexpr size_t kLineBytesMax = size_t{1} << 22;
constexpr int kPollMs = 20;
constexpr double kProgressSeconds = 0.1;
constexpr size_t kErrorBytesMax = 300;

std::string RequestBody(const LoadOptions& options, const PlannedRequest& request) {
  const json body = {{"model", options.model},
                     {"prompt", request.prompt},
                     {"max_tokens", request.output},
                     {"temperature", options.temperature},
                     {"seed", request.seed},
                     {"ignore_eos", true},
                     {"stream", true},
                     {"stream_options", {{"include_usage", true}}}};
  return body.dump();
}

// One running stream.
class Stream {
 public:
  Stream(RequestRecord& place, std::string request) : record(place), body(std::move(request)) {}

  // Takes bytes that arrived at `now`.
  bool Append(const char* data, size_t bytes) {
    line_.append(data, bytes);
    size_t begin = 0;
    for (size_t end = 0; (end = line_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      TakeLine(line_.substr(begin, end - begin));
    }
    line_.erase(0, begin);
    return line_.size() <= kLineBytesMax;
  }

  // What is wrong with the answer as a whole; empty: nothing.
  std::string Verdict(CURLcode result, int64_t code) const {
    if (result != CURLE_OK) return curl_easy_strerror(result);
    if (code != 200) return absl::StrCat("status ", code, ": ", line_.substr(0, kErrorBytesMax));
    if (!error_.empty()) return error_;
    if (!finished_) return "the stream has no finish reason";
    return "";
  }

  RequestRecord& record;
  const std::string body;
  CURL* handle = nullptr;
  double now = 0;  // of the current turn of the loop

 private:
  void TakeLine(std::string line) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!absl::StartsWith(line, "data:")) return;
    const json event = json::parse(line.begin() + 5, line.end(), nullptr, false);
    if (!event.is_object()) return;  // [DONE]
    if (event.contains("error")) error_ = event["error"].dump().substr(0, kErrorBytesMax);
    if (const auto usage = event.find("usage"); usage != event.end() && usage->is_object()) {
      record.prompt_tokens = usage->value("prompt_tokens", int64_t{0});
      record.completion_tokens = usage->value("completion_tokens", int64_t{0});
      const json details = usage->value("prompt_tokens_details", json());
      if (details.is_object()) record.cached_tokens = details.value("cached_tokens", int64_t{0});
    }
    const auto choices = event.find("choices");
    if (choices == event.end() || !choices->is_array() || choices->empty()) return;
    const json& choice = choices->front();
    if (!choice.is_object()) return;
    const auto text = choice.find("text");
    const bool has_text = text != choice.end() && text->is_string() && !text->empty() &&
                          !text->get_ref<const std::string&>().empty();
    if (has_text) record.text_times.push_back(now);
    const auto finish = choice.find("finish_reason");
    if (finish != choice.end() && finish->is_string()) finished_ = true;
  }

  std::string line_;
  std::string error_;
  bool finished_ = false;
};

size_t OnData(char* data, size_t size, size_t count, void* user) {
  auto* stream = static_cast<Stream*>(user);
  return stream->Append(data, size * count) ? size * count : 0;
}

class Generator {
 public:
  Generator(const LoadOptions& options, const std::vector<PlannedRequest>& requests)
      : options_(options), requests_(requests), records_(requests.size()) {
    headers_ = curl_slist_append(headers_, "Content-Type: application/json");
    headers_ = curl_slist_append(headers_, "Expect:");
    if (!options.api_key.empty()) {
      headers_ = curl_slist_append(headers_,
                                   absl::StrCat("Authorization: Bearer ", options.api_key).c_str());
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      records_[i].counted = requests[i].counted;
    }
  }
  ~Generator() {
    for (auto& stream : streams_) Release(*stream);
    if (multi_ != nullptr) curl_multi_cleanup(multi_);
    curl_slist_free_all(headers_);
  }
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  absl::StatusOr<std::vector<RequestRecord>> Run(
      const std::function<void(const Progress&)>& on_progress);

 private:
  double Now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  void Release(Stream& stream) {
    if (stream.handle == nullptr) return;
    curl_multi_remove_handle(multi_, stream.handle);
    curl_easy_cleanup(stream.handle);
    stream.handle = nullptr;
  }
  absl::Status StartDue();
  absl::Status Start(size_t index, double now);
  void Finish(CURL* handle, CURLcode result);
  absl::Status Turn();

  const LoadOptions& options_;
  const std::vector<PlannedRequest>& requests_;
  std::vector<RequestRecord> records_;
  std::vector<std::unique_ptr<Stream>> streams_;  // running
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  CURLM* multi_ = curl_multi_init();
  curl_slist* headers_ = nullptr;
  size_t next_ = 0;
  int64_t done_ = 0;
  int64_t failed_ = 0;
};

absl::Status Generator::Start(size_t index, double now) {
  RequestRecord& record = records_[index];
  record.sent = now;
  // In the closed loop a request is due when its place is free.
  record.due = requests_[index].start > 0 ? requests_[index].start : now;
  auto stream = std::make_unique<Stream>(record, RequestBody(options_, requests_[index]));
  CURL* handle = curl_easy_init();
  if (handle == nullptr) return absl::ResourceExhaustedError("no memory for a connection");
  stream->handle = handle;
  const std::string url = options_.url + "/v1/completions";
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout_seconds * 1e3));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, OnData);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, stream.get());
  curl_easy_setopt(handle, CURLOPT_PRIVATE, stream.get());
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(stream->body.size()));
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, stream->body.c_str());
  if (curl_multi_add_handle(multi_, handle) != CURLM_OK) {
    curl_easy_cleanup(handle);
    return absl::ResourceExhaustedError("a connection could not be added");
  }
  streams_.push_back(std::move(stream));
  return absl::OkStatus();
}

absl::Status Generator::StartDue() {
  while (next_ < requests_.size() && static_cast<int64_t>(streams_.size()) < options_.concurrency) {
    const double now = Now();
    if (requests_[next_].start > now) break;
    SHOAL_RETURN_IF_ERROR(Start(next_++, now));
  }
  return absl::OkStatus();
}

void Generator::Finish(CURL* handle, CURLcode result) {
  Stream* stream = nullptr;
  int64_t code = 0;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &stream);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  stream->record.end = Now();
  stream->record.error = stream->Verdict(result, code);
  ++done_;
  if (!stream->record.error.empty()) ++failed_;
  Release(*stream);
  const auto it = std::find_if(streams_.begin(), streams_.end(),
                               [&](const auto& other) { return other.get() == stream; });
  std::swap(*it, streams_.back());
  streams_.pop_back();
}

absl::Status Generator::Turn() {
  int wait_ms = kPollMs;
  if (next_ < requests_.size()) {
    const double until = (requests_[next_].start - Now()) * 1e3;
    if (until < wait_ms) wait_ms = std::max(0, static_cast<int>(until));
  }
  const bool full = static_cast<int64_t>(streams_.size()) >= options_.concurrency;
  if (full) wait_ms = kPollMs;
  if (curl_multi_poll(multi_, nullptr, 0, wait_ms, nullptr) != CURLM_OK) {
    return absl::UnavailableError("waiting for the connections failed");
  }
  const double now = Now();
  for (const auto& stream : streams_) stream->now = now;
  int running = 0;
  if (curl_multi_perform(multi_, &running) != CURLM_OK) {
    return absl::UnavailableError("driving the connections failed");
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) Finish(message->easy_handle, message->data.result);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RequestRecord>> Generator::Run(
    const std::function<void(const Progress&)>& on_progress) {
  if (multi_ == nullptr) return absl::UnavailableError("the HTTP library does not start");
  begin_ = std::chrono::steady_clock::now();
  double shown = 0;
  while (done_ < static_cast<int64_t>(requests_.size())) {
    SHOAL_RETURN_IF_ERROR(StartDue());
    SHOAL_RETURN_IF_ERROR(Turn());
    const double now = Now();
    if (now - shown < kProgressSeconds && done_ < static_cast<int64_t>(requests_.size())) continue;
    shown = now;
    on_progress({.done = done_,
                 .failed = failed_,
                 .running = static_cast<int64_t>(streams_.size()),
                 .total = static_cast<int64_t>(requests_.size()),
                 .seconds = now});
  }
  return std::move(records_);
}

}  // namespace

absl::StatusOr<std::vector<RequestRecord>> GenerateLoad(
    const LoadOptions& options, const std::vector<PlannedRequest>& requests,
    const std::function<void(const Progress&)>& on_progress) {
  return Generator(options, requests).Run(on_progress);
}

absl::StatusOr<std::string> FirstModel(const LoadOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<ChatClient> client,
                         CreateChatClient(options.url, options.api_key));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> models, client->ListModels());
  if (models.empty()) {
    return absl::NotFoundError(absl::StrCat(options.url, " lists no model; name one with --model"));
  }
  return models.front();
}

}  // namespace shoal::app
