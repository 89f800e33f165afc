// SPDX-License-Identifier: Apache-2.0
#include "base/config/overrides.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace shoal::config {
namespace {

// What an element of a list is called: its `name`, or "".
std::string ElementName(const YamlNode& element) {
  const YamlNode* name = element.Find("name");
  return name != nullptr ? name->scalar : std::string();
}

// True when `path` is `name` or goes on with a dot behind it; then `rest` is what follows.
bool TakeSegment(absl::string_view path, absl::string_view name, absl::string_view& rest) {
  if (name.empty() || !absl::StartsWith(path, name)) return false;
  if (path.size() == name.size()) {
    rest = absl::string_view();
    return true;
  }
  if (path[name.size()] != '.') return false;
  rest = path.substr(name.size() + 1);
  return true;
}

absl::StatusOr<YamlNode*> StepIntoList(YamlNode& list, absl::string_view path,
                                       absl::string_view& rest) {
  YamlNode* found = nullptr;
  size_t longest = 0;
  std::vector<std::string> names;
  for (YamlNode& element : list.items) {
    const std::string name = ElementName(element);
    absl::string_view after;
    if (TakeSegment(path, name, after) && name.size() > longest) {
      found = &element;
      longest = name.size();
      rest = after;
    }
    names.push_back(name);
  }
  if (found != nullptr) return found;
  const absl::string_view segment = path.substr(0, path.find('.'));
  uint32_t index = 0;
  if (absl::SimpleAtoi(segment, &index) && index < list.items.size()) {
    TakeSegment(path, segment, rest);
    return &list.items[index];
  }
  return absl::InvalidArgumentError(absl::StrCat("the list has no element \"", segment,
                                                 "\": it has ", list.items.size(), " (",
                                                 absl::StrJoin(names, ", "), ")"));
}

YamlNode* StepIntoMap(YamlNode& map, absl::string_view path, absl::string_view& rest) {
  size_t found = 0;
  size_t longest = 0;
  for (size_t i = 0; i < map.keys.size(); ++i) {
    absl::string_view after;
    if (TakeSegment(path, map.keys[i].name, after) && map.keys[i].name.size() > longest) {
      found = i;
      longest = map.keys[i].name.size();
      rest = after;
    }
  }
  if (longest > 0) {
    if (rest.empty()) map.keys[found].line = 0;  // its value will not be the file's
    return &map.items[found];
  }
  const absl::string_view segment = path.substr(0, path.find('.'));
  TakeSegment(path, segment, rest);
  map.keys.push_back({.name = std::string(segment), .line = 0});
  map.items.emplace_back();
  return &map.items.back();
}

absl::StatusOr<YamlNode> ParseOverrideValue(absl::string_view text) {
  SHOAL_ASSIGN_OR_RETURN(YamlNode value, ParseYaml(text));
  std::vector<YamlNode*> open = {&value};  // lines of the override's text say nothing
  while (!open.empty()) {
    YamlNode* node = open.back();
    open.pop_back();
    node->line = 0;
    for (YamlNode::Key& key : node->keys) key.line = 0;
    for (YamlNode& item : node->items) open.push_back(&item);
  }
  return value;
}

absl::Status Apply(absl::string_view path, absl::string_view value_text, YamlNode& root) {
  if (path.empty() || absl::StartsWith(path, ".") || absl::EndsWith(path, ".") ||
      absl::StrContains(path, "..")) {
    return absl::InvalidArgumentError(absl::StrCat("\"", path, "\" is not a key path"));
  }
  SHOAL_ASSIGN_OR_RETURN(YamlNode value, ParseOverrideValue(value_text));
  YamlNode* node = &root;
  while (!path.empty()) {
    absl::string_view rest;
    if (node->kind == YamlNode::Kind::kNull) node->kind = YamlNode::Kind::kMap;
    if (node->kind == YamlNode::Kind::kList) {
      SHOAL_ASSIGN_OR_RETURN(node, StepIntoList(*node, path, rest));
    } else if (node->kind == YamlNode::Kind::kMap) {
      node = StepIntoMap(*node, path, rest);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", path, "\" has no place: the key before it holds a single value"));
    }
    path = rest;
  }
  *node = std::move(value);
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyOverride(absl::string_view override_text, YamlNode& root) {
  const size_t equals = override_text.find('=');
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("--set ", override_text, ": must be key.path=value"));
  }
  return Annotate(Apply(override_text.substr(0, equals), override_text.substr(equals + 1), root),
                  absl::StrCat("--set ", override_text));
}

}  // namespace shoal::config
