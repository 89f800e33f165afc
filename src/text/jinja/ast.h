// SPDX-License-Identifier: Apache-2.0
// The tree a template is parsed into: Node (statements) and Expr (expressions). Immutable after
// parsing; its depth is bounded by the parser, so that walking it by recursion is safe.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace shoal::text::jinja {

struct Expr;
struct Node;
using ExprPtr = std::unique_ptr<Expr>;
using Body = std::vector<std::unique_ptr<Node>>;

struct Expr {
  enum class Type {
    kLiteral,    // literal (strings: text)
    kName,       // name
    kAttribute,  // children[0] . name
    kItem,       // children[0] [ children[1] ]
    kSlice,      // children[0] [ children[1] : children[2] : children[3] ], absent ones null
    kCall,       // children[0] ( children[1..], keywords )
    kSpread,     // "*children[0]" among the arguments of a call
    kFilter,     // children[0] | name ( children[1..], keywords )
    kTest,       // children[0] is name ( children[1..] )
    kUnary,      // name children[0]: "-", "+", "not"
    kBinary,     // children[0] name children[1]: arithmetic and "~"
    kCompare,    // children[0] operators[0] children[1] operators[1] ...
    kAnd,
    kOr,
    kConditional,  // children[0] if children[1] else children[2] (may be null)
    kList,
    kTuple,
    kDict,  // children: key, value, key, value ...
  };
  Type type = Type::kLiteral;
  int line = 1;
  int depth = 1;
  std::string name;
  Text text;
  Value literal;  // of strings: points to `text`
  std::vector<ExprPtr> children;
  std::vector<std::pair<std::string, ExprPtr>> keywords;  // no name: "**value"
  std::vector<std::string> operators;
};

// The names beside its parameters that a macro's body asks for.
struct MacroUses {
  bool varargs = false;
  bool kwargs = false;
  bool caller = false;
};

struct Node {
  enum class Type {
    kData,      // text
    kOutput,    // exprs[0]
    kIf,        // exprs[i] -> bodies[i]; one more body: else
    kFor,       // targets in exprs[0] (if exprs[1]): bodies[0], else bodies[1]
    kSet,       // targets = exprs[0]
    kSetBlock,  // targets[0] = bodies[0] through filters (exprs[0], may be null)
    kMacro,     // name(targets = defaults exprs[i], may be null): bodies[0]
    kCall,      // call, with "caller" as a macro: caller(targets = defaults exprs[i]): bodies[0]
    kWith,      // targets[i] = exprs[i]: bodies[0]
    kFilter,    // bodies[0] through exprs[0]
    kBreak,
    kContinue,
  };
  Type type = Type::kData;
  int line = 1;
  Text text;
  std::string name;
  std::string attribute;  // of kSet and kSetBlock on "namespace.attribute"
  std::vector<std::string> targets;
  bool unpack = false;     // targets take an iterable apart
  bool recursive = false;  // of kFor: the body may call "loop"
  MacroUses uses;          // of kMacro and kCall
  ExprPtr call;            // of kCall
  std::vector<ExprPtr> exprs;
  std::vector<Body> bodies;
};

// The name of the innermost operand of a filter block's chain: the block's own text.
inline constexpr char kBlockText[] = "(block)";

}  // namespace shoal::text::jinja
