// SPDX-License-Identifier: Apache-2.0
#include "base/safetensors/index_parser.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace shoal::safetensors {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 16;

// Keeps "weight_map" only; all else is skipped, but its depth is bounded.
class IndexHandler final : public nlohmann::json_sax<json> {
 public:
  const std::string& error() const { return error_; }
  bool found() const { return found_; }
  std::map<std::string, std::string> Take() { return std::move(map_); }

  bool null() override { return Other(); }
  bool boolean(bool) override { return Other(); }
  bool number_integer(number_integer_t) override { return Other(); }
  bool number_unsigned(number_unsigned_t) override { return Other(); }
  bool number_float(number_float_t, const string_t&) override { return Other(); }
  bool binary(binary_t&) override { return Other(); }
  bool start_array(size_t) override { return Other() && Deeper(); }
  bool end_array() override { return Shallower(); }

  bool string(string_t& shard) override {
    if (!in_map_) return Other();
    if (shard.empty() || shard[0] == '.' ||
        shard.find_first_of(std::string("/\\\0", 3)) != std::string::npos) {
      return Fail(absl::StrCat("tensor \"", absl::CHexEscape(key_), "\" is in \"",
                               absl::CHexEscape(shard), "\", which is not a plain file name"));
    }
    if (!map_.emplace(key_, shard).second) {
      return Fail(absl::StrCat("tensor \"", absl::CHexEscape(key_), "\" appears twice"));
    }
    return true;
  }

  bool start_object(size_t) override {
    if (in_map_) return Other();
    if (depth_ == 1 && key_ == "weight_map") {
      if (found_) return Fail("weight_map appears twice");
      found_ = in_map_ = true;
    }
    return Deeper();
  }

  bool end_object() override {
    in_map_ = false;
    return Shallower();
  }

  bool key(string_t& text) override {
    key_ = text;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    return Fail(absl::StrCat("malformed JSON at byte ", position));
  }

 private:
  bool Fail(std::string what) {
    error_ = std::move(what);
    return false;
  }
  // A value that is no shard name is fine anywhere but in the map.
  bool Other() { return !in_map_ || Fail("a weight_map value is not a string"); }
  bool Deeper() { return ++depth_ <= kDepthMax || Fail("nested too deeply"); }
  bool Shallower() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  bool in_map_ = false;
  bool found_ = false;
  std::string key_;
  std::map<std::string, std::string> map_;
  std::string error_;
};

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseIndex(absl::string_view text) {
  IndexHandler handler;
  if (!json::sax_parse(text.begin(), text.end(), &handler)) {
    return absl::InvalidArgumentError(absl::StrCat("safetensors index: ", handler.error()));
  }
  if (!handler.found()) {
    return absl::InvalidArgumentError("safetensors index: no weight_map");
  }
  return handler.Take();
}

}  // namespace shoal::safetensors
