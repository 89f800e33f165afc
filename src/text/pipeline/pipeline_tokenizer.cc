// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "text/models/byte_fallback.h"
#include "text/models/model.h"
#include "text/pipeline/added_tokens.h"
#include "text/pipeline/decoder.h"
#include "text/pipeline/normalizer.h"
#include "text/pipeline/pre_tokenizer.h"
#include "text/tokenizer_definition.h"
#include "text/utf8.h"

namespace shoal::text {
namespace {

constexpr size_t kTextBytesMax = 16u << 20;
constexpr size_t kTokensMax = 4'000'000;
constexpr size_t kSpellingBytesMax = 64u << 10;
constexpr size_t kCachedPieceBytesMax = 64;
constexpr size_t kCachedPiecesMax = 1u << 16;

// One call's work: nothing of it outlives the call.
struct Work {
  struct Span {
    uint32_t begin = 0;
    uint32_t count = 0;
  };
  // Places in `tokens` of the pieces already met: text repeats its words.
  absl::flat_hash_map<absl::string_view, Span> known;
  std::deque<std::string> storage;  // changed texts, which pieces point into
  std::vector<absl::string_view> pieces;
  std::vector<absl::string_view> parts;
  ModelScratch scratch;
  std::vector<int32_t> tokens;
};

class PipelineTokenizer final : public Tokenizer {
 public:
  PipelineTokenizer(TokenizerDefinition definition, std::unique_ptr<const Model> model,
                    Normalizer normalizer, AddedTokens added, Decoder decoder)
      : definition_(std::move(definition)),
        model_(std::move(model)),
        normalizer_(std::move(normalizer)),
        pre_tokenizer_(definition_.pre_tokenizer),
        added_(std::move(added)),
        decoder_(std::move(decoder)) {
    definition_.model.merges.clear();
    definition_.model.merges.shrink_to_fit();
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
    Work work;
    work.tokens.reserve(text.size() / 3 + 8);
    const AddedTokens::Rules rules{.parse_control = options.parse_special_tokens,
                                   .plain = &options.plain_ranges};
    const std::vector<TextPart> parts = added_.Split(AddedTokens::Pass::kRaw, text, rules);
    for (const TextPart& part : parts) {
      if (part.token >= 0) {
        work.tokens.push_back(part.token);
        continue;
      }
      const PartPlace place{.first = part.begin == 0, .last = part.end == text.size()};
      SHOAL_RETURN_IF_ERROR(EncodePart(text.substr(part.begin, part.end - part.begin), part.begin,
                                       place, options, &work));
    }
    // A text that brings its own BOS gets no second one.
    if (options.add_special_tokens && definition_.add_bos && definition_.bos &&
        (work.tokens.empty() || work.tokens[0] != *definition_.bos)) {
      work.tokens.insert(work.tokens.begin(), *definition_.bos);
    }
    return std::move(work.tokens);
  }

  absl::string_view TokenBytes(int32_t token) const override {
    return InRange(token) ? decoder_.Bytes(token) : absl::string_view();
  }

  void AppendTokenBytes(int32_t token, DecodeState* state, std::string* out) const override {
    if (InRange(token)) decoder_.Append(token, state, out);
  }

  bool IsSpecial(int32_t token) const override {
    return InRange(token) && definition_.tokens[token].kind == TokenKind::kControl;
  }

  std::string Decode(const std::vector<int32_t>& tokens, bool skip_special) const override {
    std::string bytes;
    DecodeState state;
    for (const int32_t token : tokens) {
      if (skip_special && IsSpecial(token)) continue;
      AppendTokenBytes(token, &state, &bytes);
    }
    std::string text;
    text.reserve(bytes.size());
    AppendReplacingIllFormed(bytes, &text);
    return text;
  }

  int32_t vocab_size() const override { return static_cast<int32_t>(decoder_.size()); }

  std::optional<int32_t> TokenId(absl::string_view spelling) const override {
    const auto found = ids_.find(spelling);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }

  std::optional<int32_t> bos() const override { return definition_.bos; }
  std::vector<int32_t> eos() const override { return definition_.eos; }

 private:
  bool InRange(int32_t token) const {
    return token >= 0 && static_cast<size_t>(token) < decoder_.size();
  }

  // `part` begins at byte `offset` of the whole text.
  absl::Status EncodePart(absl::string_view part, size_t offset, const PartPlace& place,
                          const EncodeOptions& options, Work* work) const {
    AddedTokens::Rules rules{.parse_control = options.parse_special_tokens};
    NormalizedText normalized;
    const bool second_pass = added_.Has(AddedTokens::Pass::kNormalized);
    if (second_pass) {
      normalized.track = !options.plain_ranges.empty();
      if (normalized.track) normalized.marks = MarksOf(part, offset, options.plain_ranges);
      rules.marks = normalized.track ? &normalized.marks : nullptr;
    }
    if (!normalizer_.empty() || second_pass) {
      normalized.text = std::string(part);
      SHOAL_RETURN_IF_ERROR(normalizer_.Apply(place, &normalized));
      work->storage.push_back(std::move(normalized.text));
      part = work->storage.back();
    }
    if (!second_pass) return EncodePlain(part, place.first, work);
    for (const TextPart& inner : added_.Split(AddedTokens::Pass::kNormalized, part, rules)) {
      if (inner.token >= 0) {
        work->tokens.push_back(inner.token);
        continue;
      }
      SHOAL_RETURN_IF_ERROR(EncodePlain(part.substr(inner.begin, inner.end - inner.begin),
                                        place.first && inner.begin == 0, work));
    }
    return absl::OkStatus();
  }

  static std::string MarksOf(absl::string_view part, size_t offset,
                             const std::vector<ByteRange>& ranges) {
    std::string marks(part.size(), '\0');
    for (const ByteRange& range : ranges) {
      const size_t begin = std::max(range.begin, offset);
      const size_t end = std::min(range.end, offset + part.size());
      for (size_t i = begin; i < end; ++i) marks[i - offset] = '\1';
    }
    return marks;
  }

  absl::Status EncodePlain(absl::string_view text, bool first, Work* work) const {
    SHOAL_RETURN_IF_ERROR(pre_tokenizer_.Split(text, first, &work->storage, &work->pieces));
    for (const absl::string_view piece : work->pieces) {
      if (piece.size() <= kCachedPieceBytesMax) {
        EncodeCached(piece, work);
        continue;
      }
      work->parts.clear();
      model_->Cut(piece, &work->parts);
      for (const absl::string_view part : work->parts) EncodeCached(part, work);
    }
    return absl::OkStatus();
  }

  void EncodeCached(absl::string_view piece, Work* work) const {
    auto& tokens = work->tokens;
    if (piece.size() > kCachedPieceBytesMax) {
      model_->EncodePiece(piece, &work->scratch, &tokens);
      return;
    }
    const auto found = work->known.find(piece);
    if (found != work->known.end()) {
      for (uint32_t i = 0; i < found->second.count; ++i) {
        const int32_t token = tokens[found->second.begin + i];
        tokens.push_back(token);
      }
      return;
    }
    const size_t begin = tokens.size();
    model_->EncodePiece(piece, &work->scratch, &tokens);
    if (work->known.size() < kCachedPiecesMax) {
      work->known.emplace(piece, Work::Span{.begin = static_cast<uint32_t>(begin),
                                            .count = static_cast<uint32_t>(tokens.size() - begin)});
    }
  }

  TokenizerDefinition definition_;
  std::unique_ptr<const Model> model_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  AddedTokens added_;
  Decoder decoder_;
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
  if (token.kind == TokenKind::kByte && !ByteOfToken(token.spelling)) {
    return error("is a byte token but names no byte (as <0x0A> does)");
  }
  if (std::isnan(token.score)) return error("has a score that is no number");
  return absl::OkStatus();
}

absl::Status CheckId(const TokenizerDefinition& definition, int32_t id, absl::string_view what) {
  if (id >= 0 && static_cast<size_t>(id) < definition.tokens.size() &&
      definition.tokens[id].kind != TokenKind::kAbsent) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("tokenizer: ", what, " is ", id,
                                                 ", which is not a token of the vocabulary (",
                                                 definition.tokens.size(), " ids)"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Tokenizer>> BuildTokenizer(TokenizerDefinition definition) {
  if (definition.tokens.empty()) return absl::InvalidArgumentError("tokenizer: no tokens");
  if (definition.tokens.size() > kTokensMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokenizer: ", definition.tokens.size(), " tokens; at most ", kTokensMax));
  }
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
  }
  if (definition.bos) SHOAL_RETURN_IF_ERROR(CheckId(definition, *definition.bos, "the BOS id"));
  if (definition.model.unknown) {
    SHOAL_RETURN_IF_ERROR(CheckId(definition, *definition.model.unknown, "the unknown id"));
  }
  for (const int32_t id : definition.eos) {
    SHOAL_RETURN_IF_ERROR(CheckId(definition, id, "an EOS id"));
  }
  if (definition.add_bos && !definition.bos) {
    return absl::InvalidArgumentError("tokenizer: add_bos_token is set but there is no BOS token");
  }
  SHOAL_ASSIGN_OR_RETURN(Normalizer normalizer, Normalizer::Create(definition.normalizer));
  // A token that is looked for in normalized text stands for what it is there.
  std::vector<TokenDefinition> tokens = definition.tokens;
  for (TokenDefinition& token : tokens) {
    if (!token.normalized || normalizer.empty()) continue;
    NormalizedText text;
    text.text = std::move(token.spelling);
    SHOAL_RETURN_IF_ERROR(normalizer.Apply(PartPlace(), &text));
    token.spelling = std::move(text.text);
  }
  AddedTokens added(tokens);
  Decoder decoder(definition.decoder, tokens);
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<const Model> model, MakeModel(definition));
  return std::make_shared<PipelineTokenizer>(std::move(definition), std::move(model),
                                             std::move(normalizer), std::move(added),
                                             std::move(decoder));
}

}  // namespace shoal::text
