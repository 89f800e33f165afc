// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "text/jinja/builtins.h"

namespace shoal::text::jinja {
namespace {

constexpr int kDepthMax = 120;
using Type = Expr::Type;

ExprPtr Make(Type type, int line, absl::string_view name = "") {
  auto expr = std::make_unique<Expr>();
  expr->type = type;
  expr->line = line;
  expr->name = std::string(name);
  return expr;
}

ExprPtr Make(Type type, int line, absl::string_view name, ExprPtr a, ExprPtr b = nullptr) {
  ExprPtr expr = Make(type, line, name);
  expr->children.push_back(std::move(a));
  if (b != nullptr) expr->children.push_back(std::move(b));
  return expr;
}

}  // namespace

const Token& TokenStream::Peek(size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

const Token& TokenStream::Next() {
  const Token& token = Peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool TokenStream::AtOperator(absl::string_view op) const {
  return Peek().type == Token::Type::kOperator && Peek().text == op;
}

bool TokenStream::AtName(absl::string_view name) const {
  return Peek().type == Token::Type::kName && Peek().text == name;
}

bool TokenStream::TakeOperator(absl::string_view op) {
  const bool here = AtOperator(op);
  if (here) Next();
  return here;
}

bool TokenStream::TakeName(absl::string_view name) {
  const bool here = AtName(name);
  if (here) Next();
  return here;
}

absl::Status TokenStream::Expect(absl::string_view op) {
  if (TakeOperator(op)) return absl::OkStatus();
  return Unexpected(absl::StrCat("'", op, "'"));
}

absl::Status TokenStream::Unexpected(absl::string_view wanted) const {
  const Token& token = Peek();
  const bool named = !token.text.empty();
  return TemplateError(token.line,
                       absl::StrCat("expected ", wanted, ", found ",
                                    named ? absl::StrCat("'", token.text.substr(0, 40), "'")
                                    : token.type == Token::Type::kEnd ? "the end of the template"
                                                                      : "the end of the tag"));
}

absl::StatusOr<ExprPtr> ExpressionParser::Finish(ExprPtr expr) {
  int depth = 0;
  for (const ExprPtr& child : expr->children) {
    if (child != nullptr) depth = std::max(depth, child->depth);
  }
  for (const auto& [key, child] : expr->keywords) depth = std::max(depth, child->depth);
  expr->depth = depth + 1;
  if (expr->depth > kDepthMax) {
    return TemplateError(expr->line,
                         absl::StrCat("an expression is nested deeper than ", kDepthMax));
  }
  return expr;
}

absl::Status ExpressionParser::Enter() {
  if (nesting_ <= kDepthMax) return absl::OkStatus();
  return TemplateError(stream_.Peek().line,
                       absl::StrCat("an expression is nested deeper than ", kDepthMax));
}

absl::StatusOr<ExprPtr> ExpressionParser::Tuple(bool conditional) {
  const int line = stream_.Peek().line;
  std::vector<ExprPtr> items;
  bool comma = false;
  do {
    const Token& token = stream_.Peek();
    const bool ends = token.type == Token::Type::kVariableEnd ||
                      token.type == Token::Type::kBlockEnd || stream_.AtOperator(")") ||
                      stream_.AtOperator("=") || stream_.AtName("if") ||
                      stream_.AtName("recursive");
    if (comma && ends) break;
    SHOAL_ASSIGN_OR_RETURN(ExprPtr item, conditional ? Conditional() : Or());
    items.push_back(std::move(item));
    comma = stream_.AtOperator(",") || comma;
  } while (stream_.TakeOperator(","));
  if (!comma) return std::move(items[0]);
  ExprPtr tuple = Make(Type::kTuple, line);
  tuple->children = std::move(items);
  return Finish(std::move(tuple));
}

absl::StatusOr<ExprPtr> ExpressionParser::Conditional() {
  ++nesting_;
  SHOAL_RETURN_IF_ERROR(Enter());
  SHOAL_ASSIGN_OR_RETURN(ExprPtr value, Or());
  while (stream_.AtName("if")) {
    const int line = stream_.Next().line;
    SHOAL_ASSIGN_OR_RETURN(ExprPtr condition, Or());
    ExprPtr otherwise;
    if (stream_.TakeName("else")) {
      SHOAL_ASSIGN_OR_RETURN(otherwise, Conditional());
    }
    ExprPtr expr = Make(Type::kConditional, line, "", std::move(value), std::move(condition));
    expr->children.push_back(std::move(otherwise));
    SHOAL_ASSIGN_OR_RETURN(value, Finish(std::move(expr)));
  }
  --nesting_;
  return value;
}

absl::StatusOr<ExprPtr> ExpressionParser::Or() {
  SHOAL_ASSIGN_OR_RETURN(ExprPtr left, And());
  while (stream_.AtName("or")) {
    const int line = stream_.Next().line;
    SHOAL_ASSIGN_OR_RETURN(ExprPtr right, And());
    SHOAL_ASSIGN_OR_RETURN(left,
                           Finish(Make(Type::kOr, line, "", std::move(left), std::move(right))));
  }
  return left;
}

absl::StatusOr<ExprPtr> ExpressionParser::And() {
  SHOAL_ASSIGN_OR_RETURN(ExprPtr left, Not());
  while (stream_.AtName("and")) {
    const int line = stream_.Next().line;
    SHOAL_ASSIGN_OR_RETURN(ExprPtr right, Not());
    SHOAL_ASSIGN_OR_RETURN(left,
                           Finish(Make(Type::kAnd, line, "", std::move(left), std::move(right))));
  }
  return left;
}

absl::StatusOr<ExprPtr> ExpressionParser::Not() {
  if (!stream_.AtName("not")) return Compare();
  const int line = stream_.Next().line;
  ++nesting_;
  SHOAL_RETURN_IF_ERROR(Enter());
  SHOAL_ASSIGN_OR_RETURN(ExprPtr operand, Not());
  --nesting_;
  return Finish(Make(Type::kUnary, line, "not", std::move(operand)));
}

absl::StatusOr<ExprPtr> ExpressionParser::Compare() {
  const int line = stream_.Peek().line;
  SHOAL_ASSIGN_OR_RETURN(ExprPtr first, Sum());
  ExprPtr chain;
  while (true) {
    std::string op;
    for (const char* known : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (op.empty() && stream_.TakeOperator(known)) op = known;
    }
    if (op.empty() && stream_.TakeName("in")) op = "in";
    if (op.empty() && stream_.AtName("not") && stream_.Peek(1).type == Token::Type::kName &&
        stream_.Peek(1).text == "in") {
      stream_.Next();
      stream_.Next();
      op = "not in";
    }
    if (op.empty()) break;
    if (chain == nullptr) chain = Make(Type::kCompare, line, "", std::move(first));
    SHOAL_ASSIGN_OR_RETURN(ExprPtr operand, Sum());
    chain->operators.push_back(op);
    chain->children.push_back(std::move(operand));
  }
  if (chain == nullptr) return first;
  return Finish(std::move(chain));
}

absl::StatusOr<ExprPtr> ExpressionParser::LeftAssociative(const std::vector<const char*>& ops,
                                                          Level next) {
  SHOAL_ASSIGN_OR_RETURN(ExprPtr left, (this->*next)());
  while (true) {
    const int line = stream_.Peek().line;
    const auto op = std::find_if(ops.begin(), ops.end(),
                                 [this](const char* known) { return stream_.TakeOperator(known); });
    if (op == ops.end()) return left;
    SHOAL_ASSIGN_OR_RETURN(ExprPtr right, (this->*next)());
    SHOAL_ASSIGN_OR_RETURN(
        left, Finish(Make(Type::kBinary, line, *op, std::move(left), std::move(right))));
  }
}

absl::StatusOr<ExprPtr> ExpressionParser::Sum() {
  return LeftAssociative({"+", "-"}, &ExpressionParser::Concat);
}

absl::StatusOr<ExprPtr> ExpressionParser::Concat() {
  return LeftAssociative({"~"}, &ExpressionParser::Product);
}

absl::StatusOr<ExprPtr> ExpressionParser::Product() {
  return LeftAssociative({"*", "/", "//", "%"}, &ExpressionParser::Power);
}

absl::StatusOr<ExprPtr> ExpressionParser::Power() {
  return LeftAssociative({"**"}, &ExpressionParser::UnaryWithFilters);
}

absl::StatusOr<ExprPtr> ExpressionParser::UnaryWithFilters() { return Unary(true); }

absl::StatusOr<ExprPtr> ExpressionParser::Unary(bool with_filters) {
  ExprPtr operand;
  if (stream_.AtOperator("-") || stream_.AtOperator("+")) {
    const Token& sign = stream_.Next();
    const std::string name = sign.text;
    const int line = sign.line;
    ++nesting_;
    SHOAL_RETURN_IF_ERROR(Enter());
    SHOAL_ASSIGN_OR_RETURN(ExprPtr inner, Unary(false));
    --nesting_;
    SHOAL_ASSIGN_OR_RETURN(operand, Finish(Make(Type::kUnary, line, name, std::move(inner))));
  } else {
    SHOAL_ASSIGN_OR_RETURN(operand, Primary());
  }
  SHOAL_ASSIGN_OR_RETURN(operand, Postfix(std::move(operand)));
  if (!with_filters) return operand;
  return FiltersAndTests(std::move(operand));
}

absl::StatusOr<ExprPtr> ExpressionParser::Literal(const Token& token) {
  ExprPtr expr = Make(Type::kLiteral, token.line);
  if (token.type == Token::Type::kInt) {
    expr->literal = Value::Int(token.integer);
  } else if (token.type == Token::Type::kFloat) {
    expr->literal = Value::Float(token.real);
  } else {
    expr->text.bytes = token.text;
    while (stream_.Peek().type == Token::Type::kString) expr->text.bytes += stream_.Next().text;
    expr->literal = Value::String(&expr->text);
  }
  return expr;
}

absl::StatusOr<ExprPtr> ExpressionParser::Primary() {
  const Token& token = stream_.Peek();
  if (token.type == Token::Type::kName) {
    stream_.Next();
    const std::string& name = token.text;
    ExprPtr constant = Make(Type::kLiteral, token.line);
    if (name == "true" || name == "True") {
      constant->literal = Value::Bool(true);
    } else if (name == "false" || name == "False") {
      constant->literal = Value::Bool(false);
    } else if (name == "none" || name == "None") {
      constant->literal = Value::None();
    } else {
      uses_.varargs = uses_.varargs || name == "varargs";
      uses_.kwargs = uses_.kwargs || name == "kwargs";
      uses_.caller = uses_.caller || name == "caller";
      return Make(Type::kName, token.line, name);
    }
    return constant;
  }
  if (token.type == Token::Type::kString || token.type == Token::Type::kInt ||
      token.type == Token::Type::kFloat) {
    return Literal(stream_.Next());
  }
  if (stream_.AtOperator("(")) return Parenthesised();
  if (stream_.AtOperator("[")) return ListLiteral();
  if (stream_.AtOperator("{")) return DictLiteral();
  return stream_.Unexpected("a value");
}

absl::StatusOr<ExprPtr> ExpressionParser::Parenthesised() {
  const int line = stream_.Next().line;
  if (stream_.TakeOperator(")")) return Make(Type::kTuple, line);
  SHOAL_ASSIGN_OR_RETURN(ExprPtr inner, Tuple(/*conditional=*/true));
  SHOAL_RETURN_IF_ERROR(stream_.Expect(")"));
  return inner;
}

absl::StatusOr<ExprPtr> ExpressionParser::ListLiteral() {
  ExprPtr list = Make(Type::kList, stream_.Next().line);
  while (!stream_.TakeOperator("]")) {
    if (!list->children.empty()) {
      SHOAL_RETURN_IF_ERROR(stream_.Expect(","));
      if (stream_.TakeOperator("]")) break;
    }
    SHOAL_ASSIGN_OR_RETURN(ExprPtr item, Conditional());
    list->children.push_back(std::move(item));
  }
  return Finish(std::move(list));
}

absl::StatusOr<ExprPtr> ExpressionParser::DictLiteral() {
  ExprPtr dict = Make(Type::kDict, stream_.Next().line);
  while (!stream_.TakeOperator("}")) {
    if (!dict->children.empty()) {
      SHOAL_RETURN_IF_ERROR(stream_.Expect(","));
      if (stream_.TakeOperator("}")) break;
    }
    SHOAL_ASSIGN_OR_RETURN(ExprPtr key, Conditional());
    SHOAL_RETURN_IF_ERROR(stream_.Expect(":"));
    SHOAL_ASSIGN_OR_RETURN(ExprPtr value, Conditional());
    dict->children.push_back(std::move(key));
    dict->children.push_back(std::move(value));
  }
  return Finish(std::move(dict));
}

}  // namespace shoal::text::jinja
