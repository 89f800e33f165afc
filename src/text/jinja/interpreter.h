// SPDX-License-Identifier: Apache-2.0
// Runs a parsed template: bounded in work, nesting, memory and output.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "text/jinja/ast.h"
#include "text/jinja/builtins.h"
#include "text/jinja/text.h"

namespace shoal::text::jinja {

// One rendering; not thread-safe. The tree must outlive it.
class Interpreter {
 public:
  explicit Interpreter(Machine* machine) : machine_(*machine) { scopes_.emplace_back(); }

  void Define(absl::string_view name, const Value& value) { Assign(name, value); }
  // The template's text. INVALID_ARGUMENT with the line for what the template refuses or cannot do;
  // RESOURCE_EXHAUSTED for what would take too much.
  absl::StatusOr<Text> Run(const Body& body);

 private:
  enum class Flow { kNext, kBreak, kContinue };
  using Scope = std::vector<std::pair<absl::string_view, Value>>;

  absl::StatusOr<Flow> Execute(const Body& body, TextBuilder* out);
  absl::StatusOr<Flow> ExecuteNode(const Node& node, TextBuilder* out);
  absl::StatusOr<Flow> If(const Node& node, TextBuilder* out);
  absl::StatusOr<Flow> For(const Node& node, TextBuilder* out);
  absl::StatusOr<std::vector<Value>> LoopItems(const Node& node);
  Value LoopVariable(const std::vector<Value>& items, size_t index, const Value& loop);
  absl::Status Set(const Node& node, const Value& value);
  absl::Status SetBlock(const Node& node);
  absl::StatusOr<Flow> With(const Node& node, TextBuilder* out);
  absl::Status FilterBlock(const Node& node, TextBuilder* out);
  // The text of a body in a scope of its own, where kBlockText is not yet bound.
  absl::StatusOr<Value> Capture(const Body& body);
  absl::StatusOr<Value> ThroughFilters(const Expr& chain, const Value& text);
  absl::Status Unpack(const Node& node, const Value& value);

  // Recursion of the template is recursion here, so it is bounded.
  absl::Status CheckDepth(int line) const;
  absl::StatusOr<Value> Evaluate(const Expr& expr);
  absl::StatusOr<Value> EvaluateChecked(const Expr& expr);
  absl::StatusOr<Value> Subscript(const Expr& expr);
  absl::StatusOr<Value> Chain(const Expr& expr);
  absl::StatusOr<Value> Call(const Expr& expr);
  absl::StatusOr<Value> CallMacro(const Node& macro, const Arguments& arguments);
  absl::StatusOr<Value> FilterOrTest(const Expr& expr);
  absl::StatusOr<Value> Collection(const Expr& expr);
  absl::StatusOr<Arguments> EvaluateArguments(const Expr& expr);

  Value Lookup(absl::string_view name);
  void Assign(absl::string_view name, const Value& value);

  Machine& machine_;
  std::vector<Scope> scopes_;
  size_t frame_ = 0;  // the first scope of the running macro; scope 0 is always visible
  int depth_ = 0;
};

}  // namespace shoal::text::jinja
