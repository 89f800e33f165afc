// SPDX-License-Identifier: Apache-2.0
// TreeBinder: fills the bound variables from a YAML map and reports what does not fit.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/config/binder.h"
#include "base/config/problems.h"
#include "base/config/yaml_tree.h"

namespace shoal::config {

// Reads one map. Owned by one thread; everything passed in outlives it. Finish() after the last
// key: it reports the keys of the map that nobody bound.
class TreeBinder final : public Binder {
 public:
  // `path` is the map's own key path, "" at the top. `folder` is what relative paths start from.
  TreeBinder(const YamlNode& map, std::string path, std::string folder, Problems& problems);

  void Integer(const std::string& key, int32_t& value, const IntegerRule& rule,
               const KeyDoc& doc) override;
  void Bytes(const std::string& key, int64_t& value, const IntegerRule& rule,
             const KeyDoc& doc) override;
  void Bool(const std::string& key, bool& value, const KeyDoc& doc) override;
  void Text(const std::string& key, std::string& value, const TextRule& rule,
            const KeyDoc& doc) override;
  void Duration(const std::string& key, absl::Duration& value, const DurationRule& rule,
                const KeyDoc& doc) override;
  void Address(const std::string& key, Endpoint& value, const KeyDoc& doc) override;
  void TextList(const std::string& key, std::vector<std::string>& values, const TextRule& rule,
                const KeyDoc& doc) override;
  void Later(const std::string& key, const KeyDoc& doc) override;
  void Object(const std::string& key, const KeyDoc& doc,
              const std::function<void(Binder&)>& bind) override;
  void List(const std::string& key, const KeyDoc& doc,
            const std::function<void(Binder&)>& bind) override;
  void Map(const std::string& key, const TextRule& rule, const KeyDoc& doc,
           const std::function<void(const std::string&, Binder&)>& bind) override;

  void Finish();

 private:
  // The key's node when it is there and of the kind; otherwise nullptr, reported where it is wrong
  // (or required and absent).
  const YamlNode* Take(const std::string& key, YamlNode::Kind kind, const KeyDoc& doc);
  // Take for a scalar that must not be in quotes, such as a number; `wanted` names the type.
  const YamlNode* TakePlain(const std::string& key, const std::string& wanted, const KeyDoc& doc);
  // The text when it obeys the rule; otherwise reported under `path`.
  bool CheckText(const YamlNode& node, const std::string& path, const TextRule& rule,
                 std::string& value);
  void CheckRange(int64_t number, const std::string& shown, const std::string& path,
                  const IntegerRule& rule, int64_t& value);
  std::string PathOf(const std::string& key) const;

  const YamlNode& map_;
  const std::string path_;
  const std::string folder_;
  Problems& problems_;
  std::set<std::string> known_;
};

}  // namespace shoal::config
