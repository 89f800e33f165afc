// SPDX-License-Identifier: Apache-2.0
// A tiny tokenizer and chat template: one token per byte, a few longer ones, two control tokens.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "text/chat_template.h"
#include "text/messages.h"
#include "text/tokenizer.h"

namespace shoal::router {

inline constexpr int32_t kEos = 256;
inline constexpr int32_t kBos = 257;
inline constexpr int32_t kComma = 258;  // " comma,"
inline constexpr int32_t kHello = 259;  // "Hello"
inline constexpr int32_t kFakeVocab = 260;

class FakeTokenizer final : public text::Tokenizer {
 public:
  FakeTokenizer() {
    for (int i = 0; i < 256; ++i) bytes_.emplace_back(1, static_cast<char>(i));
    for (const char* text : {"<eos>", "<bos>", " comma,", "Hello"}) bytes_.emplace_back(text);
  }
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text,
                                              const text::EncodeOptions&) const override {
    std::vector<int32_t> ids;
    for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
    return ids;
  }
  absl::string_view TokenBytes(int32_t token) const override {
    return bytes_[static_cast<size_t>(token)];
  }
  bool IsSpecial(int32_t token) const override { return token == kEos || token == kBos; }
  std::string Decode(const std::vector<int32_t>& tokens, bool skip_special) const override {
    std::string text;
    for (const int32_t token : tokens) {
      if (!(skip_special && IsSpecial(token))) text += bytes_[static_cast<size_t>(token)];
    }
    return text;
  }
  int32_t vocab_size() const override { return kFakeVocab; }
  std::optional<int32_t> TokenId(absl::string_view spelling) const override {
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (bytes_[i] == spelling) return static_cast<int32_t>(i);
    }
    return std::nullopt;
  }
  std::optional<int32_t> bos() const override { return kBos; }
  std::vector<int32_t> eos() const override { return {kEos}; }

 private:
  std::vector<std::string> bytes_;
};

// "user:hi\n"; refuses the role "critic".
class FakeTemplate final : public text::ChatTemplate {
 public:
  absl::StatusOr<std::string> Render(const nlohmann::ordered_json& messages,
                                     const nlohmann::ordered_json& variables,
                                     const text::RenderOptions&) const override {
    auto normal = text::NormalizeMessages(messages, /*join_parts=*/true);
    if (!normal.ok()) return normal.status();
    std::string out;
    if (variables.contains("tools")) out += "[tools]";
    for (const auto& message : *normal) {
      const std::string role = message["role"];
      if (role == "critic") return absl::InvalidArgumentError("line 1: no critics");
      out += role + ":" + std::string(message["content"]) + "\n";
    }
    return out;
  }
  absl::StatusOr<std::vector<int32_t>> RenderTokens(
      const text::Tokenizer& tokenizer, const nlohmann::ordered_json& messages,
      const nlohmann::ordered_json& variables, const text::RenderOptions& options) const override {
    auto text = Render(messages, variables, options);
    if (!text.ok()) return text.status();
    return tokenizer.Encode(*text, {});
  }
};

inline std::vector<int32_t> Bytes(const std::string& text) {
  std::vector<int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
  return ids;
}

}  // namespace shoal::router
