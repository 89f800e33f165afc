// SPDX-License-Identifier: Apache-2.0
// The part of ExpressionParser that reads what follows an operand.
#include <utility>

#include "base/status.h"
#include "text/jinja/builtins.h"
#include "text/jinja/expression_parser.h"

namespace shoal::text::jinja {
namespace {

using Type = Expr::Type;

ExprPtr MakeOn(Type type, int line, absl::string_view name, ExprPtr operand) {
  auto expr = std::make_unique<Expr>();
  expr->type = type;
  expr->line = line;
  expr->name = std::string(name);
  expr->children.push_back(std::move(operand));
  return expr;
}

}  // namespace

absl::StatusOr<ExprPtr> ExpressionParser::Postfix(ExprPtr operand) {
  while (true) {
    const int line = stream_.Peek().line;
    if (stream_.TakeOperator(".")) {
      const Token& token = stream_.Next();
      if (token.type == Token::Type::kInt) {
        ExprPtr item = MakeOn(Type::kItem, line, "", std::move(operand));
        SHOAL_ASSIGN_OR_RETURN(ExprPtr index, Literal(token));
        item->children.push_back(std::move(index));
        SHOAL_ASSIGN_OR_RETURN(operand, Finish(std::move(item)));
        continue;
      }
      if (token.type != Token::Type::kName) {
        return TemplateError(line, "expected a name after '.'");
      }
      SHOAL_ASSIGN_OR_RETURN(
          operand, Finish(MakeOn(Type::kAttribute, line, token.text, std::move(operand))));
    } else if (stream_.TakeOperator("[")) {
      SHOAL_ASSIGN_OR_RETURN(operand, Subscript(std::move(operand)));
    } else if (stream_.TakeOperator("(")) {
      ExprPtr call = MakeOn(Type::kCall, line, "", std::move(operand));
      SHOAL_RETURN_IF_ERROR(Arguments(call.get()));
      SHOAL_ASSIGN_OR_RETURN(operand, Finish(std::move(call)));
    } else {
      return operand;
    }
  }
}

absl::StatusOr<ExprPtr> ExpressionParser::Subscript(ExprPtr operand) {
  const int line = stream_.Peek().line;
  ExprPtr parts[3];
  int colons = 0;
  while (!stream_.AtOperator("]")) {
    if (stream_.TakeOperator(":")) {
      if (++colons > 2) return TemplateError(line, "a slice has at most two ':'");
      continue;
    }
    if (parts[colons] != nullptr) return stream_.Unexpected("']'");
    SHOAL_ASSIGN_OR_RETURN(parts[colons], Conditional());
  }
  stream_.Next();
  if (colons == 0 && parts[0] == nullptr) return TemplateError(line, "an empty subscript");
  ExprPtr expr = MakeOn(colons == 0 ? Type::kItem : Type::kSlice, line, "", std::move(operand));
  expr->children.push_back(std::move(parts[0]));
  if (colons > 0) {
    expr->children.push_back(std::move(parts[1]));
    expr->children.push_back(std::move(parts[2]));
  }
  return Finish(std::move(expr));
}

absl::Status ExpressionParser::Arguments(Expr* call) {
  bool first = true;
  while (!stream_.TakeOperator(")")) {
    if (!first) {
      SHOAL_RETURN_IF_ERROR(stream_.Expect(","));
      if (stream_.TakeOperator(")")) break;
    }
    first = false;
    const Token& token = stream_.Peek();
    if (stream_.TakeOperator("*")) {
      SHOAL_ASSIGN_OR_RETURN(ExprPtr value, Conditional());
      SHOAL_ASSIGN_OR_RETURN(value,
                             Finish(MakeOn(Type::kSpread, token.line, "", std::move(value))));
      call->children.push_back(std::move(value));
      continue;
    }
    if (stream_.TakeOperator("**")) {
      SHOAL_ASSIGN_OR_RETURN(ExprPtr value, Conditional());
      call->keywords.emplace_back("", std::move(value));
      continue;
    }
    const Token& after = stream_.Peek(1);
    if (token.type == Token::Type::kName && after.type == Token::Type::kOperator &&
        after.text == "=") {
      const std::string key = token.text;
      stream_.Next();
      stream_.Next();
      SHOAL_ASSIGN_OR_RETURN(ExprPtr value, Conditional());
      call->keywords.emplace_back(key, std::move(value));
      continue;
    }
    if (!call->keywords.empty()) {
      return TemplateError(token.line, "a positional argument after a keyword argument");
    }
    SHOAL_ASSIGN_OR_RETURN(ExprPtr value, Conditional());
    call->children.push_back(std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExprPtr> ExpressionParser::FiltersAndTests(ExprPtr operand) {
  while (true) {
    if (stream_.TakeOperator("|")) {
      SHOAL_ASSIGN_OR_RETURN(operand, Filter(std::move(operand)));
    } else if (stream_.TakeName("is")) {
      SHOAL_ASSIGN_OR_RETURN(operand, Test(std::move(operand)));
    } else if (stream_.AtOperator("(")) {
      SHOAL_ASSIGN_OR_RETURN(operand, Postfix(std::move(operand)));
    } else {
      return operand;
    }
  }
}

absl::StatusOr<ExprPtr> ExpressionParser::Filter(ExprPtr operand) {
  const Token& token = stream_.Next();
  if (token.type != Token::Type::kName) {
    return TemplateError(token.line, "expected the name of a filter after '|'");
  }
  if (FindFilter(token.text) == nullptr) {
    return TemplateError(token.line, absl::StrCat("no filter named '", token.text, "'"));
  }
  ExprPtr filter = MakeOn(Type::kFilter, token.line, token.text, std::move(operand));
  if (stream_.TakeOperator("(")) SHOAL_RETURN_IF_ERROR(Arguments(filter.get()));
  return Finish(std::move(filter));
}

absl::StatusOr<ExprPtr> ExpressionParser::FilterChain(ExprPtr operand) {
  do {
    SHOAL_ASSIGN_OR_RETURN(operand, Filter(std::move(operand)));
  } while (stream_.TakeOperator("|"));
  return operand;
}

absl::StatusOr<ExprPtr> ExpressionParser::Test(ExprPtr operand) {
  const bool negated = stream_.TakeName("not");
  const Token& token = stream_.Next();
  if (token.type != Token::Type::kName) {
    return TemplateError(token.line, "expected the name of a test after 'is'");
  }
  if (FindTest(token.text) == nullptr) {
    return TemplateError(token.line, absl::StrCat("no test named '", token.text, "'"));
  }
  ExprPtr test = MakeOn(Type::kTest, token.line, token.text, std::move(operand));
  const Token& next = stream_.Peek();
  const bool literal = next.type == Token::Type::kString || next.type == Token::Type::kInt ||
                       next.type == Token::Type::kFloat || stream_.AtOperator("[") ||
                       stream_.AtOperator("{");
  const bool name = next.type == Token::Type::kName && next.text != "else" && next.text != "or" &&
                    next.text != "and" && next.text != "if" && next.text != "is" &&
                    next.text != "in" && next.text != "not" && next.text != "recursive";
  if (stream_.TakeOperator("(")) {
    SHOAL_RETURN_IF_ERROR(Arguments(test.get()));
  } else if (literal || name) {
    SHOAL_ASSIGN_OR_RETURN(ExprPtr argument, Primary());
    SHOAL_ASSIGN_OR_RETURN(argument, Postfix(std::move(argument)));
    test->children.push_back(std::move(argument));
  }
  SHOAL_ASSIGN_OR_RETURN(test, Finish(std::move(test)));
  if (!negated) return test;
  const int line = test->line;
  return Finish(MakeOn(Type::kUnary, line, "not", std::move(test)));
}

}  // namespace shoal::text::jinja
