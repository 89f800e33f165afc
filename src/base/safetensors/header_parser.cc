// SPDX-License-Identifier: Apache-2.0
#include "base/safetensors/header_parser.h"

#include <limits>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace shoal::safetensors {
namespace {

using nlohmann::json;

constexpr size_t kDimensionsMax = 8;
constexpr size_t kOffsetCount = 2;

// What the parser stands in. The format has exactly these places, so depth is bounded.
enum class Place { kOutside, kTop, kMetadata, kTensor, kShape, kOffsets };

class HeaderHandler final : public nlohmann::json_sax<json> {
 public:
  const std::string& error() const { return error_; }
  std::vector<HeaderEntry> Take() { return std::move(entries_); }

  bool null() override { return Fail("null is not allowed"); }
  bool boolean(bool) override { return Fail("a bool is not allowed"); }
  bool number_float(number_float_t, const string_t& text) override {
    return Fail(absl::StrCat(text, " is not a whole number"));
  }
  bool binary(binary_t&) override { return Fail("binary data is not allowed"); }

  bool number_integer(number_integer_t number) override {
    return Fail(absl::StrCat(number, " is negative"));
  }

  bool number_unsigned(number_unsigned_t number) override {
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Fail(absl::StrCat(number, " is too large"));
    }
    const auto value = static_cast<int64_t>(number);
    if (place_ == Place::kShape) {
      if (entry_.shape.size() == kDimensionsMax) return Fail("too many dimensions");
      entry_.shape.push_back(value);
      return true;
    }
    if (place_ == Place::kOffsets) {
      if (offsets_seen_ == kOffsetCount) return Fail("more than two data_offsets");
      (offsets_seen_++ == 0 ? entry_.begin : entry_.end) = value;
      return true;
    }
    return Fail("a number is not allowed here");
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) return true;
    if (place_ == Place::kTensor && key_ == "dtype") {
      entry_.dtype = text;
      return true;
    }
    return Fail("a string is not allowed here");
  }

  bool start_object(size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kTop;
      return true;
    }
    if (place_ != Place::kTop) return Fail("an object is not allowed here");
    if (key_ == "__metadata__") {
      place_ = Place::kMetadata;
      return true;
    }
    place_ = Place::kTensor;
    entry_ = HeaderEntry{.name = key_, .dtype = {}, .shape = {}};
    fields_.clear();
    offsets_seen_ = 0;
    return true;
  }

  bool key(string_t& text) override {
    if (place_ == Place::kTop && !names_.insert(text).second) {
      return Fail(absl::StrCat("\"", absl::CHexEscape(text), "\" appears twice"));
    }
    if (place_ == Place::kTensor) {
      if (text != "dtype" && text != "shape" && text != "data_offsets") {
        return Fail(absl::StrCat("unknown key \"", absl::CHexEscape(text), "\""));
      }
      if (!fields_.insert(text).second) return Fail(absl::StrCat(text, " appears twice"));
    }
    key_ = text;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      if (fields_.size() != 3) return Fail("needs dtype, shape and data_offsets");
      if (offsets_seen_ != kOffsetCount) return Fail("needs two data_offsets");
      entries_.push_back(std::move(entry_));
    }
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ == Place::kTensor && key_ == "shape") {
      place_ = Place::kShape;
    } else if (place_ == Place::kTensor && key_ == "data_offsets") {
      place_ = Place::kOffsets;
    } else {
      return Fail("a list is not allowed here");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    return Fail(absl::StrCat("malformed JSON at byte ", position));
  }

 private:
  bool Fail(std::string what) {
    const bool in_tensor = place_ != Place::kOutside && place_ != Place::kTop;
    error_ = in_tensor ? absl::StrCat("tensor \"", absl::CHexEscape(entry_.name), "\": ", what)
                       : std::move(what);
    return false;
  }

  Place place_ = Place::kOutside;
  std::string key_;
  HeaderEntry entry_;
  size_t offsets_seen_ = 0;
  std::set<std::string> fields_;
  std::set<std::string> names_;
  std::vector<HeaderEntry> entries_;
  std::string error_;
};

}  // namespace

absl::StatusOr<std::vector<HeaderEntry>> ParseHeader(absl::string_view text) {
  HeaderHandler handler;
  if (!json::sax_parse(text.begin(), text.end(), &handler)) {
    return absl::InvalidArgumentError(absl::StrCat("safetensors header: ", handler.error()));
  }
  return handler.Take();
}

int64_t DtypeBytes(absl::string_view dtype) {
  struct Row {
    absl::string_view name;
    int64_t bytes;
  };
  static constexpr Row kRows[] = {{"F32", 4},     {"F16", 2},     {"BF16", 2},    {"F64", 8},
                                  {"I64", 8},     {"I32", 4},     {"I16", 2},     {"I8", 1},
                                  {"U64", 8},     {"U32", 4},     {"U16", 2},     {"U8", 1},
                                  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1}, {"BOOL", 1}};
  for (const Row& row : kRows) {
    if (row.name == dtype) return row.bytes;
  }
  return 0;
}

}  // namespace shoal::safetensors
