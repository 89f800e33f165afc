// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/openai/json_guard.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shoal::router {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Walks the text once before the document is built.
class Guard final : public nlohmann::json_sax<ordered_json> {
 public:
  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(number_integer_t) override { return Count(); }
  bool number_unsigned(number_unsigned_t) override { return Count(); }
  bool number_float(number_float_t, const string_t&) override { return Count(); }
  bool string(string_t&) override { return Count(); }
  bool binary(binary_t&) override { return Count(); }
  bool start_object(size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool start_array(size_t) override { return Enter(); }
  bool end_array() override { return Leave(); }

  bool key(string_t& name) override {
    if (keys_.back().size() >= kJsonKeysMax) {
      return Stop(absl::StrCat("an object has more than ", kJsonKeysMax, " keys"));
    }
    if (keys_.back().insert(name).second) return true;
    return Stop(absl::StrCat("the key \"", name.substr(0, 100), "\" appears twice"));
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // 406: a number beyond the range of a double.
    const char* what = error.id == 406 ? "a number is out of range" : "not valid JSON";
    return Stop(absl::StrCat(what, " (at byte ", position, ")"));
  }

  const std::string& problem() const { return problem_; }

 private:
  bool Count() {
    if (++values_ <= kJsonValuesMax) return true;
    return Stop(absl::StrCat("more than ", kJsonValuesMax, " values"));
  }
  bool Enter() {
    keys_.emplace_back();
    if (keys_.size() > static_cast<size_t>(kJsonDepthMax)) {
      return Stop(absl::StrCat("nested deeper than ", kJsonDepthMax, " levels"));
    }
    return Count();
  }
  bool Leave() {
    keys_.pop_back();
    return true;
  }
  bool Stop(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }

  std::vector<std::set<std::string>> keys_;  // per open object or array
  int64_t values_ = 0;
  std::string problem_;
};

}  // namespace

absl::StatusOr<ordered_json> ParseJson(const std::string& text) {
  Guard guard;
  if (!ordered_json::sax_parse(text, &guard)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request body is refused: ", guard.problem()));
  }
  ordered_json value = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return absl::InvalidArgumentError("the request body is not valid JSON");
  return value;
}

std::string DumpJson(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace shoal::router
