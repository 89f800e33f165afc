// SPDX-License-Identifier: Apache-2.0
#include "model/spec/hf_json.h"

#include "absl/strings/str_cat.h"

namespace shoal::model {
namespace {

std::string Show(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<int64_t> ToSize(const char* key, const Json& value, int64_t max) {
  const std::string rule = absl::StrCat("must be an integer in [1, ", max, "]");
  if (!value.is_number_integer()) return Bad(key, value, rule);
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(max)) {
    return Bad(key, value, rule);
  }
  const auto number = value.get<int64_t>();
  if (number < 1 || number > max) return Bad(key, value, rule);
  return number;
}

}  // namespace

absl::Status Bad(absl::string_view key, const Json& value, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(key, " = ", Show(value), ": ", rule));
}

const Json* Find(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

absl::StatusOr<int64_t> Size(const Json& object, const char* key, int64_t max) {
  const Json* value = Find(object, key);
  if (value == nullptr) return absl::InvalidArgumentError(absl::StrCat(key, " is absent"));
  return ToSize(key, *value, max);
}

absl::StatusOr<int64_t> SizeOr(const Json& object, const char* key, int64_t fallback) {
  const Json* value = Find(object, key);
  if (value == nullptr) return fallback;
  return ToSize(key, *value, kHfSizeMax);
}

absl::StatusOr<double> NumberOr(const Json& object, const char* key, double fallback) {
  const Json* value = Find(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_number()) return Bad(key, *value, "must be a number");
  return value->get<double>();
}

absl::StatusOr<bool> BoolOr(const Json& object, const char* key, bool fallback) {
  const Json* value = Find(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return Bad(key, *value, "must be true or false");
  return value->get<bool>();
}

absl::StatusOr<std::vector<float>> Numbers(const Json& object, const char* key) {
  std::vector<float> numbers;
  const Json* list = Find(object, key);
  if (list == nullptr) return numbers;
  if (!list->is_array()) return Bad(key, *list, "must be a list of numbers");
  for (const Json& item : *list) {
    if (!item.is_number()) return Bad(key, item, "must be a number");
    numbers.push_back(item.get<float>());
  }
  return numbers;
}

absl::StatusOr<Json> ParseObject(absl::string_view text, absl::string_view name) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not valid JSON"));
  }
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not a JSON object"));
  }
  return json;
}

}  // namespace shoal::model
