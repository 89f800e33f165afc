// SPDX-License-Identifier: Apache-2.0
// RawClient: a blocking socket that speaks HTTP by hand, so that tests can also speak it wrongly.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace shoal::router {

struct RawResponse {
  int status = 0;                              // 0: the connection ended without one
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

class RawClient {
 public:
  explicit RawClient(int port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void Send(absl::string_view bytes);
  void Post(const std::string& path, const std::string& body, const std::string& headers = "");
  void Post(const std::string& path, const nlohmann::json& body) { Post(path, body.dump()); }
  void Get(const std::string& path, const std::string& headers = "");
  RawResponse Read(bool head = false);
  // The status line and headers only.
  RawResponse ReadHead();
  // Bytes up to and with `mark` (of a stream's raw body); empty when the connection ends first.
  std::string ReadUntil(absl::string_view mark);
  void EndInput();  // nothing more will be sent; reading goes on
  bool AtEnd();     // waits for the server to close
  void Close();

 private:
  bool Fill();
  std::string Take(size_t count);
  bool ReadChunked(std::string* body);

  int fd_;
  std::string buffer_;
};

// One request on its own connection.
RawResponse Fetch(int port, const std::string& path, const nlohmann::json& body);
RawResponse FetchText(int port, const std::string& path, const std::string& body);
RawResponse FetchGet(int port, const std::string& path, const std::string& headers = "");

// The payloads of an SSE body; comments are left out.
std::vector<std::string> SsePayloads(const std::string& body);

}  // namespace shoal::router
