// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "text/load/hf_parts.h"
#include "text/utf8.h"

namespace shoal::text {
namespace {

using nlohmann::json;
using Start = DecoderDefinition::Start;

// Reads the steps one after the other.
class Reader {
 public:
  explicit Reader(DecoderDefinition* decoder) : decoder_(decoder) {}

  absl::Status Read(const json& part, const std::string& path) {
    const std::string type = TypeOf(part);
    if (whole_) return Refuse(absl::StrCat(path, ": the decoder ", type, " after another one"));
    if (type == "Fuse") {
      fused_ = true;
      return absl::OkStatus();
    }
    if (type == "Strip") return ReadStrip(part, path);
    if (fused_) return Refuse(absl::StrCat(path, ": the decoder ", type, " after Fuse"));
    if (type == "ByteFallback") {
      decoder_->byte_fallback = true;
      return absl::OkStatus();
    }
    if (type == "Replace") return ReadReplace(part, path);
    whole_ = true;
    if (type == "ByteLevel") {
      decoder_->byte_level = true;
      return absl::OkStatus();
    }
    if (type == "Metaspace") return ReadMetaspace(part, path);
    if (type == "WordPiece") {
      decoder_->start = Start::kWordPiece;
      decoder_->clean_up = Flag(part, "cleanup", true);
      SHOAL_ASSIGN_OR_RETURN(decoder_->start_text, StringMember(part, "prefix", path));
      return absl::OkStatus();
    }
    return Refuse(absl::StrCat(path, ": the decoder ", type));
  }

 private:
  absl::Status ReadStrip(const json& part, const std::string& path) {
    const json& start = Member(part, "start");
    const json& stop = Member(part, "stop");
    if (!start.is_number_unsigned() || !stop.is_number_unsigned()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": start and stop are no counts"));
    }
    if (stop != 0) return Refuse(absl::StrCat(path, ".stop ", stop.dump()));
    if (start == 0) return absl::OkStatus();
    SHOAL_ASSIGN_OR_RETURN(decoder_->start_text, StringMember(part, "content", path));
    const bool ascii = decoder_->start_text.size() == 1;
    if (!fused_ || !ascii || start.get<uint64_t>() > 1000) {
      return Refuse(absl::StrCat(path,
                                 ": a Strip before Fuse, or of other than one ASCII "
                                 "character,"));
    }
    decoder_->start = Start::kLeadingText;
    decoder_->start_count = start.get<int>();
    whole_ = true;
    return absl::OkStatus();
  }

  absl::Status ReadReplace(const json& part, const std::string& path) {
    const json& pattern = Member(part, "pattern");
    if (!Member(pattern, "String").is_string()) {
      return Refuse(absl::StrCat(path, ".pattern: a Replace of other than a String"));
    }
    SHOAL_ASSIGN_OR_RETURN(std::string content, StringMember(part, "content", path));
    decoder_->replace.emplace_back(pattern["String"].get<std::string>(), std::move(content));
    return absl::OkStatus();
  }

  absl::Status ReadMetaspace(const json& part, const std::string& path) {
    SHOAL_ASSIGN_OR_RETURN(const std::string replacement, StringMember(part, "replacement", path));
    const json& scheme = Member(part, "prepend_scheme");
    const bool prefix = scheme.is_null() ? Flag(part, "add_prefix_space", true) : scheme != "never";
    if (prefix) {
      decoder_->start = Start::kAllSpaces;
      decoder_->start_text = replacement;
    } else {
      decoder_->replace.emplace_back(replacement, " ");
    }
    return absl::OkStatus();
  }

  DecoderDefinition* decoder_;
  bool fused_ = false;
  bool whole_ = false;  // a decoder that must be the last one has been read
};

}  // namespace

absl::Status ReadDecoder(const json& decoder, TokenizerDefinition* definition) {
  SHOAL_ASSIGN_OR_RETURN(const Chain chain, FlattenChain(decoder, "decoders", "decoder"));
  if (chain.parts.empty()) return Refuse("decoder: a tokenizer without one");
  Reader reader(&definition->decoder);
  for (size_t i = 0; i < chain.parts.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(reader.Read(*chain.parts[i], chain.paths[i]));
  }
  const bool byte_level = definition->model.kind == ModelKind::kByteLevelBpe;
  if (byte_level != definition->decoder.byte_level) {
    return Refuse(
        "decoder: a decoder that does not suit the pre_tokenizer (ByteLevel in only one "
        "of them)");
  }
  return absl::OkStatus();
}

}  // namespace shoal::text
