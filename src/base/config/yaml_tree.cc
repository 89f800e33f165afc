// SPDX-License-Identifier: Apache-2.0
#include "base/config/yaml_tree.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/mark.h"
#include "yaml-cpp/parser.h"

namespace shoal::config {
namespace {

constexpr size_t kTextBytesMax = size_t{1} << 20;
constexpr size_t kDepthMax = 32;
constexpr size_t kNodesMax = 100'000;
constexpr size_t kKeysMax = 1000;  // of one map

// Builds the tree from the parser's events. After the first error it ignores the rest.
class TreeBuilder final : public YAML::EventHandler {
 public:
  const std::string& error() const { return error_; }
  YamlNode Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, "", anchor, YamlNode::Kind::kNull);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(mark, "aliases (*name) are not allowed: write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode* node = Add(mark, tag, anchor, YamlNode::Kind::kScalar, &value);
    if (node != nullptr) {
      node->scalar = value;
      node->quoted = tag == "!";
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(Add(mark, tag, anchor, YamlNode::Kind::kList), mark);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(Add(mark, tag, anchor, YamlNode::Kind::kMap), mark);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override { Close(); }

 private:
  // A place where values go. Pointers stay valid: a parent's list does not grow while a child is
  // open.
  struct Frame {
    YamlNode* node;
    bool key_read = false;  // of a map: the next value belongs to keys.back()
  };

  void Fail(const YAML::Mark& mark, const std::string& what) {
    if (error_.empty()) error_ = absl::StrCat("line ", mark.line + 1, ": ", what);
  }

  // The new node, or nullptr when the event was a map's key or there is an error.
  YamlNode* Add(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                YamlNode::Kind kind, const std::string* scalar = nullptr) {
    if (!error_.empty()) return nullptr;
    if (anchor != 0) Fail(mark, "anchors (&name) are not allowed");
    if (!tag.empty() && tag != "?" && tag != "!") {
      Fail(mark, absl::StrCat("the tag ", absl::CHexEscape(tag), " is not allowed"));
    }
    if (++nodes_ > kNodesMax) Fail(mark, absl::StrCat("more than ", kNodesMax, " values"));
    if (!error_.empty()) return nullptr;
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    if (stack_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    Frame& frame = stack_.back();
    if (frame.node->kind == YamlNode::Kind::kMap && !frame.key_read) {
      AddKey(mark, scalar);
      return nullptr;
    }
    frame.key_read = false;
    frame.node->items.push_back(std::move(node));
    return &frame.node->items.back();
  }

  void AddKey(const YAML::Mark& mark, const std::string* scalar) {
    if (scalar == nullptr) {
      Fail(mark, "a key must be plain text");
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node->keys.size() == kKeysMax) {
      Fail(mark, absl::StrCat("more than ", kKeysMax, " keys in one map"));
      return;
    }
    for (const YamlNode::Key& key : frame.node->keys) {
      if (key.name == *scalar) {
        Fail(mark, absl::StrCat("the key \"", absl::CHexEscape(*scalar),
                                "\" was already given on line ", key.line));
        return;
      }
    }
    frame.node->keys.push_back({.name = *scalar, .line = mark.line + 1});
    frame.key_read = true;
  }

  void Open(YamlNode* node, const YAML::Mark& mark) {
    if (node == nullptr) return;
    if (stack_.size() >= kDepthMax) {
      Fail(mark, absl::StrCat("nested deeper than ", kDepthMax, " levels"));
      return;
    }
    stack_.push_back({.node = node});
  }

  void Close() {
    if (error_.empty() && !stack_.empty()) stack_.pop_back();
  }

  YamlNode root_;
  std::vector<Frame> stack_;
  size_t nodes_ = 0;
  std::string error_;
};

}  // namespace

YamlNode* YamlNode::Find(absl::string_view key) {
  return const_cast<YamlNode*>(static_cast<const YamlNode*>(this)->Find(key));
}

const YamlNode* YamlNode::Find(absl::string_view key) const {
  if (kind != Kind::kMap) return nullptr;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].name == key) return &items[i];
  }
  return nullptr;
}

std::string KindName(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "text";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "nothing";
}

absl::StatusOr<YamlNode> ParseYaml(absl::string_view text) {
  if (text.size() > kTextBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(text.size(), " bytes of YAML, at most ", kTextBytesMax));
  }
  TreeBuilder builder;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    bool more = parser.HandleNextDocument(builder);
    if (more && builder.error().empty()) {
      TreeBuilder second;
      more = parser.HandleNextDocument(second);
      if (more) return absl::InvalidArgumentError("a second document (---) is not allowed");
    }
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", std::max(error.mark.line, 0) + 1, ": not YAML: ", error.msg));
  }
  if (!builder.error().empty()) return absl::InvalidArgumentError(builder.error());
  return builder.Take();
}

}  // namespace shoal::config
