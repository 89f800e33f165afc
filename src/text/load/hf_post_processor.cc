// SPDX-License-Identifier: Apache-2.0
#include "text/load/hf_post_processor.h"

#include <string>

#include "base/status.h"
#include "text/load/json_file.h"

namespace shoal::text {
namespace {

using nlohmann::json;

absl::Status Malformed() { return absl::InvalidArgumentError("post_processor is malformed"); }

// The one id behind a template's special token.
absl::StatusOr<int64_t> SpecialId(const json& processor, const json& piece) {
  const json& name = Member(piece, "id");
  if (!name.is_string()) return Malformed();
  const std::string& spelling = name.get_ref<const std::string&>();
  const json& ids = Member(Member(Member(processor, "special_tokens"), spelling), "ids");
  if (!ids.is_array() || ids.size() != 1 || !ids[0].is_number_integer()) {
    return absl::InvalidArgumentError(absl::StrCat("post_processor: the special token '", spelling,
                                                   "' must stand for exactly one id"));
  }
  return ids[0].get<int64_t>();
}

absl::StatusOr<AddedByPostProcessor> ReadTemplate(const json& processor) {
  AddedByPostProcessor added;
  bool seen_text = false;
  const json& single = Member(processor, "single");
  if (!single.is_array()) return Malformed();
  for (const json& piece : single) {
    if (!piece.is_object()) return Malformed();
    if (piece.contains("Sequence")) {
      if (seen_text) return Malformed();
      seen_text = true;
      continue;
    }
    if (!piece.contains("SpecialToken")) return Malformed();
    SHOAL_ASSIGN_OR_RETURN(const int64_t id, SpecialId(processor, Member(piece, "SpecialToken")));
    std::optional<int64_t>& place = seen_text ? added.last : added.first;
    if (place) {
      return absl::InvalidArgumentError(
          "a post_processor that adds several tokens is not supported");
    }
    place = id;
  }
  if (!seen_text) return Malformed();
  return added;
}

// ["[CLS]", 101]: the id.
absl::StatusOr<std::optional<int64_t>> IdOfPair(const json& pair) {
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_integer()) return Malformed();
  return std::optional<int64_t>(pair[1].get<int64_t>());
}

}  // namespace

absl::StatusOr<AddedByPostProcessor> ReadPostProcessor(const json& processor) {
  AddedByPostProcessor added;
  if (processor.is_null()) return added;
  if (!processor.is_object()) return Malformed();
  const json& type = Member(processor, "type");
  if (type == "ByteLevel") return added;
  if (type == "TemplateProcessing") return ReadTemplate(processor);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    SHOAL_ASSIGN_OR_RETURN(added.first, IdOfPair(Member(processor, "cls")));
    SHOAL_ASSIGN_OR_RETURN(added.last, IdOfPair(Member(processor, "sep")));
    return added;
  }
  if (type == "Sequence" && Member(processor, "processors").is_array()) {
    for (const json& part : Member(processor, "processors")) {
      if (Member(part, "type") == "Sequence") {
        return absl::InvalidArgumentError("nested post_processor sequences are not supported");
      }
      SHOAL_ASSIGN_OR_RETURN(const AddedByPostProcessor one, ReadPostProcessor(part));
      if ((one.first && added.first) || (one.last && added.last)) {
        return absl::InvalidArgumentError(
            "a post_processor that adds several tokens is not supported");
      }
      if (one.first) added.first = one.first;
      if (one.last) added.last = one.last;
    }
    return added;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the post_processor ", type.is_string() ? type.get<std::string>() : "(untyped)",
                   " is not supported"));
}

}  // namespace shoal::text
