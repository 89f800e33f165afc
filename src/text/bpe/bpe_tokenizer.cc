// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "text/bpe/added_tokens.h"
#include "text/bpe/bpe_definition.h"
#include "text/bpe/bpe_model.h"
#include "text/bpe/byte_level.h"
#include "text/bpe/pre_tokenizer.h"
#include "text/utf8.h"

namespace shoal::text {
namespace {

constexpr size_t kTextBytesMax = 16u << 20;
constexpr size_t kTokensMax = 4'000'000;
constexpr size_t kSpellingBytesMax = 64u << 10;
constexpr size_t kCachedPieceBytesMax = 64;
constexpr size_t kCachedPiecesMax = 1u << 16;

// Ids of the pieces already met in this call: text repeats its words.
struct PieceCache {
  struct Span {
    uint32_t begin = 0;
    uint32_t count = 0;
  };
  absl::flat_hash_map<absl::string_view, Span> spans;  // places in the call's output
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(BpeDefinition definition, BpeModel model, PreTokenizer pre_tokenizer,
               std::vector<std::string> bytes)
      : definition_(std::move(definition)),
        model_(std::move(model)),
        pre_tokenizer_(std::move(pre_tokenizer)),
        added_(definition_.tokens),
        bytes_(std::move(bytes)) {
    definition_.merges.clear();
    definition_.merges.shrink_to_fit();
    for (size_t id = 0; id < definition_.tokens.size(); ++id) {
      const TokenDefinition& token = definition_.tokens[id];
      if (token.kind != TokenKind::kAbsent) ids_.emplace(token.spelling, static_cast<int32_t>(id));
    }
  }

  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text,
                                              const EncodeOptions& options) const override {
    if (text.size() > kTextBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat("the text has ", text.size(),
                                                     " bytes; at most ", kTextBytesMax,
                                                     " can be tokenized at once"));
    }
    if (const size_t bad = FindIllFormed(text); bad != absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat("the text is not valid UTF-8 at byte ", bad));
    }
    std::vector<int32_t> tokens;
    tokens.reserve(text.size() / 3 + 8);
    const bool add_bos = options.add_special_tokens && definition_.add_bos && definition_.bos;
    if (add_bos) tokens.push_back(*definition_.bos);
    PieceCache cache;
    BpeModel::Scratch scratch;
    std::vector<absl::string_view> pieces;
    for (const TextPart& part :
         added_.Split(text, options.parse_special_tokens, options.plain_ranges)) {
      if (part.token >= 0) {
        // A text that brings its own BOS gets no second one.
        if (add_bos && part.begin == 0 && part.token == *definition_.bos) continue;
        tokens.push_back(part.token);
        continue;
      }
      pieces.clear();
      SHOAL_RETURN_IF_ERROR(
          pre_tokenizer_.Split(text.substr(part.begin, part.end - part.begin), &pieces));
      for (const absl::string_view piece : pieces) EncodeCached(piece, &cache, &scratch, &tokens);
    }
    return tokens;
  }

  absl::string_view TokenBytes(int32_t token) const override {
    return InRange(token) ? absl::string_view(bytes_[token]) : absl::string_view();
  }

  bool IsSpecial(int32_t token) const override {
    return InRange(token) && definition_.tokens[token].kind == TokenKind::kControl;
  }

  std::string Decode(const std::vector<int32_t>& tokens, bool skip_special) const override {
    std::string bytes;
    for (const int32_t token : tokens) {
      if (skip_special && IsSpecial(token)) continue;
      const absl::string_view piece = TokenBytes(token);
      bytes.append(piece.data(), piece.size());
    }
    std::string text;
    text.reserve(bytes.size());
    AppendReplacingIllFormed(bytes, &text);
    return text;
  }

  int32_t vocab_size() const override { return static_cast<int32_t>(bytes_.size()); }

  std::optional<int32_t> TokenId(absl::string_view spelling) const override {
    const auto found = ids_.find(spelling);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }

  std::optional<int32_t> bos() const override { return definition_.bos; }
  std::vector<int32_t> eos() const override { return definition_.eos; }

 private:
  bool InRange(int32_t token) const {
    return token >= 0 && static_cast<size_t>(token) < bytes_.size();
  }

  void EncodeCached(absl::string_view piece, PieceCache* cache, BpeModel::Scratch* scratch,
                    std::vector<int32_t>* tokens) const {
    if (piece.size() > kCachedPieceBytesMax) {
      model_.EncodePiece(piece, scratch, tokens);
      return;
    }
    const auto found = cache->spans.find(piece);
    if (found != cache->spans.end()) {
      for (uint32_t i = 0; i < found->second.count; ++i) {
        const int32_t token = (*tokens)[found->second.begin + i];
        tokens->push_back(token);
      }
      return;
    }
    const size_t begin = tokens->size();
    model_.EncodePiece(piece, scratch, tokens);
    if (cache->spans.size() < kCachedPiecesMax) {
      cache->spans.emplace(
          piece, PieceCache::Span{.begin = static_cast<uint32_t>(begin),
                                  .count = static_cast<uint32_t>(tokens->size() - begin)});
    }
  }

  BpeDefinition definition_;
  BpeModel model_;
  PreTokenizer pre_tokenizer_;
  AddedTokens added_;
  std::vector<std::string> bytes_;
  absl::flat_hash_map<std::string, int32_t> ids_;
};

absl::Status CheckToken(const TokenDefinition& token, size_t id) {
  if (token.kind == TokenKind::kAbsent) return absl::OkStatus();
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("tokenizer: token ", id, " ('",
                                                   absl::string_view(token.spelling).substr(0, 80),
                                                   "') ", what));
  };
  if (token.spelling.size() > kSpellingBytesMax) {
    return error(absl::StrCat("has ", token.spelling.size(), " bytes; at most ", kSpellingBytesMax,
                              " are allowed"));
  }
  if (FindIllFormed(token.spelling) != absl::string_view::npos) return error("is not valid UTF-8");
  const bool matched = token.kind == TokenKind::kAdded || token.kind == TokenKind::kControl;
  if (matched && token.spelling.empty()) return error("is an added token without text");
  return absl::OkStatus();
}

absl::Status CheckId(const BpeDefinition& definition, int32_t id, absl::string_view what) {
  if (id >= 0 && static_cast<size_t>(id) < definition.tokens.size() &&
      definition.tokens[id].kind != TokenKind::kAbsent) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("tokenizer: ", what, " is ", id,
                                                 ", which is not a token of the vocabulary (",
                                                 definition.tokens.size(), " ids)"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Tokenizer>> BuildBpeTokenizer(BpeDefinition definition) {
  if (definition.tokens.empty()) return absl::InvalidArgumentError("tokenizer: no tokens");
  if (definition.tokens.size() > kTokensMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokenizer: ", definition.tokens.size(), " tokens; at most ", kTokensMax));
  }
  std::vector<std::string> bytes(definition.tokens.size());
  absl::flat_hash_map<absl::string_view, size_t> seen;
  for (size_t id = 0; id < definition.tokens.size(); ++id) {
    const TokenDefinition& token = definition.tokens[id];
    SHOAL_RETURN_IF_ERROR(CheckToken(token, id));
    if (token.kind == TokenKind::kAbsent) continue;
    const auto [other, fresh] = seen.emplace(token.spelling, id);
    if (!fresh) {
      return absl::InvalidArgumentError(
          absl::StrCat("tokenizer: tokens ", other->second, " and ", id, " are both spelled '",
                       absl::string_view(token.spelling).substr(0, 80), "'"));
    }
    std::optional<std::string> decoded;
    if (token.kind == TokenKind::kNormal) decoded = DecodeByteLevel(token.spelling);
    bytes[id] = decoded ? std::move(*decoded) : token.spelling;
  }
  if (definition.bos) SHOAL_RETURN_IF_ERROR(CheckId(definition, *definition.bos, "the BOS id"));
  if (definition.unknown) {
    SHOAL_RETURN_IF_ERROR(CheckId(definition, *definition.unknown, "the unknown id"));
  }
  for (const int32_t id : definition.eos) {
    SHOAL_RETURN_IF_ERROR(CheckId(definition, id, "an EOS id"));
  }
  if (definition.add_bos && !definition.bos) {
    return absl::InvalidArgumentError("tokenizer: add_bos_token is set but there is no BOS token");
  }
  SHOAL_ASSIGN_OR_RETURN(BpeModel model, BpeModel::Create(definition));
  SHOAL_ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer,
                         PreTokenizer::Create(definition.pre_tokenizer));
  return std::make_shared<BpeTokenizer>(std::move(definition), std::move(model),
                                        std::move(pre_tokenizer), std::move(bytes));
}

}  // namespace shoal::text
