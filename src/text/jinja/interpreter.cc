// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/interpreter.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "text/jinja/lexer.h"
#include "text/jinja/operators.h"

namespace shoal::text::jinja {

absl::StatusOr<Text> Interpreter::Run(const Body& body) {
  TextBuilder out;
  SHOAL_RETURN_IF_ERROR(Execute(body, &out).status());
  if (out.overflowed()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the chat template's text is longer than ", TextBuilder::kBytesMax, " bytes"));
  }
  SHOAL_RETURN_IF_ERROR(machine_.Work(0));
  return out.Take();
}

Value Interpreter::Lookup(absl::string_view name) {
  const auto find = [name](const Scope& scope) -> const Value* {
    const auto found = std::find_if(scope.begin(), scope.end(),
                                    [name](const auto& binding) { return binding.first == name; });
    return found == scope.end() ? nullptr : &found->second;
  };
  for (size_t i = scopes_.size(); i-- > frame_;) {
    if (const Value* found = find(scopes_[i])) return *found;
  }
  if (const Value* found = find(scopes_[0])) return *found;
  if (IsGlobalFunction(name)) {
    return machine_.arena.NewCallable({.type = Callable::Type::kFunction,
                                       .name = std::string(name),
                                       .self = Value(),
                                       .macro = nullptr});
  }
  return machine_.arena.NewUndefined(absl::StrCat("'", name, "' is undefined"));
}

void Interpreter::Assign(absl::string_view name, const Value& value) {
  Scope& scope = scopes_.back();
  for (auto& binding : scope) {
    if (binding.first != name) continue;
    binding.second = value;
    return;
  }
  scope.emplace_back(name, value);
}

absl::StatusOr<Interpreter::Flow> Interpreter::Execute(const Body& body, TextBuilder* out) {
  for (const auto& node : body) {
    SHOAL_RETURN_IF_ERROR(CheckDepth(node->line));
    ++depth_;
    auto flow = ExecuteNode(*node, out);
    --depth_;
    if (!flow.ok()) {
      if (flow.status().code() != absl::StatusCode::kFailedPrecondition) return flow;
      return TemplateError(node->line, flow.status().message());
    }
    if (*flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

absl::StatusOr<Interpreter::Flow> Interpreter::ExecuteNode(const Node& node, TextBuilder* out) {
  SHOAL_RETURN_IF_ERROR(machine_.Work());
  switch (node.type) {
    case Node::Type::kData:
      out->Append(node.text);
      return Flow::kNext;
    case Node::Type::kOutput: {
      SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*node.exprs[0]));
      AppendStr(value, out);
      return Flow::kNext;
    }
    case Node::Type::kIf:
      return If(node, out);
    case Node::Type::kFor:
      return For(node, out);
    case Node::Type::kSet: {
      SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*node.exprs[0]));
      SHOAL_RETURN_IF_ERROR(Set(node, value));
      return Flow::kNext;
    }
    case Node::Type::kSetBlock:
      SHOAL_RETURN_IF_ERROR(SetBlock(node));
      return Flow::kNext;
    case Node::Type::kMacro:
      Assign(node.name, machine_.arena.NewCallable({.type = Callable::Type::kMacro,
                                                    .name = node.name,
                                                    .self = Value(),
                                                    .macro = &node}));
      return Flow::kNext;
    case Node::Type::kWith:
      return With(node, out);
    case Node::Type::kFilter:
      SHOAL_RETURN_IF_ERROR(FilterBlock(node, out));
      return Flow::kNext;
    case Node::Type::kBreak:
      return Flow::kBreak;
    case Node::Type::kContinue:
      return Flow::kContinue;
  }
  return Fail("an unknown statement");
}

absl::StatusOr<Interpreter::Flow> Interpreter::If(const Node& node, TextBuilder* out) {
  for (size_t i = 0; i < node.exprs.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(const Value condition, Evaluate(*node.exprs[i]));
    if (Truth(condition)) return Execute(node.bodies[i], out);
  }
  if (node.bodies.size() > node.exprs.size()) return Execute(node.bodies.back(), out);
  return Flow::kNext;
}

absl::Status Interpreter::Unpack(const Node& node, const Value& value) {
  if (!node.unpack) {
    Assign(node.targets[0], value);
    return absl::OkStatus();
  }
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> parts, Iterate(machine_, value));
  if (parts.size() != node.targets.size()) {
    return Fail(absl::StrCat("cannot unpack ", parts.size(), " values into ", node.targets.size(),
                             " names"));
  }
  for (size_t i = 0; i < parts.size(); ++i) Assign(node.targets[i], parts[i]);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> Interpreter::LoopItems(const Node& node) {
  SHOAL_ASSIGN_OR_RETURN(const Value iterable, Evaluate(*node.exprs[0]));
  SHOAL_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(machine_, iterable));
  if (node.exprs.size() < 2) return items;
  std::vector<Value> kept;
  scopes_.emplace_back();
  for (const Value& item : items) {
    SHOAL_RETURN_IF_ERROR(Unpack(node, item));
    SHOAL_ASSIGN_OR_RETURN(const Value keep, Evaluate(*node.exprs[1]));
    if (Truth(keep)) kept.push_back(item);
  }
  scopes_.pop_back();
  return kept;
}

Value Interpreter::LoopVariable(const std::vector<Value>& items, size_t index, const Value& loop) {
  static const Text kNames[] = {{"index", {}},     {"index0", {}},   {"revindex", {}},
                                {"revindex0", {}}, {"first", {}},    {"last", {}},
                                {"length", {}},    {"previtem", {}}, {"nextitem", {}}};
  const int64_t i = static_cast<int64_t>(index);
  const int64_t count = static_cast<int64_t>(items.size());
  const Value missing = Value();
  const Value values[] = {Value::Int(i + 1),
                          Value::Int(i),
                          Value::Int(count - i),
                          Value::Int(count - i - 1),
                          Value::Bool(i == 0),
                          Value::Bool(i + 1 == count),
                          Value::Int(count),
                          i > 0 ? items[index - 1] : missing,
                          i + 1 < count ? items[index + 1] : missing};
  const bool filled = !loop.dict->entries.empty();  // in this order, by the first round
  for (size_t name = 0; name < std::size(kNames); ++name) {
    if (filled) {
      loop.dict->entries[name].second = values[name];
    } else {
      loop.dict->Set(Value::String(&kNames[name]), values[name]);
    }
  }
  return loop;
}

absl::StatusOr<Interpreter::Flow> Interpreter::For(const Node& node, TextBuilder* out) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, LoopItems(node));
  if (items.empty()) return Execute(node.bodies[1], out);
  const Value loop = machine_.arena.NewNamespace();
  scopes_.emplace_back();
  for (size_t i = 0; i < items.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(machine_.Work());
    scopes_.back().clear();
    Assign("loop", LoopVariable(items, i, loop));
    SHOAL_RETURN_IF_ERROR(Unpack(node, items[i]));
    SHOAL_ASSIGN_OR_RETURN(const Flow flow, Execute(node.bodies[0], out));
    if (flow == Flow::kBreak) break;
  }
  scopes_.pop_back();
  return Flow::kNext;
}

absl::Status Interpreter::Set(const Node& node, const Value& value) {
  if (node.attribute.empty()) return Unpack(node, value);
  const Value target = Lookup(node.targets[0]);
  if (!target.is(Kind::kNamespace)) {
    return Fail(
        absl::StrCat("cannot set an attribute of '", node.targets[0], "': it is no namespace"));
  }
  static_assert(std::is_trivially_copyable_v<Value>);
  target.dict->Set(machine_.arena.NewString(node.attribute, false), value);
  return absl::OkStatus();
}

absl::StatusOr<Value> Interpreter::Capture(const Body& body) {
  TextBuilder text;
  scopes_.emplace_back();
  SHOAL_RETURN_IF_ERROR(Execute(body, &text).status());
  scopes_.pop_back();
  return machine_.arena.NewString(std::move(text));
}

absl::StatusOr<Value> Interpreter::ThroughFilters(const Expr& chain, const Value& text) {
  scopes_.emplace_back();
  Assign(kBlockText, text);
  SHOAL_ASSIGN_OR_RETURN(const Value result, Evaluate(chain));
  scopes_.pop_back();
  return result;
}

absl::Status Interpreter::SetBlock(const Node& node) {
  SHOAL_ASSIGN_OR_RETURN(Value value, Capture(node.bodies[0]));
  if (node.exprs[0] != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(value, ThroughFilters(*node.exprs[0], value));
  }
  return Set(node, value);
}

absl::Status Interpreter::FilterBlock(const Node& node, TextBuilder* out) {
  SHOAL_ASSIGN_OR_RETURN(const Value text, Capture(node.bodies[0]));
  SHOAL_ASSIGN_OR_RETURN(const Value result, ThroughFilters(*node.exprs[0], text));
  AppendStr(result, out);
  return absl::OkStatus();
}

absl::StatusOr<Interpreter::Flow> Interpreter::With(const Node& node, TextBuilder* out) {
  std::vector<Value> values;
  for (const ExprPtr& expr : node.exprs) {
    SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*expr));
    values.push_back(value);
  }
  scopes_.emplace_back();
  for (size_t i = 0; i < values.size(); ++i) Assign(node.targets[i], values[i]);
  SHOAL_ASSIGN_OR_RETURN(const Flow flow, Execute(node.bodies[0], out));
  scopes_.pop_back();
  return flow;
}

}  // namespace shoal::text::jinja
