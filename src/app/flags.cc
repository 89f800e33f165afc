// SPDX-License-Identifier: Apache-2.0
#include "app/flags.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace shoal::app {
namespace {

const FlagSpec* FindFlag(const CommandSpec& spec, const std::string& name) {
  for (const FlagSpec& flag : spec.flags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<Flags> Flags::Parse(const CommandSpec& spec,
                                   const std::vector<std::string>& arguments) {
  Flags flags;
  bool have_positional = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.rfind("--", 0) != 0) {
      if (spec.positional.empty() || have_positional) {
        return absl::InvalidArgumentError(absl::StrCat("unexpected argument '", argument, "'"));
      }
      flags.positional_ = argument;
      have_positional = true;
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const FlagSpec* flag = FindFlag(spec, name);
    if (flag == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("unknown option --", name));
    }
    std::string value;
    if (flag->placeholder.empty()) {
      if (equals != std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat("--", name, " takes no value"));
      }
    } else if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " needs a value ", flag->placeholder));
    }
    std::vector<std::string>& values = flags.values_[name];
    if (!values.empty() && !flag->repeated) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " is given twice"));
    }
    values.push_back(value);
  }
  if (!spec.positional.empty() && !have_positional) {
    return absl::InvalidArgumentError(absl::StrCat(spec.positional, " is missing"));
  }
  return flags;
}

std::string Flags::Get(const std::string& name, const std::string& fallback) const {
  const auto it = values_.find(name);
  return it == values_.end() ? fallback : it->second.back();
}

std::vector<std::string> Flags::GetAll(const std::string& name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::vector<std::string>{} : it->second;
}

absl::StatusOr<int64_t> Flags::GetInt(const std::string& name, int64_t fallback, int64_t low,
                                      int64_t high) const {
  if (!Has(name)) return fallback;
  int64_t value = 0;
  if (!absl::SimpleAtoi(Get(name), &value) || value < low || value > high) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", name, " '", Get(name), "' is not a whole number in [", low, ", ", high, "]"));
  }
  return value;
}

absl::StatusOr<double> Flags::GetDouble(const std::string& name, double fallback, double low,
                                        double high) const {
  if (!Has(name)) return fallback;
  double value = 0;
  if (!absl::SimpleAtod(Get(name), &value) || !(value >= low && value <= high)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " '", Get(name), "' is not a number in [", low, ", ", high, "]"));
  }
  return value;
}

std::string Usage(const CommandSpec& spec) {
  std::string text = absl::StrCat("usage: shoal ", spec.name);
  if (!spec.positional.empty()) absl::StrAppend(&text, " ", spec.positional);
  absl::StrAppend(&text, " [options]\n\n", spec.summary, "\n");
  if (spec.flags.empty()) return text;
  absl::StrAppend(&text, "\noptions:\n");
  size_t width = 0;
  for (const FlagSpec& flag : spec.flags) {
    width = std::max(width, flag.name.size() + flag.placeholder.size() + 3);
  }
  for (const FlagSpec& flag : spec.flags) {
    std::string left = absl::StrCat("--", flag.name);
    if (!flag.placeholder.empty()) absl::StrAppend(&left, " ", flag.placeholder);
    left.resize(std::max(width, left.size()), ' ');
    absl::StrAppend(&text, "  ", left, "  ", flag.help, "\n");
  }
  return text;
}

}  // namespace shoal::app
