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
    const auto found = std::find_if(scope.bindings.begin(), scope.bindings.end(),
                                    [name](const auto& binding) { return binding.first == name; });
    return found == scope.bindings.end() ? nullptr : &found->second;
  };
  for (size_t i = scopes_.size(); i-- > frame_;) {
    if (const Value* found = find(*scopes_[i])) return *found;
  }
  if (const Value* found = find(*scopes_[0])) return *found;
  if (IsGlobalFunction(name)) {
    return machine_.arena.NewCallable({.type = Callable::Type::kFunction,
                                       .name = std::string(name),
                                       .self = Value(),
                                       .macro = nullptr});
  }
  return machine_.arena.NewUndefined(absl::StrCat("'", name, "' is undefined"));
}

void Interpreter::Assign(absl::string_view name, const Value& value) {
  auto& bindings = scopes_.back()->bindings;
  for (auto& binding : bindings) {
    if (binding.first != name) continue;
    binding.second = value;
    return;
  }
  bindings.emplace_back(name, value);
}

void Interpreter::PushScope() {
  if (free_.empty()) {
    machine_.arena.Charge(sizeof(Scope));
    free_.push_back(&pool_.emplace_back());
  }
  scopes_.push_back(free_.back());
  free_.pop_back();
}

void Interpreter::PopScope() {
  Scope* scope = scopes_.back();
  scopes_.pop_back();
  if (scope->captured) {
    machine_.arena.Charge(scope->bindings.capacity() * sizeof(scope->bindings[0]));
    return;
  }
  scope->bindings.clear();
  free_.push_back(scope);
}

std::vector<Scope*> Interpreter::VisibleScopes() {
  std::vector<Scope*> visible(
      scopes_.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(frame_, 1)), scopes_.end());
  for (Scope* scope : visible) scope->captured = true;
  machine_.arena.Charge(visible.size() * sizeof(Scope*));
  return visible;
}

size_t Interpreter::EnterFrame(const std::vector<Scope*>& scopes) {
  const size_t outer = std::exchange(frame_, scopes_.size());
  scopes_.insert(scopes_.end(), scopes.begin(), scopes.end());
  return outer;
}

void Interpreter::LeaveFrame(size_t outer) {
  scopes_.resize(frame_);
  frame_ = outer;
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
      Assign(node.name, MakeMacro(node));
      return Flow::kNext;
    case Node::Type::kCall:
      SHOAL_RETURN_IF_ERROR(CallBlock(node, out));
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
  PushScope();
  SHOAL_RETURN_IF_ERROR(Execute(body, &text).status());
  PopScope();
  return machine_.arena.NewString(std::move(text));
}

absl::StatusOr<Value> Interpreter::ThroughFilters(const Expr& chain, const Value& text) {
  PushScope();
  Assign(kBlockText, text);
  SHOAL_ASSIGN_OR_RETURN(const Value result, Evaluate(chain));
  PopScope();
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
  PushScope();
  for (size_t i = 0; i < values.size(); ++i) Assign(node.targets[i], values[i]);
  SHOAL_ASSIGN_OR_RETURN(const Flow flow, Execute(node.bodies[0], out));
  PopScope();
  return flow;
}

}  // namespace shoal::text::jinja
