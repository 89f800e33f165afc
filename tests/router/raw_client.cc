// SPDX-License-Identifier: Apache-2.0
#include "router/raw_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace shoal::router {

RawClient::RawClient(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{20, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const int code = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  EXPECT_EQ(code, 0) << "cannot connect";
}

RawClient::~RawClient() { Close(); }

void RawClient::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void RawClient::EndInput() { EXPECT_EQ(shutdown(fd_, SHUT_WR), 0); }

void RawClient::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server has closed; the test sees its answer
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void RawClient::Post(const std::string& path, const std::string& body, const std::string& headers) {
  Send(absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: t\r\nContent-Length: ", body.size(), "\r\n",
                    headers, "\r\n", body));
}

void RawClient::Get(const std::string& path, const std::string& headers) {
  Send(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: t\r\n", headers, "\r\n"));
}

bool RawClient::Fill() {
  char chunk[16384];
  const ssize_t got = recv(fd_, chunk, sizeof(chunk), 0);
  if (got <= 0) return false;
  buffer_.append(chunk, static_cast<size_t>(got));
  return true;
}

std::string RawClient::Take(size_t count) {
  while (buffer_.size() < count && Fill()) {
  }
  std::string out = buffer_.substr(0, count);
  buffer_.erase(0, out.size());
  return out;
}

std::string RawClient::ReadUntil(absl::string_view mark) {
  size_t at;
  while ((at = buffer_.find(std::string(mark))) == std::string::npos) {
    if (!Fill()) return "";
  }
  return Take(at + mark.size());
}

RawResponse RawClient::ReadHead() {
  RawResponse response;
  const std::string head = ReadUntil("\r\n\r\n");
  const std::vector<std::string> lines = absl::StrSplit(head, "\r\n");
  if (!absl::StartsWith(head, "HTTP/1.1 ")) return response;
  response.status = std::atoi(lines[0].c_str() + 9);
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = lines[i].find(": ");
    if (colon == std::string::npos) continue;
    response.headers[absl::AsciiStrToLower(lines[i].substr(0, colon))] = lines[i].substr(colon + 2);
  }
  return response;
}

bool RawClient::ReadChunked(std::string* body) {
  while (true) {
    const std::string line = ReadUntil("\r\n");
    if (line.empty()) return false;
    const size_t size = std::strtoul(line.c_str(), nullptr, 16);
    *body += Take(size);
    if (Take(2) != "\r\n") return false;
    if (size == 0) return true;
  }
}

RawResponse RawClient::Read(bool head) {
  RawResponse response = ReadHead();
  const bool bodiless = response.status == 100 || response.status == 204;
  if (head || response.status == 0 || bodiless) return response;
  if (response.headers.count("transfer-encoding") > 0) {
    ReadChunked(&response.body);
  } else if (response.headers.count("content-length") > 0) {
    response.body = Take(std::strtoul(response.headers["content-length"].c_str(), nullptr, 10));
  } else {
    while (Fill()) {
    }
    response.body = Take(buffer_.size());
  }
  return response;
}

bool RawClient::AtEnd() {
  char byte;
  return recv(fd_, &byte, 1, 0) == 0;
}

RawResponse Fetch(int port, const std::string& path, const nlohmann::json& body) {
  return FetchText(port, path, body.dump());
}

RawResponse FetchText(int port, const std::string& path, const std::string& body) {
  RawClient client(port);
  client.Post(path, body);
  return client.Read();
}

RawResponse FetchGet(int port, const std::string& path, const std::string& headers) {
  RawClient client(port);
  client.Get(path, headers);
  return client.Read();
}

std::vector<std::string> SsePayloads(const std::string& body) {
  std::vector<std::string> payloads;
  for (const absl::string_view event : absl::StrSplit(body, "\n\n")) {
    if (absl::StartsWith(event, "data: ")) payloads.emplace_back(event.substr(6));
  }
  return payloads;
}

}  // namespace shoal::router
