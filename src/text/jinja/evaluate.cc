// SPDX-License-Identifier: Apache-2.0
// The part of Interpreter that evaluates expressions.
#include <utility>

#include "base/status.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/lexer.h"
#include "text/jinja/operators.h"

namespace shoal::text::jinja {
namespace {

constexpr int kDepthMax = 400;
constexpr size_t kScopesMax = 2000;

}  // namespace

absl::Status Interpreter::CheckDepth(int line) const {
  if (depth_ < kDepthMax && scopes_.size() <= kScopesMax) return absl::OkStatus();
  return TemplateError(line, "nested too deeply (a macro that calls itself?)");
}

absl::StatusOr<Value> Interpreter::Evaluate(const Expr& expr) {
  SHOAL_RETURN_IF_ERROR(machine_.Work());
  SHOAL_RETURN_IF_ERROR(CheckDepth(expr.line));
  ++depth_;
  auto value = EvaluateChecked(expr);
  --depth_;
  // The innermost expression names its line; outer ones pass the error on.
  if (value.status().code() == absl::StatusCode::kFailedPrecondition) {
    return TemplateError(expr.line, value.status().message());
  }
  return value;
}

absl::StatusOr<Value> Interpreter::EvaluateChecked(const Expr& expr) {
  using Type = Expr::Type;
  switch (expr.type) {
    case Type::kLiteral:
      return expr.literal;
    case Type::kName:
      return Lookup(expr.name);
    case Type::kAttribute: {
      SHOAL_ASSIGN_OR_RETURN(const Value object, Evaluate(*expr.children[0]));
      return GetAttribute(machine_, object, expr.name);
    }
    case Type::kItem:
    case Type::kSlice:
      return Subscript(expr);
    case Type::kCall:
      return Call(expr, /*caller=*/nullptr);
    case Type::kSpread:
      break;
    case Type::kFilter:
    case Type::kTest:
      return FilterOrTest(expr);
    case Type::kUnary: {
      SHOAL_ASSIGN_OR_RETURN(const Value operand, Evaluate(*expr.children[0]));
      if (expr.name == "not") return Value::Bool(!Truth(operand));
      if (expr.name == "-") return Negate(operand);
      return Arithmetic(machine_, "+", Value::Int(0), operand);
    }
    case Type::kBinary: {
      SHOAL_ASSIGN_OR_RETURN(const Value left, Evaluate(*expr.children[0]));
      SHOAL_ASSIGN_OR_RETURN(const Value right, Evaluate(*expr.children[1]));
      return Arithmetic(machine_, expr.name, left, right);
    }
    case Type::kCompare:
      return Chain(expr);
    case Type::kAnd:
    case Type::kOr: {
      SHOAL_ASSIGN_OR_RETURN(const Value left, Evaluate(*expr.children[0]));
      if (Truth(left) == (expr.type == Type::kOr)) return left;
      return Evaluate(*expr.children[1]);
    }
    case Type::kConditional: {
      SHOAL_ASSIGN_OR_RETURN(const Value condition, Evaluate(*expr.children[1]));
      if (Truth(condition)) return Evaluate(*expr.children[0]);
      if (expr.children[2] != nullptr) return Evaluate(*expr.children[2]);
      return machine_.arena.NewUndefined("the inline if without else gave no value");
    }
    case Type::kList:
    case Type::kTuple:
    case Type::kDict:
      return Collection(expr);
  }
  return Fail("an unknown expression");
}

absl::StatusOr<Value> Interpreter::Subscript(const Expr& expr) {
  SHOAL_ASSIGN_OR_RETURN(const Value object, Evaluate(*expr.children[0]));
  Value bounds[3] = {Value::None(), Value::None(), Value::None()};
  for (size_t i = 1; i < expr.children.size(); ++i) {
    if (expr.children[i] == nullptr) continue;
    SHOAL_ASSIGN_OR_RETURN(bounds[i - 1], Evaluate(*expr.children[i]));
  }
  if (expr.type == Expr::Type::kItem) return GetItem(machine_, object, bounds[0]);
  return Slice(machine_, object, bounds[0], bounds[1], bounds[2]);
}

absl::StatusOr<Value> Interpreter::Chain(const Expr& expr) {
  SHOAL_ASSIGN_OR_RETURN(Value left, Evaluate(*expr.children[0]));
  for (size_t i = 0; i < expr.operators.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(const Value right, Evaluate(*expr.children[i + 1]));
    SHOAL_ASSIGN_OR_RETURN(const bool holds, Compare(machine_, expr.operators[i], left, right));
    if (!holds) return Value::Bool(false);
    left = right;
  }
  return Value::Bool(true);
}

absl::StatusOr<Value> Interpreter::FilterOrTest(const Expr& expr) {
  SHOAL_ASSIGN_OR_RETURN(const Value self, Evaluate(*expr.children[0]));
  SHOAL_ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(expr));
  if (expr.type == Expr::Type::kFilter) {
    return ApplyFilter(machine_, *FindFilter(expr.name), self, arguments);
  }
  SHOAL_ASSIGN_OR_RETURN(const bool holds,
                         ApplyTest(machine_, *FindTest(expr.name), self, arguments));
  return Value::Bool(holds);
}

absl::StatusOr<Value> Interpreter::Collection(const Expr& expr) {
  std::vector<Value> items;
  for (const ExprPtr& child : expr.children) {
    SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*child));
    items.push_back(value);
  }
  if (expr.type != Expr::Type::kDict) {
    return machine_.arena.NewList(std::move(items), expr.type == Expr::Type::kTuple);
  }
  const Value dict = machine_.arena.NewDict();
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].is(Kind::kList) || items[i].is(Kind::kDict)) {
      return Fail("a list or dict cannot be the key of a dict");
    }
    machine_.arena.Charge(4 * sizeof(Value));
    dict.dict->Set(items[i], items[i + 1]);
  }
  return dict;
}

}  // namespace shoal::text::jinja
