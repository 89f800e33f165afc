// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/http_server/request_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shoal::router {
namespace {

constexpr size_t kUrlBytesMax = 8 << 10;

// Line endings are CR LF, no line continues another, no NUL.
bool WellFormedLines(absl::string_view head) {
  for (size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\0') return false;
    if (head[i] == '\r' && (i + 1 >= head.size() || head[i + 1] != '\n')) return false;
    if (head[i] != '\n') continue;
    if (i == 0 || head[i - 1] != '\r') return false;
    if (i + 1 < head.size() && (head[i + 1] == ' ' || head[i + 1] == '\t')) return false;
  }
  return true;
}

// RFC 9110's token: what a field may be called. http_parser lets spaces through.
bool IsToken(absl::string_view name) {
  constexpr absl::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&kMarks](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           kMarks.find(c) != absl::string_view::npos;
  });
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool PercentDecode(absl::string_view text, std::string* out) {
  out->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = HexValue(text[i + 1]), low = HexValue(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return false;
    out->push_back(c);
  }
  return true;
}

RequestParser::RequestParser(ParserLimits limits) : limits_(limits) { Reset(); }

void RequestParser::Reset() {
  http_parser_init(&parser_, HTTP_REQUEST);
  parser_.data = this;
  phase_ = Phase::kHead;
  request_ = HttpRequest();
  url_.clear();
  value_follows_ = message_complete_ = headers_complete_ = false;
  keep_alive_ = http10_ = expects_continue_ = false;
  error_status_ = 0;
  error_message_.clear();
}

RequestParser& RequestParser::Self(http_parser* parser) {
  return *static_cast<RequestParser*>(parser->data);
}

const http_parser_settings& RequestParser::Settings() {
  static const http_parser_settings settings = [] {
    http_parser_settings s;
    http_parser_settings_init(&s);
    s.on_url = [](http_parser* p, const char* at, size_t length) {
      Self(p).url_.append(at, length);
      return 0;
    };
    s.on_header_field = [](http_parser* p, const char* at, size_t length) {
      return Self(p).OnHeaderField({at, length});
    };
    s.on_header_value = [](http_parser* p, const char* at, size_t length) {
      return Self(p).OnHeaderValue({at, length});
    };
    s.on_headers_complete = [](http_parser* p) {
      Self(p).headers_complete_ = true;
      return 0;
    };
    s.on_body = [](http_parser* p, const char* at, size_t length) {
      return Self(p).OnBody({at, length});
    };
    s.on_message_complete = [](http_parser* p) {
      Self(p).message_complete_ = true;
      http_parser_pause(p, 1);
      return 0;
    };
    return s;
  }();
  return settings;
}

int RequestParser::OnHeaderField(absl::string_view piece) {
  if (headers_complete_) return 0;  // trailers are dropped
  if (request_.headers.empty() || value_follows_) {
    if (request_.headers.size() >= limits_.headers_max) {
      Fail(431, "too many header fields");
      return 1;
    }
    request_.headers.emplace_back();
    value_follows_ = false;
  }
  absl::StrAppend(&request_.headers.back().first, absl::AsciiStrToLower(piece));
  return 0;
}

int RequestParser::OnHeaderValue(absl::string_view piece) {
  if (headers_complete_) return 0;
  value_follows_ = true;
  absl::StrAppend(&request_.headers.back().second, piece);
  return 0;
}

int RequestParser::OnBody(absl::string_view piece) {
  if (request_.body.size() + piece.size() > limits_.body_bytes_max) {
    Fail(413, absl::StrCat("the body is larger than ", limits_.body_bytes_max, " bytes"));
    return 1;
  }
  request_.body.append(piece.data(), piece.size());
  return 0;
}

RequestParser::Step RequestParser::Fail(int status, std::string message) {
  if (error_status_ == 0) {
    error_status_ = status;
    error_message_ = std::move(message);
  }
  return Step::kError;
}

RequestParser::Step RequestParser::Parse(std::string& input) {
  if (error_status_ != 0) return Step::kError;
  return phase_ == Phase::kHead ? ParseHead(input) : ParseBody(input);
}

RequestParser::Step RequestParser::ParseHead(std::string& input) {
  // Empty lines before a request are allowed (RFC 9112, 2.2).
  size_t skip = 0;
  while (absl::StartsWith(absl::string_view(input).substr(skip), "\r\n")) skip += 2;
  input.erase(0, skip);
  const size_t end = input.find("\r\n\r\n");
  const size_t head_size = end == std::string::npos ? input.size() : end + 4;
  if (head_size > limits_.header_bytes_max) {
    return Fail(431, absl::StrCat("the request's head is larger than ", limits_.header_bytes_max,
                                  " bytes"));
  }
  if (end == std::string::npos) {
    const size_t bare = input.find('\n');
    const bool framed = bare == std::string::npos || (bare > 0 && input[bare - 1] == '\r');
    return framed ? Step::kMore : Fail(400, "lines must end with CR LF");
  }
  const absl::string_view head = absl::string_view(input).substr(0, head_size);
  if (!WellFormedLines(head)) return Fail(400, "malformed header lines");
  const size_t parsed = http_parser_execute(&parser_, &Settings(), head.data(), head.size());
  const http_errno error = HTTP_PARSER_ERRNO(&parser_);
  if (error_status_ != 0) return Step::kError;
  if ((error != HPE_OK && error != HPE_PAUSED) || parsed != head.size() || !headers_complete_) {
    return Fail(400, absl::StrCat("not an HTTP/1.x request: ", http_errno_description(error)));
  }
  input.erase(0, head_size);
  return CheckHead();
}

RequestParser::Step RequestParser::CheckHead() {
  request_.method = http_method_str(static_cast<http_method>(parser_.method));
  if (parser_.http_major != 1) return Fail(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  http10_ = parser_.http_minor == 0;
  keep_alive_ = !http10_ && http_should_keep_alive(&parser_) != 0;
  size_t encodings = 0;
  for (auto& [name, value] : request_.headers) {
    if (!IsToken(name)) return Fail(400, "malformed header name");
    value = std::string(absl::StripAsciiWhitespace(value));
    if (name != "transfer-encoding") continue;
    ++encodings;
    if (!absl::EqualsIgnoreCase(value, "chunked") || encodings > 1 || http10_) {
      return Fail(400, "the only transfer encoding is chunked");
    }
  }
  if (url_.size() > kUrlBytesMax) return Fail(414, "the request target is too long");
  http_parser_url url;
  http_parser_url_init(&url);
  if (parser_.method == HTTP_CONNECT ||
      http_parser_parse_url(url_.data(), url_.size(), 0, &url) != 0 ||
      (url.field_set & (1 << UF_PATH)) == 0) {
    return Fail(400, "malformed request target");
  }
  const auto& path = url.field_data[UF_PATH];
  if (!PercentDecode(absl::string_view(url_).substr(path.off, path.len), &request_.path)) {
    return Fail(400, "malformed request target");
  }
  const absl::string_view expect = request_.Header("expect");
  if (!expect.empty() && !absl::EqualsIgnoreCase(expect, "100-continue")) {
    return Fail(417, "unknown expectation");
  }
  expects_continue_ = !expect.empty() && !http10_;
  request_.has_body = !message_complete_;
  if (encodings == 0 && request_.has_body && parser_.content_length > limits_.body_bytes_max) {
    return Fail(413, absl::StrCat("the body is larger than ", limits_.body_bytes_max, " bytes"));
  }
  if (message_complete_) return Step::kComplete;
  phase_ = Phase::kBody;
  return Step::kHeaders;
}

RequestParser::Step RequestParser::ParseBody(std::string& input) {
  if (input.empty()) return Step::kMore;
  const size_t parsed = http_parser_execute(&parser_, &Settings(), input.data(), input.size());
  const http_errno error = HTTP_PARSER_ERRNO(&parser_);
  if (error_status_ != 0) return Step::kError;
  if (error != HPE_OK && error != HPE_PAUSED) {
    return Fail(400, absl::StrCat("malformed body framing: ", http_errno_description(error)));
  }
  input.erase(0, std::min(parsed, input.size()));
  return message_complete_ ? Step::kComplete : Step::kMore;
}

absl::string_view HttpRequest::Header(absl::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

}  // namespace shoal::router
