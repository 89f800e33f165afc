// SPDX-License-Identifier: Apache-2.0
// Fields: typed reading of a JSON object's members. The first problem is kept; reading goes on with
// absent values, so that a caller checks once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace shoal::router {

// Refers to `object`, which outlives it. A member that is null counts as absent.
class Fields {
 public:
  explicit Fields(const nlohmann::ordered_json& object) : object_(object) {}

  const nlohmann::ordered_json* Find(const char* name) const;
  std::optional<double> Number(const char* name);
  std::optional<int64_t> Integer(const char* name);
  std::optional<bool> Bool(const char* name);
  std::optional<std::string> String(const char* name);
  // [-2^63, 2^64): negative ones are taken modulo 2^64.
  std::optional<uint64_t> Seed(const char* name);
  // A string or a list of strings.
  std::vector<std::string> Strings(const char* name);
  std::vector<int64_t> Integers(const char* name);

  void Fail(absl::Status status);
  void Fail(absl::string_view param, absl::string_view message);
  const absl::Status& status() const { return status_; }

 private:
  const nlohmann::ordered_json& object_;
  absl::Status status_;
};

// An integer that fits int64_t; nullopt for anything else, also for 2.0.
std::optional<int64_t> AsInt64(const nlohmann::ordered_json& value);

}  // namespace shoal::router
