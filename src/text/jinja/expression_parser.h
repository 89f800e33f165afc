// SPDX-License-Identifier: Apache-2.0
// Parses the expressions of a template out of its tokens.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace shoal::text::jinja {

// A place in the tokens with what both parsers need. Not thread-safe.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const;
  const Token& Next();
  bool AtOperator(absl::string_view op) const;
  bool AtName(absl::string_view name) const;
  // Steps over it when it is there.
  bool TakeOperator(absl::string_view op);
  bool TakeName(absl::string_view name);
  absl::Status Expect(absl::string_view op);
  absl::Status Unexpected(absl::string_view wanted) const;

 private:
  std::vector<Token> tokens_;
  size_t position_ = 0;
};

// Filters, tests and nesting are checked while parsing, so a template that parses has none that
// does not exist.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream* stream) : stream_(*stream) {}

  absl::StatusOr<ExprPtr> Expression() { return Conditional(); }
  absl::StatusOr<ExprPtr> Or();
  // One expression, or several with commas: a tuple. `conditional`: "a if b" is part of it.
  absl::StatusOr<ExprPtr> Tuple(bool conditional);
  // "name(args)" of a filter, applied to `operand`; then further "| name" ones.
  absl::StatusOr<ExprPtr> FilterChain(ExprPtr operand);
  // What macros ask for, seen since it was last reset.
  MacroUses* uses() { return &uses_; }

 private:
  absl::StatusOr<ExprPtr> Conditional();
  absl::StatusOr<ExprPtr> And();
  absl::StatusOr<ExprPtr> Not();
  absl::StatusOr<ExprPtr> Compare();
  using Level = absl::StatusOr<ExprPtr> (ExpressionParser::*)();
  absl::StatusOr<ExprPtr> LeftAssociative(const std::vector<const char*>& ops, Level next);
  absl::StatusOr<ExprPtr> Sum();
  absl::StatusOr<ExprPtr> Concat();
  absl::StatusOr<ExprPtr> Product();
  absl::StatusOr<ExprPtr> Power();
  absl::StatusOr<ExprPtr> UnaryWithFilters();
  absl::StatusOr<ExprPtr> Unary(bool with_filters);
  absl::StatusOr<ExprPtr> Primary();
  absl::StatusOr<ExprPtr> Literal(const Token& token);
  absl::StatusOr<ExprPtr> Parenthesised();
  absl::StatusOr<ExprPtr> ListLiteral();
  absl::StatusOr<ExprPtr> DictLiteral();
  absl::StatusOr<ExprPtr> Postfix(ExprPtr operand);
  absl::StatusOr<ExprPtr> Subscript(ExprPtr operand);
  absl::StatusOr<ExprPtr> FiltersAndTests(ExprPtr operand);
  absl::StatusOr<ExprPtr> Filter(ExprPtr operand);
  absl::StatusOr<ExprPtr> Test(ExprPtr operand);
  absl::Status Arguments(Expr* call);
  // Sets the depth from the children and refuses what is nested too deeply.
  absl::StatusOr<ExprPtr> Finish(ExprPtr expr);
  absl::Status Enter();

  TokenStream& stream_;
  int nesting_ = 0;
  MacroUses uses_;
};

}  // namespace shoal::text::jinja
