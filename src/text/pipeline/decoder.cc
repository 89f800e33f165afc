// SPDX-License-Identifier: Apache-2.0
#include "text/pipeline/decoder.h"

#include <utility>

#include "text/models/byte_fallback.h"
#include "text/models/byte_level.h"

namespace shoal::text {
namespace {

using Start = DecoderDefinition::Start;

void ReplaceAll(absl::string_view from, absl::string_view to, std::string* text) {
  if (from.empty()) return;
  std::string result;
  size_t done = 0;
  for (size_t at = text->find(from.data(), 0, from.size()); at != std::string::npos;
       at = text->find(from.data(), done, from.size())) {
    result.append(*text, done, at - done);
    result.append(to.data(), to.size());
    done = at + from.size();
  }
  if (done == 0) return;
  result.append(*text, done);
  *text = std::move(result);
}

// What the reference takes back of the spaces between words.
void CleanUp(std::string* text) {
  static constexpr std::pair<const char*, const char*> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) ReplaceAll(from, to, text);
}

bool StartsWith(absl::string_view text, absl::string_view prefix) {
  return !prefix.empty() && text.substr(0, prefix.size()) == prefix;
}

}  // namespace

Decoder::Decoder(const DecoderDefinition& definition, const std::vector<TokenDefinition>& tokens)
    : definition_(definition) {
  const bool first_differs =
      definition.start == Start::kAllSpaces || definition.start == Start::kWordPiece;
  for (const TokenDefinition& token : tokens) {
    std::string bytes = token.kind == TokenKind::kAbsent ? std::string() : BytesOf(token);
    if (first_differs && token.kind != TokenKind::kAbsent) {
      std::string first = bytes;
      if (definition.start == Start::kAllSpaces) {
        ReplaceAll(definition.start_text, "", &first);
        ReplaceAll(definition.start_text, " ", &bytes);
      } else {
        const bool continues = StartsWith(bytes, definition.start_text);
        bytes = continues ? bytes.substr(definition.start_text.size()) : " " + bytes;
        if (definition.clean_up) {
          CleanUp(&first);
          CleanUp(&bytes);
        }
      }
      first_bytes_.push_back(std::move(first));
    } else if (first_differs) {
      first_bytes_.emplace_back();
    }
    bytes_.push_back(std::move(bytes));
  }
}

std::string Decoder::BytesOf(const TokenDefinition& token) const {
  if (definition_.byte_level && token.kind == TokenKind::kNormal) {
    if (auto bytes = DecodeByteLevel(token.spelling)) return *std::move(bytes);
  }
  if (definition_.byte_fallback) {
    const auto byte = ByteOfToken(token.spelling);
    if (byte) return std::string(1, static_cast<char>(*byte));
  }
  std::string bytes = token.spelling;
  for (const auto& [from, to] : definition_.replace) ReplaceAll(from, to, &bytes);
  return bytes;
}

void Decoder::Append(int32_t token, DecodeState* state, std::string* out) const {
  absl::string_view bytes = bytes_[token];
  if (state->at_start) {
    if (definition_.start == Start::kLeadingText) {
      while (StartsWith(bytes, definition_.start_text) &&
             state->dropped < definition_.start_count) {
        bytes.remove_prefix(definition_.start_text.size());
        ++state->dropped;
      }
      // A token of nothing but what was dropped leaves the text where it was.
      if (bytes.empty() && state->dropped < definition_.start_count) return;
    } else if (!first_bytes_.empty()) {
      bytes = first_bytes_[token];
    }
    state->at_start = false;
  }
  out->append(bytes.data(), bytes.size());
}

}  // namespace shoal::text
