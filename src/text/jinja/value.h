// SPDX-License-Identifier: Apache-2.0
// Value: what a template computes with, and the Arena that owns the values of one rendering.
// Lists, dicts and strings are shared by pointer into the arena, as Python shares references.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "text/jinja/text.h"

namespace shoal::text::jinja {

enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kDict,
  kNamespace,
  kCallable,
};

struct List;
struct Dict;
struct Callable;

// Trivially copyable; pointers live as long as the arena (or the parsed template, for literals).
struct Value {
  Kind kind = Kind::kUndefined;
  bool user = false;  // of numbers: derived from user data, so their digits are user text
  union {
    const Text* text = nullptr;  // kString; of kUndefined: why it is undefined, or null
    bool boolean;
    int64_t integer;
    double real;
    List* list;
    Dict* dict;
    const Callable* callable;
  };

  static Value None() {
    Value value;
    value.kind = Kind::kNone;
    return value;
  }
  static Value Bool(bool boolean) {
    Value value;
    value.kind = Kind::kBool;
    value.boolean = boolean;
    return value;
  }
  static Value Int(int64_t integer, bool user = false) {
    Value value;
    value.kind = Kind::kInt;
    value.user = user;
    value.integer = integer;
    return value;
  }
  static Value Float(double real, bool user = false) {
    Value value;
    value.kind = Kind::kFloat;
    value.user = user;
    value.real = real;
    return value;
  }
  static Value String(const Text* text) {
    Value value;
    value.kind = Kind::kString;
    value.text = text;
    return value;
  }

  bool is(Kind other) const { return kind == other; }
  bool is_number() const { return kind == Kind::kInt || kind == Kind::kFloat || is(Kind::kBool); }
  const std::string& str() const { return text->bytes; }
  double as_double() const {
    return kind == Kind::kFloat  ? real
           : kind == Kind::kBool ? (boolean ? 1.0 : 0.0)
                                 : static_cast<double>(integer);
  }
  int64_t as_int() const { return kind == Kind::kBool ? (boolean ? 1 : 0) : integer; }
};

struct List {
  std::vector<Value> items;
  bool tuple = false;
  bool group = false;  // of groupby: has "grouper" and "list" as well
};

// Keeps insertion order. Keys are strings, or other scalars found by scanning.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  absl::flat_hash_map<absl::string_view, size_t> index;  // of string keys
  const Callable* call = nullptr;                        // of recursive loops: "loop(children)"

  const Value* Find(absl::string_view key) const;
  const Value* Find(const Value& key) const;
  void Set(const Value& key, const Value& value);
};

struct Expr;
struct Node;
struct Scope;

// Something that can be called: a global function, a method bound to a value, a macro, or what a
// loop offers.
struct Callable {
  enum class Type { kFunction, kMethod, kMacro, kCycle, kChanged, kLoop };
  Type type = Type::kFunction;
  std::string name;
  Value self;                       // of methods; of what a loop offers: the loop
  const Node* macro = nullptr;      // of macros; of kLoop: the loop
  std::vector<Scope*> scopes = {};  // what its body sees beside the outermost scope
};

// Owns what one rendering creates, up to a budget. Not thread-safe.
class Arena {
 public:
  static constexpr size_t kBytesMax = 256u << 20;

  Value NewString(TextBuilder builder);
  Value NewString(absl::string_view bytes, bool user);
  Value NewList(std::vector<Value> items, bool tuple = false);
  Value NewDict();
  Value NewNamespace();
  Value NewCallable(Callable callable);
  Value NewUndefined(absl::string_view why);
  void Charge(size_t bytes) { used_ += bytes; }
  // The budget is spent, or a string outgrew its limit: rendering must end.
  bool exhausted() const { return overflowed_ || used_ > kBytesMax; }

 private:
  size_t used_ = 0;
  bool overflowed_ = false;
  std::deque<Text> texts_;
  std::deque<List> lists_;
  std::deque<Dict> dicts_;
  std::deque<Callable> callables_;
};

bool Truth(const Value& value);
bool Equal(const Value& a, const Value& b);
// Some of the value comes from users.
bool HasUser(const Value& value);
// As Python's str(): what {{ value }} prints.
void AppendStr(const Value& value, TextBuilder* out);
// As Python's repr().
void AppendRepr(const Value& value, TextBuilder* out);
// As Python's repr() of a float.
std::string FloatRepr(double value);
// "str", "list", ...: Python's name of the type, for messages.
const char* TypeName(const Value& value);
// Length of strings (characters), lists and dicts; -1 for others.
int64_t Length(const Value& value);

}  // namespace shoal::text::jinja
