// SPDX-License-Identifier: Apache-2.0
// The part of Interpreter that calls macros and functions.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/loop.h"
#include "text/jinja/operators.h"

namespace shoal::text::jinja {
namespace {

bool IsParameter(const Node& macro, absl::string_view name) {
  return std::find(macro.targets.begin(), macro.targets.end(), name) != macro.targets.end();
}

}  // namespace

absl::StatusOr<Arguments> Interpreter::EvaluateArguments(const Expr& expr) {
  Arguments arguments;
  for (size_t i = 1; i < expr.children.size(); ++i) {
    const Expr& child = *expr.children[i];
    const bool spread = child.type == Expr::Type::kSpread;
    SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(spread ? *child.children[0] : child));
    if (!spread) {
      arguments.positional.push_back(value);
      continue;
    }
    SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(machine_, value));
    arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
  }
  for (const auto& [name, child] : expr.keywords) {
    SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*child));
    if (!name.empty()) {
      arguments.named.emplace_back(name, value);
      continue;
    }
    if (!value.is(Kind::kDict)) return Fail("the argument after ** must be a mapping");
    SHOAL_RETURN_IF_ERROR(machine_.Work(Length(value)));
    for (const auto& [key, item] : value.dict->entries) {
      if (!key.is(Kind::kString)) return Fail("keywords must be strings");
      arguments.user_names = arguments.user_names || HasUser(key);
      arguments.named.emplace_back(key.str(), item);
    }
  }
  return arguments;
}

absl::StatusOr<Value> Interpreter::Call(const Expr& expr, const Value* caller) {
  SHOAL_ASSIGN_OR_RETURN(const Value callee, Evaluate(*expr.children[0]));
  if (callee.is(Kind::kUndefined)) return FailUndefined(callee);
  const bool loop = callee.is(Kind::kNamespace) && callee.dict->call != nullptr;
  if (!callee.is(Kind::kCallable) && !loop) {
    return Fail(absl::StrCat("'", TypeName(callee), "' is not callable"));
  }
  SHOAL_ASSIGN_OR_RETURN(Arguments arguments, EvaluateArguments(expr));
  const Callable& callable = loop ? *callee.dict->call : *callee.callable;
  if (caller != nullptr) {
    if (callable.type != Callable::Type::kMacro) {
      return Fail(absl::StrCat("'", callable.name, "' is no macro, so it takes no call block"));
    }
    arguments.named.emplace_back("caller", *caller);
  }
  switch (callable.type) {
    case Callable::Type::kMacro:
      return CallMacro(callable, arguments);
    case Callable::Type::kMethod:
      return CallMethod(machine_, callable.self, callable.name, arguments);
    case Callable::Type::kFunction:
      return CallGlobalFunction(machine_, callable.name, arguments);
    case Callable::Type::kCycle:
      return LoopCycle(callable.self, arguments);
    case Callable::Type::kChanged:
      return LoopChanged(machine_, callable.self, arguments);
    case Callable::Type::kLoop:
      return CallLoop(callable, arguments);
  }
  return Fail("an unknown callable");
}

absl::Status Interpreter::BindParameters(const Node& macro, const Arguments& arguments) {
  for (size_t i = 0; i < macro.targets.size(); ++i) {
    const std::string& name = macro.targets[i];
    const Value* given = arguments.Get(i, name);
    if (given != nullptr && i < arguments.positional.size() &&
        arguments.Get(SIZE_MAX, name) != nullptr) {
      return Fail(absl::StrCat("macro '", macro.name, "' got two values for '", name, "'"));
    }
    Value value =
        machine_.arena.NewUndefined(absl::StrCat("parameter '", name, "' was not provided"));
    if (given != nullptr) {
      value = *given;
    } else if (macro.exprs[i] != nullptr) {
      SHOAL_ASSIGN_OR_RETURN(value, Evaluate(*macro.exprs[i]));
    }
    Assign(name, value);
  }
  return absl::OkStatus();
}

// What is left of the arguments, for a macro that asks for it.
absl::Status Interpreter::BindRest(const Node& macro, const Arguments& arguments) {
  const size_t parameters = macro.targets.size();
  if (macro.uses.varargs) {
    std::vector<Value> rest;
    for (size_t i = parameters; i < arguments.positional.size(); ++i) {
      rest.push_back(arguments.positional[i]);
    }
    Assign("varargs", machine_.arena.NewList(std::move(rest), /*tuple=*/true));
  } else if (arguments.positional.size() > parameters) {
    return Fail(absl::StrCat("macro '", macro.name, "' takes at most ", parameters, " arguments"));
  }
  const Value kwargs = machine_.arena.NewDict();
  if (macro.uses.caller && !IsParameter(macro, "caller")) {
    Assign("caller", machine_.arena.NewUndefined("No caller defined"));
  }
  for (const auto& [name, value] : arguments.named) {
    if (IsParameter(macro, name)) continue;
    if (name == "caller" && macro.uses.caller) {
      Assign("caller", value);
    } else if (macro.uses.kwargs) {
      machine_.arena.Charge(4 * sizeof(Value));
      kwargs.dict->Set(machine_.arena.NewString(name, arguments.user_names), value);
    } else {
      return Fail(absl::StrCat("macro '", macro.name, "' has no parameter '", name, "'"));
    }
  }
  if (macro.uses.kwargs) Assign("kwargs", kwargs);
  return absl::OkStatus();
}

absl::StatusOr<Value> Interpreter::CallMacro(const Callable& callable, const Arguments& arguments) {
  const Node& macro = *callable.macro;
  const size_t outer = EnterFrame(callable.scopes);
  PushScope();
  SHOAL_RETURN_IF_ERROR(BindRest(macro, arguments));
  SHOAL_RETURN_IF_ERROR(BindParameters(macro, arguments));
  TextBuilder text;
  SHOAL_RETURN_IF_ERROR(Execute(macro.bodies[0], &text).status());
  PopScope();
  LeaveFrame(outer);
  return machine_.arena.NewString(std::move(text));
}

Value Interpreter::MakeMacro(const Node& node) {
  return machine_.arena.NewCallable({.type = Callable::Type::kMacro,
                                     .name = node.name,
                                     .self = Value(),
                                     .macro = &node,
                                     .scopes = VisibleScopes()});
}

absl::Status Interpreter::CallBlock(const Node& node, TextBuilder* out) {
  const Value caller = MakeMacro(node);
  SHOAL_ASSIGN_OR_RETURN(const Value text, Call(*node.call, &caller));
  AppendStr(text, out);
  return absl::OkStatus();
}

}  // namespace shoal::text::jinja
