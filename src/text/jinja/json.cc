// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/json.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "text/jinja/builtins.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

using nlohmann::ordered_json;

constexpr int kDepthMax = 100;

absl::StatusOr<Value> StringFromJson(const std::string& bytes, Arena* arena) {
  if (FindIllFormed(bytes) != absl::string_view::npos) {
    return absl::InvalidArgumentError("a message has a string that is not valid UTF-8");
  }
  return arena->NewString(bytes, /*user=*/true);
}

absl::StatusOr<Value> FromJsonAt(const ordered_json& json, Arena* arena, int depth) {
  if (depth > kDepthMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message is nested deeper than ", kDepthMax, " levels"));
  }
  if (json.is_boolean()) return Value::Bool(json.get<bool>());
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) {
    return Value::Float(json.get<double>(), /*user=*/true);
  }
  if (json.is_number_integer()) return Value::Int(json.get<int64_t>(), /*user=*/true);
  if (json.is_number_float()) return Value::Float(json.get<double>(), /*user=*/true);
  if (json.is_string()) return StringFromJson(json.get_ref<const std::string&>(), arena);
  if (json.is_array()) {
    std::vector<Value> items;
    items.reserve(json.size());
    for (const ordered_json& item : json) {
      SHOAL_ASSIGN_OR_RETURN(const Value value, FromJsonAt(item, arena, depth + 1));
      items.push_back(value);
    }
    return arena->NewList(std::move(items));
  }
  if (json.is_object()) {
    const Value dict = arena->NewDict();
    for (const auto& [key, item] : json.items()) {
      SHOAL_ASSIGN_OR_RETURN(const Value name, StringFromJson(key, arena));
      SHOAL_ASSIGN_OR_RETURN(const Value value, FromJsonAt(item, arena, depth + 1));
      arena->Charge(4 * sizeof(Value));
      dict.dict->Set(name, value);
    }
    return dict;
  }
  return Value::None();
}

void AppendEscape(uint32_t unit, std::string* out) {
  absl::StrAppend(out, "\\u", absl::Hex(unit, absl::kZeroPad4));
}

void AppendJsonString(const Text& text, bool ensure_ascii, TextBuilder* out) {
  std::string quoted = "\"";
  for (size_t at = 0; at < text.bytes.size();) {
    const Utf8Step step = StepUtf8(text.bytes, at);
    const uint32_t code = step.code;
    if (code == '"' || code == '\\') {
      quoted += '\\';
      quoted += static_cast<char>(code);
    } else if (code < 0x20) {
      static constexpr absl::string_view kShort = "\b\t\n\f\r";
      static constexpr absl::string_view kNames = "btnfr";
      const size_t name = kShort.find(static_cast<char>(code));
      if (code != 0 && name != absl::string_view::npos) {
        quoted += '\\';
        quoted += kNames[name];
      } else {
        AppendEscape(code, &quoted);
      }
    } else if (ensure_ascii && code > 0x7E) {
      if (code > 0xFFFF) AppendEscape(0xD800 + ((code - 0x10000) >> 10), &quoted);
      AppendEscape(code > 0xFFFF ? 0xDC00 + ((code - 0x10000) & 0x3FF) : code, &quoted);
    } else {
      quoted.append(text.bytes, at, step.length);
    }
    at += step.length;
  }
  quoted += '"';
  out->Append(quoted, !text.user.empty());
}

class Writer {
 public:
  Writer(const JsonStyle& style, TextBuilder* out) : style_(style), out_(*out) {}

  absl::Status Write(const Value& value, int depth) {
    if (depth > kDepthMax) return Fail("tojson: nested too deeply");
    if (out_.overflowed()) return absl::OkStatus();
    switch (value.kind) {
      case Kind::kNone:
        return Plain("null", false);
      case Kind::kBool:
        return Plain(value.boolean ? "true" : "false", false);
      case Kind::kInt:
        return Plain(absl::StrCat(value.integer), value.user);
      case Kind::kFloat:
        return Plain(Number(value.real), value.user);
      case Kind::kString:
        AppendJsonString(*value.text, style_.ensure_ascii, &out_);
        return absl::OkStatus();
      case Kind::kList:
        return WriteList(value.list->items, depth);
      case Kind::kDict:
        return WriteDict(*value.dict, depth);
      default:
        return Fail(absl::StrCat("Object of type ", TypeName(value), " is not JSON serializable"));
    }
  }

 private:
  static std::string Number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return FloatRepr(value);
  }

  absl::Status Plain(absl::string_view text, bool user) {
    out_.Append(text, user);
    return absl::OkStatus();
  }

  void Between(bool first, int depth) {
    if (!first) {
      // With an indent Python drops the space after the comma.
      const bool trim = style_.indent >= 0 && style_.item_separator == ", ";
      out_.Append(trim ? "," : style_.item_separator, false);
    }
    NewLine(depth);
  }

  void NewLine(int depth) {
    if (style_.indent < 0) return;
    out_.Append(absl::StrCat("\n", std::string(static_cast<size_t>(style_.indent * depth), ' ')),
                false);
  }

  absl::Status WriteList(const std::vector<Value>& items, int depth) {
    if (items.empty()) return Plain("[]", false);
    out_.Append("[", false);
    for (size_t i = 0; i < items.size(); ++i) {
      Between(i == 0, depth + 1);
      SHOAL_RETURN_IF_ERROR(Write(items[i], depth + 1));
    }
    NewLine(depth);
    return Plain("]", false);
  }

  absl::Status WriteDict(const Dict& dict, int depth) {
    if (dict.entries.empty()) return Plain("{}", false);
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    for (const auto* entry : entries) {
      const Kind kind = entry->first.kind;
      if (kind != Kind::kString && kind != Kind::kInt && kind != Kind::kBool) {
        return Fail("tojson: keys must be strings or integers");
      }
      if (style_.sort_keys && kind != Kind::kString) {
        return Fail("tojson: only string keys can be sorted");
      }
    }
    if (style_.sort_keys) {
      std::sort(entries.begin(), entries.end(),
                [](const auto* a, const auto* b) { return a->first.str() < b->first.str(); });
    }
    out_.Append("{", false);
    for (size_t i = 0; i < entries.size(); ++i) {
      Between(i == 0, depth + 1);
      const Value& key = entries[i]->first;
      if (key.is(Kind::kString)) {
        AppendJsonString(*key.text, style_.ensure_ascii, &out_);
      } else {
        const bool is_bool = key.is(Kind::kBool);
        const std::string name =
            is_bool ? (key.boolean ? "true" : "false") : absl::StrCat(key.integer);
        out_.Append(absl::StrCat("\"", name, "\""), key.user);
      }
      out_.Append(style_.key_separator, false);
      SHOAL_RETURN_IF_ERROR(Write(entries[i]->second, depth + 1));
    }
    NewLine(depth);
    return Plain("}", false);
  }

  const JsonStyle& style_;
  TextBuilder& out_;
};

}  // namespace

absl::StatusOr<Value> FromJson(const ordered_json& json, Arena* arena) {
  return FromJsonAt(json, arena, 0);
}

absl::Status AppendJson(const Value& value, const JsonStyle& style, TextBuilder* out) {
  if (value.is(Kind::kUndefined)) return FailUndefined(value);
  return Writer(style, out).Write(value, 0);
}

}  // namespace shoal::text::jinja
