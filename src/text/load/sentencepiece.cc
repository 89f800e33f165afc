// SPDX-License-Identifier: Apache-2.0
#include "text/load/sentencepiece.h"

#include <cstring>
#include <utility>

#include "base/status.h"

namespace shoal::text {
namespace {

constexpr size_t kPiecesMax = 4'000'000;

// Steps through the fields of one protobuf message.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : bytes_(bytes) {}

  // False at the end, and when what follows is malformed.
  bool Next() {
    if (position_ >= bytes_.size()) return false;
    uint64_t key = 0;
    if (!ReadVarint(&key)) return Fail();
    field_ = key >> 3;
    switch (key & 7u) {
      case 0:
        return ReadVarint(&number_) || Fail();
      case 1:
        return ReadFixed(8);
      case 2: {
        uint64_t size = 0;
        if (!ReadVarint(&size) || size > bytes_.size() - position_) return Fail();
        text_ = bytes_.substr(position_, size);
        position_ += size;
        return true;
      }
      case 5:
        return ReadFixed(4);
      default:
        return Fail();
    }
  }
  bool failed() const { return failed_; }
  uint64_t field() const { return field_; }
  // Of the field that Next came to, whichever of them it has.
  uint64_t number() const { return number_; }
  absl::string_view text() const { return text_; }
  float AsFloat() const {
    const uint32_t bits = static_cast<uint32_t>(number_);
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

 private:
  bool Fail() {
    failed_ = true;
    return false;
  }
  bool ReadVarint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64 && position_ < bytes_.size(); shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(bytes_[position_++]);
      *value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool ReadFixed(size_t size) {
    if (bytes_.size() - position_ < size) return Fail();
    number_ = 0;
    for (size_t i = size; i-- > 0;) {
      number_ = (number_ << 8) | static_cast<uint8_t>(bytes_[position_ + i]);
    }
    position_ += size;
    return true;
  }

  absl::string_view bytes_;
  size_t position_ = 0;
  uint64_t field_ = 0;
  uint64_t number_ = 0;
  absl::string_view text_;
  bool failed_ = false;
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a SentencePiece model: ", what));
}

struct Trainer {
  uint64_t model_type = 1;
  bool suffix_spaces = false;
  int64_t bos = 1;
  int64_t eos = 2;
};

absl::Status ReadPiece(absl::string_view bytes, TokenizerDefinition* definition) {
  TokenDefinition token;
  token.kind = TokenKind::kNormal;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) token.spelling = std::string(reader.text());
    if (reader.field() == 2) token.score = reader.AsFloat();
    if (reader.field() != 3) continue;
    static constexpr TokenKind kKinds[] = {TokenKind::kNormal,  TokenKind::kControl,
                                           TokenKind::kControl, TokenKind::kAdded,
                                           TokenKind::kUnused,  TokenKind::kByte};
    if (reader.number() < 1 || reader.number() > 6) {
      return Malformed(
          absl::StrCat("piece ", definition->tokens.size(), " has the type ", reader.number()));
    }
    token.kind = kKinds[reader.number() - 1];
    if (reader.number() == 2) {
      definition->model.unknown = static_cast<int32_t>(definition->tokens.size());
    }
  }
  if (reader.failed()) return Malformed("a piece is cut off");
  // User-defined pieces are looked for in the text as it is, where a space is a space.
  const std::string space = "\xE2\x96\x81";
  for (size_t at = 0; token.kind == TokenKind::kAdded &&
                      (at = token.spelling.find(space, at)) != std::string::npos;
       ++at) {
    token.spelling.replace(at, space.size(), 1, ' ');
  }
  if (definition->tokens.size() >= kPiecesMax) return Malformed("too many pieces");
  definition->tokens.push_back(std::move(token));
  return absl::OkStatus();
}

absl::Status ReadTrainer(absl::string_view bytes, Trainer* trainer) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 3) trainer->model_type = reader.number();
    if (reader.field() == 24) trainer->suffix_spaces = reader.number() != 0;
    if (reader.field() == 41) trainer->bos = static_cast<int32_t>(reader.number());
    if (reader.field() == 42) trainer->eos = static_cast<int32_t>(reader.number());
  }
  return reader.failed() ? Malformed("its trainer_spec is cut off") : absl::OkStatus();
}

absl::Status ReadNormalizerSpec(absl::string_view bytes, SentencePieceOptions* options) {
  WireReader reader(bytes);
  bool escape = true;
  options->prefix_first = true;
  options->collapse_spaces = true;
  while (reader.Next()) {
    if (reader.field() == 2) options->charsmap = std::string(reader.text());
    if (reader.field() == 3) options->prefix_first = reader.number() != 0;
    if (reader.field() == 4) options->collapse_spaces = reader.number() != 0;
    if (reader.field() == 5) escape = reader.number() != 0;
  }
  if (reader.failed()) return Malformed("its normalizer_spec is cut off");
  if (!escape) {
    return absl::InvalidArgumentError("normalizer_spec.escape_whitespaces false is not supported");
  }
  return absl::OkStatus();
}

}  // namespace

void ApplySentencePieceOptions(const SentencePieceOptions& options,
                               TokenizerDefinition* definition) {
  ModelDefinition& model = definition->model;
  model.kind = options.unigram ? ModelKind::kUnigram : ModelKind::kScoredBpe;
  model.unknown = options.unknown;
  model.fuse_unknown = true;
  model.single_precision = true;
  for (const TokenDefinition& token : definition->tokens) {
    model.byte_fallback |= token.kind == TokenKind::kByte;
  }
  NormalizerStep step;
  step.kind = NormalizerStep::Kind::kSentencePiece;
  step.charsmap = options.charsmap;
  step.prefix_first = options.prefix_first;
  step.prefix_always = options.prefix_always;
  step.collapse_spaces = options.collapse_spaces;
  definition->normalizer.push_back(std::move(step));
  DecoderDefinition& decoder = definition->decoder;
  decoder.replace.emplace_back("\xE2\x96\x81", " ");
  decoder.byte_fallback = model.byte_fallback;
  if (options.prefix_first || options.prefix_always) {
    decoder.start = DecoderDefinition::Start::kLeadingText;
    decoder.start_text.assign(1, ' ');
    decoder.start_count = 1;
  }
}

absl::StatusOr<TokenizerDefinition> ParseSentencePieceModel(absl::string_view bytes) {
  TokenizerDefinition definition;
  Trainer trainer;
  SentencePieceOptions options;
  options.prefix_first = true;
  options.collapse_spaces = true;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1) SHOAL_RETURN_IF_ERROR(ReadPiece(reader.text(), &definition));
    if (reader.field() == 2) SHOAL_RETURN_IF_ERROR(ReadTrainer(reader.text(), &trainer));
    if (reader.field() == 3) SHOAL_RETURN_IF_ERROR(ReadNormalizerSpec(reader.text(), &options));
  }
  if (reader.failed()) return Malformed("it is cut off");
  if (definition.tokens.empty()) return Malformed("it has no pieces");
  if (trainer.model_type != 1 && trainer.model_type != 2) {
    return absl::InvalidArgumentError(absl::StrCat("trainer_spec.model_type ", trainer.model_type,
                                                   " is not supported (1, "
                                                   "Unigram, and 2, BPE, are)"));
  }
  if (trainer.suffix_spaces) {
    return absl::InvalidArgumentError("trainer_spec.treat_whitespace_as_suffix is not supported");
  }
  options.unigram = trainer.model_type == 1;
  options.unknown = definition.model.unknown;
  ApplySentencePieceOptions(options, &definition);
  const int64_t size = static_cast<int64_t>(definition.tokens.size());
  if (trainer.bos >= 0 && trainer.bos < size) {
    definition.bos = static_cast<int32_t>(trainer.bos);
    definition.add_bos = true;
  }
  if (trainer.eos >= 0 && trainer.eos < size) {
    definition.eos.push_back(static_cast<int32_t>(trainer.eos));
  }
  return definition;
}

}  // namespace shoal::text
