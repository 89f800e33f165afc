// SPDX-License-Identifier: Apache-2.0
#include "base/config/tree_binder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/config/text_rules.h"
#include "base/config/values.h"

namespace shoal::config {
namespace {

const char* WantedName(YamlNode::Kind kind) {
  return kind == YamlNode::Kind::kMap ? "a map" : kind == YamlNode::Kind::kList ? "a list" : "text";
}

std::string DurationRange(const DurationRule& rule) {
  return absl::StrCat("a duration such as 10s or 500ms, from ", absl::FormatDuration(rule.min),
                      " to ", absl::FormatDuration(rule.max));
}

}  // namespace

TreeBinder::TreeBinder(const YamlNode& map, std::string path, std::string folder,
                       Problems& problems)
    : map_(map), path_(std::move(path)), folder_(std::move(folder)), problems_(problems) {
  for (size_t i = 0; i < map_.keys.size(); ++i) {
    problems_.Locate(PathOf(map_.keys[i].name), map_.keys[i].line);
  }
}

std::string TreeBinder::PathOf(const std::string& key) const {
  return path_.empty() ? key : absl::StrCat(path_, ".", key);
}

const YamlNode* TreeBinder::Take(const std::string& key, YamlNode::Kind kind, const KeyDoc& doc) {
  known_.insert(key);
  const YamlNode* node = map_.Find(key);
  if (node == nullptr) {
    if (doc.required) problems_.Add(PathOf(key), "is required");
    return nullptr;
  }
  if (node->kind == kind) return node;
  if (node->kind == YamlNode::Kind::kNull) {
    problems_.Add(PathOf(key), "has no value: give one or leave the key out");
  } else {
    problems_.Add(PathOf(key),
                  absl::StrCat("is ", KindName(*node), ", must be ", WantedName(kind)));
  }
  return nullptr;
}

const YamlNode* TreeBinder::TakePlain(const std::string& key, const std::string& wanted,
                                      const KeyDoc& doc) {
  const YamlNode* node = Take(key, YamlNode::Kind::kScalar, doc);
  if (node == nullptr || !node->quoted) return node;
  problems_.Add(PathOf(key), absl::StrCat(Shown(node->scalar), " is text in quotes, must be ",
                                          wanted, " without quotes"));
  return nullptr;
}

void TreeBinder::CheckRange(int64_t number, const std::string& shown, const std::string& path,
                            const IntegerRule& rule, int64_t& value) {
  if (number < rule.min || number > rule.max) {
    problems_.Add(path, absl::StrCat(shown, " is outside ", rule.min, " to ", rule.max));
  } else if (number > rule.available_max.value_or(rule.max)) {
    problems_.Add(path,
                  absl::StrCat(shown, " is not available yet: at most ", *rule.available_max));
  } else {
    value = number;
  }
}

void TreeBinder::Integer(const std::string& key, int32_t& value, const IntegerRule& rule,
                         const KeyDoc& doc) {
  const char* wanted = rule.auto_value.has_value() ? "auto or a whole number" : "a whole number";
  const YamlNode* node = TakePlain(key, wanted, doc);
  if (node == nullptr) return;
  int64_t wide = value;
  if (rule.auto_value.has_value() && node->scalar == "auto") {
    wide = *rule.auto_value;
  } else if (const std::optional<int64_t> number = ParseInteger(node->scalar)) {
    CheckRange(*number, node->scalar, PathOf(key), rule, wide);
  } else {
    problems_.Add(PathOf(key), absl::StrCat(Shown(node->scalar), " is not ", wanted, " from ",
                                            rule.min, " to ", rule.max));
  }
  value = static_cast<int32_t>(wide);
}

void TreeBinder::Bytes(const std::string& key, int64_t& value, const IntegerRule& rule,
                       const KeyDoc& doc) {
  const YamlNode* node = TakePlain(key, "a size", doc);
  if (node == nullptr) return;
  const std::optional<int64_t> bytes = ParseBytes(node->scalar);
  if (!bytes.has_value() || *bytes < rule.min || *bytes > rule.max) {
    problems_.Add(PathOf(key),
                  absl::StrCat(Shown(node->scalar), " is not a size such as 512MiB, from ",
                               FormatBytes(rule.min), " to ", FormatBytes(rule.max)));
    return;
  }
  value = *bytes;
}

void TreeBinder::Bool(const std::string& key, bool& value, const KeyDoc& doc) {
  const YamlNode* node = TakePlain(key, "true or false", doc);
  if (node == nullptr) return;
  if (node->scalar != "true" && node->scalar != "false") {
    problems_.Add(PathOf(key), absl::StrCat(Shown(node->scalar), " must be true or false"));
    return;
  }
  value = node->scalar == "true";
}

bool TreeBinder::CheckText(const YamlNode& node, const std::string& path, const TextRule& rule,
                           std::string& value) {
  if (node.kind != YamlNode::Kind::kScalar) {
    problems_.Add(path, absl::StrCat("is ", KindName(node), ", must be text"));
    return false;
  }
  const std::string problem = TextProblem(node, rule);
  if (!problem.empty()) {
    problems_.Add(path, absl::StrCat(Shown(node.scalar), " ", problem));
    return false;
  }
  value = rule.kind == TextKind::kPath ? AbsolutePath(folder_, node.scalar) : node.scalar;
  return true;
}

void TreeBinder::Text(const std::string& key, std::string& value, const TextRule& rule,
                      const KeyDoc& doc) {
  const YamlNode* node = Take(key, YamlNode::Kind::kScalar, doc);
  if (node != nullptr) CheckText(*node, PathOf(key), rule, value);
}

void TreeBinder::Duration(const std::string& key, absl::Duration& value, const DurationRule& rule,
                          const KeyDoc& doc) {
  const YamlNode* node = TakePlain(key, "a duration", doc);
  if (node == nullptr) return;
  const std::optional<absl::Duration> duration = ParseDurationText(node->scalar);
  if (!duration.has_value() || *duration < rule.min || *duration > rule.max) {
    problems_.Add(PathOf(key), absl::StrCat(Shown(node->scalar), " is not ", DurationRange(rule)));
    return;
  }
  value = *duration;
}

void TreeBinder::Address(const std::string& key, Endpoint& value, const KeyDoc& doc) {
  const YamlNode* node = Take(key, YamlNode::Kind::kScalar, doc);
  if (node == nullptr) return;
  std::optional<Endpoint> endpoint = ParseEndpoint(node->scalar);
  if (!endpoint.has_value()) {
    problems_.Add(PathOf(key),
                  absl::StrCat(Shown(node->scalar),
                               " is not an address and port such as 127.0.0.1:8000 or [::1]:8000"));
    return;
  }
  value = *std::move(endpoint);
}

void TreeBinder::TextList(const std::string& key, std::vector<std::string>& values,
                          const TextRule& rule, const KeyDoc& doc) {
  const YamlNode* node = Take(key, YamlNode::Kind::kList, doc);
  if (node == nullptr) return;
  values.clear();
  for (size_t i = 0; i < node->items.size(); ++i) {
    const std::string path = absl::StrCat(PathOf(key), ".", i);
    problems_.Locate(path, node->items[i].line);
    std::string text;
    if (CheckText(node->items[i], path, rule, text)) values.push_back(std::move(text));
  }
}

void TreeBinder::Later(const std::string& key, const KeyDoc&) {
  known_.insert(key);
  if (map_.Find(key) != nullptr) problems_.Add(PathOf(key), "is not available yet");
}

void TreeBinder::Object(const std::string& key, const KeyDoc& doc,
                        const std::function<void(Binder&)>& bind) {
  const YamlNode* node = Take(key, YamlNode::Kind::kMap, doc);
  if (node == nullptr) return;
  TreeBinder inner(*node, PathOf(key), folder_, problems_);
  bind(inner);
  inner.Finish();
}

void TreeBinder::List(const std::string& key, const KeyDoc& doc,
                      const std::function<void(Binder&)>& bind) {
  const YamlNode* node = Take(key, YamlNode::Kind::kList, doc);
  if (node == nullptr) return;
  if (node->items.empty() && doc.required) problems_.Add(PathOf(key), "is an empty list");
  for (size_t i = 0; i < node->items.size(); ++i) {
    const YamlNode& element = node->items[i];
    const std::string path = absl::StrCat(PathOf(key), ".", i);
    problems_.Locate(path, element.line);
    if (element.kind != YamlNode::Kind::kMap) {
      problems_.Add(path, absl::StrCat("is ", KindName(element), ", must be a map"));
      continue;
    }
    TreeBinder inner(element, path, folder_, problems_);
    bind(inner);
    inner.Finish();
  }
}

void TreeBinder::Map(const std::string& key, const TextRule& rule, const KeyDoc& doc,
                     const std::function<void(const std::string&, Binder&)>& bind) {
  const YamlNode* node = Take(key, YamlNode::Kind::kMap, doc);
  if (node == nullptr) return;
  for (size_t i = 0; i < node->items.size(); ++i) {
    const std::string& name = node->keys[i].name;
    const std::string path = absl::StrCat(PathOf(key), ".", name);
    problems_.Locate(path, node->keys[i].line);
    YamlNode name_node;
    name_node.kind = YamlNode::Kind::kScalar;
    name_node.quoted = true;  // a key needs no quotes to be text
    name_node.scalar = name;
    std::string checked;
    if (!CheckText(name_node, path, rule, checked)) continue;
    if (node->items[i].kind != YamlNode::Kind::kMap) {
      problems_.Add(path, absl::StrCat("is ", KindName(node->items[i]), ", must be a map"));
      continue;
    }
    TreeBinder inner(node->items[i], path, folder_, problems_);
    bind(checked, inner);
    inner.Finish();
  }
}

void TreeBinder::Finish() {
  for (const YamlNode::Key& key : map_.keys) {
    if (known_.contains(key.name)) continue;
    const std::string near = Nearest(key.name, known_);
    const std::string place = path_.empty() ? "at the top" : absl::StrCat("in ", path_);
    problems_.AddAt(
        key.line, "",
        absl::StrCat("unknown key ", Shown(key.name), " ", place,
                     near.empty() ? absl::StrCat(": one of ", absl::StrJoin(known_, ", "))
                                  : absl::StrCat(": did you mean ", Shown(near), "?")));
  }
}

}  // namespace shoal::config
