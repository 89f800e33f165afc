// SPDX-License-Identifier: Apache-2.0
// Flags: the strict argument parser of every subcommand.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shoal::app {

struct FlagSpec {
  std::string name;         // "--url" without the dashes
  std::string placeholder;  // "URL"; empty: a switch without a value
  std::string help;
  bool repeated = false;
};

// What a subcommand takes.
struct CommandSpec {
  std::string name;
  std::string positional;  // "CONFIG"; empty: none. Exactly one where named.
  std::string summary;
  std::vector<FlagSpec> flags;
};

// Parsed arguments. `--name value` and `--name=value` are the same.
class Flags {
 public:
  // INVALID_ARGUMENT for unknown flags, missing values and surplus arguments.
  static absl::StatusOr<Flags> Parse(const CommandSpec& spec,
                                     const std::vector<std::string>& arguments);

  const std::string& positional() const { return positional_; }
  bool Has(const std::string& name) const { return values_.contains(name); }
  // The last value given, or `fallback`.
  std::string Get(const std::string& name, const std::string& fallback = "") const;
  std::vector<std::string> GetAll(const std::string& name) const;
  // The value as an integer in [low, high]; `fallback` when absent.
  absl::StatusOr<int64_t> GetInt(const std::string& name, int64_t fallback, int64_t low,
                                 int64_t high) const;
  absl::StatusOr<double> GetDouble(const std::string& name, double fallback, double low,
                                   double high) const;

 private:
  std::string positional_;
  std::map<std::string, std::vector<std::string>> values_;
};

// Multi-line usage text.
std::string Usage(const CommandSpec& spec);

}  // namespace shoal::app
