// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/parser.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "text/jinja/expression_parser.h"

namespace shoal::text::jinja {
namespace {

constexpr size_t kSourceBytesMax = 1u << 20;
constexpr int kBlockDepthMax = 60;

using Names = std::vector<std::string>;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : stream_(std::move(tokens)), expressions_(&stream_) {}

  absl::StatusOr<Body> Run() {
    Body body;
    SHOAL_RETURN_IF_ERROR(Statements({}, &body).status());
    return body;
  }

 private:
  using Type = Node::Type;

  static std::unique_ptr<Node> Make(Type type, int line) {
    auto node = std::make_unique<Node>();
    node->type = type;
    node->line = line;
    return node;
  }

  // Reads until a block that begins with one of `ends` (whose name is then taken, not its end), or
  // to the end of the template when there are none. Returns the name that ended it.
  absl::StatusOr<std::string> Statements(const Names& ends, Body* body) {
    if (++depth_ > kBlockDepthMax) {
      return TemplateError(stream_.Peek().line,
                           absl::StrCat("blocks are nested deeper than ", kBlockDepthMax));
    }
    while (true) {
      const Token& token = stream_.Peek();
      if (token.type == Token::Type::kEnd) {
        --depth_;
        if (ends.empty()) return std::string();
        return TemplateError(
            token.line, absl::StrCat("the template ends where '", absl::StrJoin(ends, "' or '"),
                                     "' is missing"));
      }
      stream_.Next();
      if (token.type == Token::Type::kData) {
        body->push_back(Make(Type::kData, token.line));
        body->back()->text.bytes = token.text;
      } else if (token.type == Token::Type::kVariableBegin) {
        auto node = Make(Type::kOutput, token.line);
        SHOAL_ASSIGN_OR_RETURN(ExprPtr value, expressions_.Tuple(/*conditional=*/true));
        if (stream_.Next().type != Token::Type::kVariableEnd) {
          return TemplateError(token.line, "expected '}}' after the expression");
        }
        node->exprs.push_back(std::move(value));
        body->push_back(std::move(node));
      } else {
        const Token& name = stream_.Next();
        if (name.type != Token::Type::kName) {
          return TemplateError(name.line, "expected the name of a statement");
        }
        for (const std::string& end : ends) {
          if (name.text != end) continue;
          --depth_;
          return end;
        }
        SHOAL_RETURN_IF_ERROR(Statement(name, body));
      }
    }
  }

  absl::Status EndBlock() {
    if (stream_.Peek().type != Token::Type::kBlockEnd) return stream_.Unexpected("'%}'");
    stream_.Next();
    return absl::OkStatus();
  }

  absl::Status Statement(const Token& name, Body* body) {
    if (name.text == "if") return If(name.line, body);
    if (name.text == "for") return For(name.line, body);
    if (name.text == "set") return Set(name.line, body);
    if (name.text == "macro") return Macro(name.line, body);
    if (name.text == "call") return CallBlock(name.line, body);
    if (name.text == "with") return With(name.line, body);
    if (name.text == "filter") return FilterBlock(name.line, body);
    if (name.text == "break" || name.text == "continue") {
      if (loops_ == 0) {
        return TemplateError(name.line, absl::StrCat("'", name.text, "' outside a loop"));
      }
      body->push_back(Make(name.text == "break" ? Type::kBreak : Type::kContinue, name.line));
      return EndBlock();
    }
    if (name.text == "generation") {  // marks the assistant's own text; prints what it holds
      auto node = Make(Type::kWith, name.line);
      SHOAL_RETURN_IF_ERROR(EndBlock());
      node->bodies.emplace_back();
      const int outer_loops = std::exchange(loops_, 0);
      SHOAL_RETURN_IF_ERROR(Statements({"endgeneration"}, &node->bodies[0]).status());
      loops_ = outer_loops;
      body->push_back(std::move(node));
      return EndBlock();
    }
    return TemplateError(name.line,
                         absl::StrCat("the statement '", name.text, "' is not supported here"));
  }

  absl::Status If(int line, Body* body) {
    auto node = Make(Type::kIf, line);
    std::string end = "if";
    while (end != "endif") {
      if (end != "else") {
        SHOAL_ASSIGN_OR_RETURN(ExprPtr condition, expressions_.Tuple(/*conditional=*/false));
        node->exprs.push_back(std::move(condition));
      }
      SHOAL_RETURN_IF_ERROR(EndBlock());
      node->bodies.emplace_back();
      const bool last = end == "else";
      SHOAL_ASSIGN_OR_RETURN(end, Statements(last ? Names{"endif"} : Names{"elif", "else", "endif"},
                                             &node->bodies.back()));
    }
    body->push_back(std::move(node));
    return EndBlock();
  }

  // "a", "a, b", "(a, b)"; or "a.b" where `node` may set an attribute.
  absl::Status Targets(Node* node, bool attribute) {
    const bool parenthesised = stream_.TakeOperator("(");
    do {
      if (stream_.Peek().type != Token::Type::kName) {
        if (node->targets.empty()) return stream_.Unexpected("a name");
        break;
      }
      node->targets.push_back(stream_.Next().text);
      if (attribute && node->targets.size() == 1 && stream_.TakeOperator(".")) {
        if (stream_.Peek().type != Token::Type::kName) return stream_.Unexpected("a name");
        node->attribute = stream_.Next().text;
        return absl::OkStatus();
      }
      node->unpack = node->unpack || stream_.AtOperator(",");
    } while (stream_.TakeOperator(","));
    return parenthesised ? stream_.Expect(")") : absl::OkStatus();
  }

  absl::Status For(int line, Body* body) {
    auto node = Make(Type::kFor, line);
    SHOAL_RETURN_IF_ERROR(Targets(node.get(), /*attribute=*/false));
    if (!stream_.TakeName("in")) return stream_.Unexpected("'in'");
    SHOAL_ASSIGN_OR_RETURN(ExprPtr iterable, expressions_.Tuple(/*conditional=*/false));
    node->exprs.push_back(std::move(iterable));
    if (stream_.TakeName("if")) {
      SHOAL_ASSIGN_OR_RETURN(ExprPtr filter, expressions_.Expression());
      node->exprs.push_back(std::move(filter));
    }
    node->recursive = stream_.TakeName("recursive");
    SHOAL_RETURN_IF_ERROR(EndBlock());
    node->bodies.resize(2);
    ++loops_;
    SHOAL_ASSIGN_OR_RETURN(const std::string end, Statements({"endfor", "else"}, &node->bodies[0]));
    --loops_;
    if (end == "else") {
      SHOAL_RETURN_IF_ERROR(EndBlock());
      SHOAL_RETURN_IF_ERROR(Statements({"endfor"}, &node->bodies[1]).status());
    }
    body->push_back(std::move(node));
    return EndBlock();
  }

  absl::Status Set(int line, Body* body) {
    auto node = Make(Type::kSet, line);
    SHOAL_RETURN_IF_ERROR(Targets(node.get(), /*attribute=*/true));
    if (stream_.TakeOperator("=")) {
      SHOAL_ASSIGN_OR_RETURN(ExprPtr value, expressions_.Tuple(/*conditional=*/true));
      node->exprs.push_back(std::move(value));
      body->push_back(std::move(node));
      return EndBlock();
    }
    node->type = Type::kSetBlock;
    if (node->unpack) return TemplateError(line, "a set block has one target");
    ExprPtr chain;
    if (stream_.TakeOperator("|")) {
      SHOAL_ASSIGN_OR_RETURN(chain, expressions_.FilterChain(BlockText(line)));
    }
    node->exprs.push_back(std::move(chain));
    SHOAL_RETURN_IF_ERROR(EndBlock());
    node->bodies.emplace_back();
    SHOAL_RETURN_IF_ERROR(Statements({"endset"}, &node->bodies[0]).status());
    body->push_back(std::move(node));
    return EndBlock();
  }

  static ExprPtr BlockText(int line) {
    auto expr = std::make_unique<Expr>();
    expr->type = Expr::Type::kName;
    expr->line = line;
    expr->name = kBlockText;
    return expr;
  }

  absl::Status Macro(int line, Body* body) {
    auto node = Make(Type::kMacro, line);
    if (stream_.Peek().type != Token::Type::kName) return stream_.Unexpected("the macro's name");
    node->name = stream_.Next().text;
    SHOAL_RETURN_IF_ERROR(Parameters(node.get()));
    SHOAL_RETURN_IF_ERROR(MacroBody("endmacro", node.get()));
    if (stream_.AtName(node->name)) stream_.Next();
    body->push_back(std::move(node));
    return EndBlock();
  }

  absl::Status CallBlock(int line, Body* body) {
    auto node = Make(Type::kCall, line);
    node->name = "caller";
    if (stream_.AtOperator("(")) SHOAL_RETURN_IF_ERROR(Parameters(node.get()));
    SHOAL_ASSIGN_OR_RETURN(node->call, expressions_.Expression());
    if (node->call->type != Expr::Type::kCall) {
      return TemplateError(line, "expected the call of a macro after 'call'");
    }
    SHOAL_RETURN_IF_ERROR(MacroBody("endcall", node.get()));
    body->push_back(std::move(node));
    return EndBlock();
  }

  absl::Status Parameters(Node* node) {
    SHOAL_RETURN_IF_ERROR(stream_.Expect("("));
    while (!stream_.TakeOperator(")")) {
      if (!node->targets.empty()) SHOAL_RETURN_IF_ERROR(stream_.Expect(","));
      if (stream_.Peek().type != Token::Type::kName) return stream_.Unexpected("a parameter");
      node->targets.push_back(stream_.Next().text);
      ExprPtr missing;
      if (stream_.TakeOperator("=")) {
        SHOAL_ASSIGN_OR_RETURN(missing, expressions_.Expression());
      } else if (!node->exprs.empty() && node->exprs.back() != nullptr) {
        return TemplateError(node->line, "a parameter without a default follows one with it");
      }
      node->exprs.push_back(std::move(missing));
    }
    return absl::OkStatus();
  }

  absl::Status MacroBody(const char* end, Node* node) {
    SHOAL_RETURN_IF_ERROR(EndBlock());
    node->bodies.emplace_back();
    const int outer_loops = std::exchange(loops_, 0);
    const MacroUses outer = std::exchange(*expressions_.uses(), MacroUses());
    SHOAL_RETURN_IF_ERROR(Statements({end}, &node->bodies[0]).status());
    loops_ = outer_loops;
    MacroUses* uses = expressions_.uses();
    node->uses = *uses;  // what is used inside is used outside as well
    *uses = {.varargs = uses->varargs || outer.varargs,
             .kwargs = uses->kwargs || outer.kwargs,
             .caller = uses->caller || outer.caller};
    return absl::OkStatus();
  }

  absl::Status With(int line, Body* body) {
    auto node = Make(Type::kWith, line);
    while (stream_.Peek().type != Token::Type::kBlockEnd) {
      if (!node->targets.empty()) SHOAL_RETURN_IF_ERROR(stream_.Expect(","));
      if (stream_.Peek().type != Token::Type::kName) return stream_.Unexpected("a name");
      node->targets.push_back(stream_.Next().text);
      SHOAL_RETURN_IF_ERROR(stream_.Expect("="));
      SHOAL_ASSIGN_OR_RETURN(ExprPtr value, expressions_.Expression());
      node->exprs.push_back(std::move(value));
    }
    SHOAL_RETURN_IF_ERROR(EndBlock());
    node->bodies.emplace_back();
    SHOAL_RETURN_IF_ERROR(Statements({"endwith"}, &node->bodies[0]).status());
    body->push_back(std::move(node));
    return EndBlock();
  }

  absl::Status FilterBlock(int line, Body* body) {
    auto node = Make(Type::kFilter, line);
    SHOAL_ASSIGN_OR_RETURN(ExprPtr chain, expressions_.FilterChain(BlockText(line)));
    node->exprs.push_back(std::move(chain));
    SHOAL_RETURN_IF_ERROR(EndBlock());
    node->bodies.emplace_back();
    SHOAL_RETURN_IF_ERROR(Statements({"endfilter"}, &node->bodies[0]).status());
    body->push_back(std::move(node));
    return EndBlock();
  }

  TokenStream stream_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int loops_ = 0;
};

}  // namespace

absl::StatusOr<Body> ParseTemplate(absl::string_view source) {
  if (source.size() > kSourceBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("chat template: ", source.size(), " bytes; at most ", kSourceBytesMax));
  }
  SHOAL_ASSIGN_OR_RETURN(std::vector<Token> tokens, Lex(source));
  return Parser(std::move(tokens)).Run();
}

}  // namespace shoal::text::jinja
