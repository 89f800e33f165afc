// SPDX-License-Identifier: Apache-2.0
// The part of Interpreter that runs loops, and the loop variable.
#include <iterator>
#include <utility>

#include "base/status.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/loop.h"
#include "text/jinja/operators.h"

namespace shoal::text::jinja {
namespace {

enum LoopMember : size_t {
  kIndex,
  kIndex0,
  kRevindex,
  kRevindex0,
  kFirst,
  kLast,
  kLength,
  kPrevious,
  kNextItem,
  kDepth,
  kDepth0,
  kCycle,
  kChanged,
  kSeen,  // the arguments of the last "changed"; no template can spell its name
  kMembers,
};

const Text kNames[kMembers] = {
    {"index", {}},  {"index0", {}}, {"revindex", {}}, {"revindex0", {}}, {"first", {}},
    {"last", {}},   {"length", {}}, {"previtem", {}}, {"nextitem", {}},  {"depth", {}},
    {"depth0", {}}, {"cycle", {}},  {"changed", {}},  {"\xFF", {}}};

Value& Member(const Value& loop, LoopMember member) { return loop.dict->entries[member].second; }

}  // namespace

void UpdateLoop(const Value& loop, const std::vector<Value>& items, size_t index) {
  const int64_t i = static_cast<int64_t>(index);
  const int64_t count = static_cast<int64_t>(items.size());
  Member(loop, kIndex) = Value::Int(i + 1);
  Member(loop, kIndex0) = Value::Int(i);
  Member(loop, kRevindex) = Value::Int(count - i);
  Member(loop, kRevindex0) = Value::Int(count - i - 1);
  Member(loop, kFirst) = Value::Bool(i == 0);
  Member(loop, kLast) = Value::Bool(i + 1 == count);
  Member(loop, kLength) = Value::Int(count);
  Member(loop, kPrevious) = i > 0 ? items[index - 1] : Value();
  Member(loop, kNextItem) = i + 1 < count ? items[index + 1] : Value();
}

int64_t LoopDepth(const Value& loop) { return Member(loop, kDepth).integer; }

absl::StatusOr<Value> LoopCycle(const Value& loop, const Arguments& arguments) {
  if (arguments.positional.empty()) return Fail("cycle: no items for cycling given");
  const size_t turn = static_cast<size_t>(Member(loop, kIndex0).integer);
  return arguments.positional[turn % arguments.positional.size()];
}

absl::StatusOr<Value> LoopChanged(Machine& machine, const Value& loop, const Arguments& arguments) {
  const Value now = machine.arena.NewList(arguments.positional, /*tuple=*/true);
  Value& seen = Member(loop, kSeen);
  const bool changed = !seen.is(Kind::kList) || !Equal(seen, now);
  seen = now;
  return Value::Bool(changed);
}

Value Interpreter::NewLoop(int64_t depth, const Callable* recursion) {
  const Value loop = machine_.arena.NewNamespace();
  for (const Text& name : kNames) loop.dict->Set(Value::String(&name), Value());
  machine_.arena.Charge(kMembers * 4 * sizeof(Value));
  Member(loop, kDepth) = Value::Int(depth);
  Member(loop, kDepth0) = Value::Int(depth - 1);
  const auto offer = [&](LoopMember member, Callable::Type type) {
    Member(loop, member) = machine_.arena.NewCallable(
        {.type = type, .name = kNames[member].bytes, .self = loop, .macro = nullptr});
  };
  offer(kCycle, Callable::Type::kCycle);
  offer(kChanged, Callable::Type::kChanged);
  if (recursion != nullptr) {
    loop.dict->call = machine_.arena
                          .NewCallable({.type = Callable::Type::kLoop,
                                        .name = "loop",
                                        .self = loop,
                                        .macro = recursion->macro,
                                        .scopes = recursion->scopes})
                          .callable;
  }
  return loop;
}

absl::StatusOr<std::vector<Value>> Interpreter::LoopItems(const Node& node, const Value& iterable) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(machine_, iterable));
  if (node.exprs.size() < 2) return items;
  std::vector<Value> kept;
  PushScope();
  for (const Value& item : items) {
    SHOAL_RETURN_IF_ERROR(Unpack(node, item));
    SHOAL_ASSIGN_OR_RETURN(const Value keep, Evaluate(*node.exprs[1]));
    if (Truth(keep)) kept.push_back(item);
  }
  PopScope();
  return kept;
}

absl::StatusOr<Interpreter::Flow> Interpreter::Loop(const Node& node, const Value& iterable,
                                                    int64_t depth, const Callable* recursion,
                                                    TextBuilder* out) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, LoopItems(node, iterable));
  if (items.empty()) return Execute(node.bodies[1], out);
  const Value loop = NewLoop(depth, recursion);
  PushScope();
  for (size_t i = 0; i < items.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(machine_.Work());
    scopes_.back()->bindings.clear();
    UpdateLoop(loop, items, i);
    Assign("loop", loop);
    SHOAL_RETURN_IF_ERROR(Unpack(node, items[i]));
    SHOAL_ASSIGN_OR_RETURN(const Flow flow, Execute(node.bodies[0], out));
    if (flow == Flow::kBreak) break;
  }
  PopScope();
  return Flow::kNext;
}

absl::StatusOr<Interpreter::Flow> Interpreter::For(const Node& node, TextBuilder* out) {
  SHOAL_ASSIGN_OR_RETURN(const Value iterable, Evaluate(*node.exprs[0]));
  if (!node.recursive) return Loop(node, iterable, 1, nullptr, out);
  Callable recursion;
  recursion.macro = &node;
  recursion.scopes = VisibleScopes();
  return Loop(node, iterable, 1, &recursion, out);
}

absl::StatusOr<Value> Interpreter::CallLoop(const Callable& callable, const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty()) {
    return Fail("loop takes one argument: what to go through");
  }
  const size_t outer = EnterFrame(callable.scopes);
  TextBuilder text;
  SHOAL_RETURN_IF_ERROR(
      Loop(*callable.macro, arguments.positional[0], LoopDepth(callable.self) + 1, &callable, &text)
          .status());
  LeaveFrame(outer);
  return machine_.arena.NewString(std::move(text));
}

}  // namespace shoal::text::jinja
