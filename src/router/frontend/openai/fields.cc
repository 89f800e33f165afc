// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/openai/fields.h"

#include <limits>
#include <utility>

#include "router/api_error.h"

namespace shoal::router {

using json = nlohmann::ordered_json;

std::optional<int64_t> AsInt64(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  return std::nullopt;
}

const json* Fields::Find(const char* name) const {
  const auto it = object_.find(name);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

void Fields::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void Fields::Fail(absl::string_view param, absl::string_view message) {
  Fail(BadParam(param, message));
}

std::optional<double> Fields::Number(const char* name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  Fail(name, "must be a number");
  return std::nullopt;
}

std::optional<int64_t> Fields::Integer(const char* name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> integer = AsInt64(*value);
  if (!integer.has_value()) Fail(name, "must be an integer");
  return integer;
}

std::optional<bool> Fields::Bool(const char* name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  Fail(name, "must be true or false");
  return std::nullopt;
}

std::optional<std::string> Fields::String(const char* name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  Fail(name, "must be a string");
  return std::nullopt;
}

std::optional<uint64_t> Fields::Seed(const char* name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<uint64_t>();
  if (value->is_number_integer()) return static_cast<uint64_t>(value->get<int64_t>());
  Fail(name, "must be an integer of 64 bits");
  return std::nullopt;
}

std::vector<std::string> Fields::Strings(const char* name) {
  const json* value = Find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  std::vector<std::string> out;
  bool ok = value->is_array();
  if (ok) {
    for (const json& item : *value) {
      ok = ok && item.is_string();
      if (ok) out.push_back(item.get<std::string>());
    }
  }
  if (ok) return out;
  Fail(name, "must be a string or a list of strings");
  return {};
}

std::vector<int64_t> Fields::Integers(const char* name) {
  const json* value = Find(name);
  if (value == nullptr) return {};
  std::vector<int64_t> out;
  bool ok = value->is_array();
  if (ok) {
    for (const json& item : *value) {
      const std::optional<int64_t> integer = AsInt64(item);
      ok = ok && integer.has_value();
      if (ok) out.push_back(*integer);
    }
  }
  if (ok) return out;
  Fail(name, "must be a list of integers");
  return {};
}

}  // namespace shoal::router
