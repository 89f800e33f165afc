// SPDX-License-Identifier: Apache-2.0
// Runs a parsed template: bounded in work, nesting, memory and output.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "text/jinja/ast.h"
#include "text/jinja/builtins.h"
#include "text/jinja/text.h"

namespace shoal::text::jinja {

// The names that one block binds. Names live in the tree or in the arena.
struct Scope {
  std::vector<std::pair<absl::string_view, Value>> bindings;
  bool captured = false;  // a macro defined under it may still look into it
};

// One rendering; not thread-safe. The tree must outlive it.
class Interpreter {
 public:
  explicit Interpreter(Machine* machine) : machine_(*machine) { PushScope(); }

  void Define(absl::string_view name, const Value& value) { Assign(name, value); }
  // The template's text. INVALID_ARGUMENT with the line for what the template refuses or cannot do;
  // RESOURCE_EXHAUSTED for what would take too much.
  absl::StatusOr<Text> Run(const Body& body);

 private:
  enum class Flow { kNext, kBreak, kContinue };

  absl::StatusOr<Flow> Execute(const Body& body, TextBuilder* out);
  absl::StatusOr<Flow> ExecuteNode(const Node& node, TextBuilder* out);
  absl::StatusOr<Flow> If(const Node& node, TextBuilder* out);
  absl::Status Set(const Node& node, const Value& value);
  absl::Status SetBlock(const Node& node);
  absl::StatusOr<Flow> With(const Node& node, TextBuilder* out);
  absl::Status FilterBlock(const Node& node, TextBuilder* out);
  absl::Status CallBlock(const Node& node, TextBuilder* out);
  // The text of a body in a scope of its own, where kBlockText is not yet bound.
  absl::StatusOr<Value> Capture(const Body& body);
  absl::StatusOr<Value> ThroughFilters(const Expr& chain, const Value& text);
  absl::Status Unpack(const Node& node, const Value& value);

  // Loops (loops.cc).
  absl::StatusOr<Flow> For(const Node& node, TextBuilder* out);
  absl::StatusOr<Flow> Loop(const Node& node, const Value& iterable, int64_t depth,
                            const Callable* recursion, TextBuilder* out);
  absl::StatusOr<std::vector<Value>> LoopItems(const Node& node, const Value& iterable);
  Value NewLoop(int64_t depth, const Callable* recursion);
  absl::StatusOr<Value> CallLoop(const Callable& callable, const Arguments& arguments);

  // Recursion of the template is recursion here, so it is bounded.
  absl::Status CheckDepth(int line) const;
  absl::StatusOr<Value> Evaluate(const Expr& expr);
  absl::StatusOr<Value> EvaluateChecked(const Expr& expr);
  absl::StatusOr<Value> Subscript(const Expr& expr);
  absl::StatusOr<Value> Chain(const Expr& expr);
  absl::StatusOr<Value> FilterOrTest(const Expr& expr);
  absl::StatusOr<Value> Collection(const Expr& expr);

  // Calls (calls.cc). `caller`: the block of a call block, or null.
  absl::StatusOr<Value> Call(const Expr& expr, const Value* caller);
  absl::StatusOr<Value> CallMacro(const Callable& callable, const Arguments& arguments);
  absl::Status BindParameters(const Node& macro, const Arguments& arguments);
  absl::Status BindRest(const Node& macro, const Arguments& arguments);
  absl::StatusOr<Arguments> EvaluateArguments(const Expr& expr);
  // A macro, with what it can see where it is defined.
  Value MakeMacro(const Node& node);

  Value Lookup(absl::string_view name);
  void Assign(absl::string_view name, const Value& value);
  void PushScope();
  void PopScope();
  // What is visible here beside the outermost scope.
  std::vector<Scope*> VisibleScopes();
  // Makes `scopes` what is visible; returns what LeaveFrame takes.
  size_t EnterFrame(const std::vector<Scope*>& scopes);
  void LeaveFrame(size_t outer);

  Machine& machine_;
  std::deque<Scope> pool_;
  std::vector<Scope*> free_;
  std::vector<Scope*> scopes_;
  size_t frame_ = 0;  // the first scope of the running macro; scope 0 is always visible
  int depth_ = 0;
};

}  // namespace shoal::text::jinja
