// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "text/utf8.h"

namespace shoal::text::jinja {
namespace {

// Nesting is bounded where values are made; these bound walks over values that share their parts
// many times over.
constexpr int kWalkDepthMax = 200;
constexpr int kWalkNodesMax = 4'000'000;

bool EqualAt(const Value& a, const Value& b, int depth, int* nodes) {
  if (depth > kWalkDepthMax || ++*nodes > kWalkNodesMax) return false;
  if (a.is_number() && b.is_number()) {
    if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) return a.as_double() == b.as_double();
    return a.as_int() == b.as_int();
  }
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      return a.str() == b.str();
    case Kind::kList:
      return a.list == b.list ||
             (a.list->tuple == b.list->tuple &&
              std::equal(a.list->items.begin(), a.list->items.end(), b.list->items.begin(),
                         b.list->items.end(), [depth, nodes](const Value& x, const Value& y) {
                           return EqualAt(x, y, depth + 1, nodes);
                         }));
    case Kind::kDict:
      return a.dict == b.dict ||
             (a.dict->entries.size() == b.dict->entries.size() &&
              std::all_of(a.dict->entries.begin(), a.dict->entries.end(), [&](const auto& entry) {
                const Value* other = b.dict->Find(entry.first);
                return other != nullptr && EqualAt(entry.second, *other, depth + 1, nodes);
              }));
    case Kind::kNamespace:
      return a.dict == b.dict;
    default:
      return a.callable == b.callable;
  }
}

bool HasUserAt(const Value& value, int depth, int* nodes) {
  if (depth > kWalkDepthMax || ++*nodes > kWalkNodesMax) return true;
  if (value.is(Kind::kString)) return !value.text->user.empty();
  if (value.is(Kind::kList)) {
    return std::any_of(
        value.list->items.begin(), value.list->items.end(),
        [depth, nodes](const Value& item) { return HasUserAt(item, depth + 1, nodes); });
  }
  if (value.is(Kind::kDict)) {
    return std::any_of(value.dict->entries.begin(), value.dict->entries.end(),
                       [depth, nodes](const auto& entry) {
                         return HasUserAt(entry.first, depth + 1, nodes) ||
                                HasUserAt(entry.second, depth + 1, nodes);
                       });
  }
  return value.user;
}

void AppendStringRepr(const Text& text, TextBuilder* out) {
  const bool single =
      text.bytes.find('\'') == std::string::npos || text.bytes.find('"') != std::string::npos;
  const char quote = single ? '\'' : '"';
  const bool user = !text.user.empty();
  std::string repr(1, quote);
  for (const char c : text.bytes) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (c == '\n') {
      repr += "\\n";
    } else if (c == '\r') {
      repr += "\\r";
    } else if (c == '\t') {
      repr += "\\t";
    } else if (c == quote || c == '\\') {
      repr += '\\';
      repr += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      absl::StrAppend(&repr, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      repr += c;
    }
  }
  repr += quote;
  out->Append(repr, user);
}

void AppendReprAt(const Value& value, TextBuilder* out, int depth) {
  if (depth > kWalkDepthMax || out->overflowed()) return out->Append("...", false);
  switch (value.kind) {
    case Kind::kUndefined:
      return out->Append("Undefined", false);
    case Kind::kNone:
      return out->Append("None", false);
    case Kind::kBool:
      return out->Append(value.boolean ? "True" : "False", value.user);
    case Kind::kInt:
      return out->Append(absl::StrCat(value.integer), value.user);
    case Kind::kFloat:
      return out->Append(FloatRepr(value.real), value.user);
    case Kind::kString:
      return AppendStringRepr(*value.text, out);
    case Kind::kList: {
      const bool tuple = value.list->tuple;
      out->Append(tuple ? "(" : "[", false);
      for (size_t i = 0; i < value.list->items.size(); ++i) {
        if (i > 0) out->Append(", ", false);
        AppendReprAt(value.list->items[i], out, depth + 1);
      }
      if (tuple && value.list->items.size() == 1) out->Append(",", false);
      return out->Append(tuple ? ")" : "]", false);
    }
    case Kind::kDict: {
      out->Append("{", false);
      for (size_t i = 0; i < value.dict->entries.size(); ++i) {
        if (i > 0) out->Append(", ", false);
        AppendReprAt(value.dict->entries[i].first, out, depth + 1);
        out->Append(": ", false);
        AppendReprAt(value.dict->entries[i].second, out, depth + 1);
      }
      return out->Append("}", false);
    }
    case Kind::kNamespace:
      return out->Append("<Namespace>", false);
    case Kind::kCallable:
      return out->Append(absl::StrCat("<function ", value.callable->name, ">"), false);
  }
}

}  // namespace

const Value* Dict::Find(absl::string_view key) const {
  const auto found = index.find(key);
  return found == index.end() ? nullptr : &entries[found->second].second;
}

const Value* Dict::Find(const Value& key) const {
  if (key.is(Kind::kString)) return Find(absl::string_view(key.str()));
  if (index.size() == entries.size()) return nullptr;
  for (const auto& [known, value] : entries) {
    if (Equal(known, key)) return &value;
  }
  return nullptr;
}

void Dict::Set(const Value& key, const Value& value) {
  if (const Value* known = Find(key)) {
    *const_cast<Value*>(known) = value;
    return;
  }
  if (key.is(Kind::kString)) index.emplace(key.str(), entries.size());
  entries.emplace_back(key, value);
}

Value Arena::NewString(TextBuilder builder) {
  if (builder.overflowed()) overflowed_ = true;
  texts_.push_back(builder.Take());
  Charge(texts_.back().bytes.size() + texts_.back().user.size() * sizeof(ByteRange) + sizeof(Text));
  return Value::String(&texts_.back());
}

Value Arena::NewString(absl::string_view bytes, bool user) {
  TextBuilder builder;
  builder.Append(bytes, user);
  return NewString(std::move(builder));
}

Value Arena::NewList(std::vector<Value> items, bool tuple) {
  Charge(items.size() * sizeof(Value) + sizeof(List));
  lists_.push_back({.items = std::move(items), .tuple = tuple});
  Value value;
  value.kind = Kind::kList;
  value.list = &lists_.back();
  return value;
}

Value Arena::NewDict() {
  Charge(sizeof(Dict));
  Value value;
  value.kind = Kind::kDict;
  value.dict = &dicts_.emplace_back();
  return value;
}

Value Arena::NewNamespace() {
  Value value = NewDict();
  value.kind = Kind::kNamespace;
  return value;
}

Value Arena::NewCallable(Callable callable) {
  Charge(sizeof(Callable));
  Value value;
  value.kind = Kind::kCallable;
  value.callable = &callables_.emplace_back(std::move(callable));
  return value;
}

Value Arena::NewUndefined(absl::string_view why) {
  Value value = NewString(why, false);
  value.kind = Kind::kUndefined;
  return value;
}

bool Truth(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return value.boolean;
    case Kind::kInt:
      return value.integer != 0;
    case Kind::kFloat:
      return value.real != 0;
    case Kind::kString:
      return !value.str().empty();
    case Kind::kList:
      return !value.list->items.empty();
    case Kind::kDict:
      return !value.dict->entries.empty();
    default:
      return true;
  }
}

bool Equal(const Value& a, const Value& b) {
  int nodes = 0;
  return EqualAt(a, b, 0, &nodes);
}

bool HasUser(const Value& value) {
  int nodes = 0;
  return HasUserAt(value, 0, &nodes);
}

void AppendStr(const Value& value, TextBuilder* out) {
  if (value.is(Kind::kString)) return out->Append(*value.text);
  if (value.is(Kind::kUndefined)) return;
  AppendReprAt(value, out, 0);
}

void AppendRepr(const Value& value, TextBuilder* out) { AppendReprAt(value, out, 0); }

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const double magnitude = std::fabs(value);
  const bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto result =
      std::to_chars(buffer, buffer + sizeof(buffer), value,
                    fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string repr(buffer, result.ptr);
  if (fixed && repr.find('.') == std::string::npos) repr += ".0";
  return repr;
}

const char* TypeName(const Value& value) {
  switch (value.kind) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      return value.list->tuple ? "tuple" : "list";
    case Kind::kDict:
      return "dict";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kCallable:
      return "function";
  }
  return "unknown";
}

int64_t Length(const Value& value) {
  if (value.is(Kind::kString)) return static_cast<int64_t>(CountCharacters(value.str()));
  if (value.is(Kind::kList)) return static_cast<int64_t>(value.list->items.size());
  if (value.is(Kind::kDict)) return static_cast<int64_t>(value.dict->entries.size());
  return -1;
}

}  // namespace shoal::text::jinja
