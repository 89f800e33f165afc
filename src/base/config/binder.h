// SPDX-License-Identifier: Apache-2.0
// Binder: how the sections of the configuration declare their keys. One declaration serves both
// reading (tree_binder) and documentation (reference), so a key cannot exist in one of them only.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/config/cluster_config.h"

namespace shoal::config {

// What a key says about itself. `doc` is one sentence.
struct KeyDoc {
  const char* doc;
  bool required = false;
};

struct IntegerRule {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int32_t>::max();
  std::optional<int64_t> available_max = {};  // above it, up to max: "not available yet"
  std::optional<int64_t> auto_value = {};     // what the word "auto" stands for
};

enum class TextKind {
  kAny,        // not empty, no control characters
  kName,       // letters, digits, '.', '_', '-'; not only digits; at most 63
  kModelName,  // as kName, and '/', ':' inside; at most 128
  kPath,       // made absolute against the folder of the file
  kAddress,    // a host name or IP address; no wildcard
};

struct TextRule {
  TextKind kind = TextKind::kAny;
  std::vector<std::string> choices = {};  // empty: anything of the kind
  std::vector<std::string> later = {};    // further choices, not built yet
};

struct DurationRule {
  absl::Duration min;
  absl::Duration max;
};

// A section binds each of its keys once, to a variable that already holds the default. Variables
// of keys that are absent or wrong keep it.
class Binder {
 public:
  virtual ~Binder() = default;

  virtual void Integer(const std::string& key, int32_t& value, const IntegerRule& rule,
                       const KeyDoc& doc) = 0;
  virtual void Bytes(const std::string& key, int64_t& value, const IntegerRule& rule,
                     const KeyDoc& doc) = 0;
  virtual void Bool(const std::string& key, bool& value, const KeyDoc& doc) = 0;
  virtual void Text(const std::string& key, std::string& value, const TextRule& rule,
                    const KeyDoc& doc) = 0;
  virtual void Duration(const std::string& key, absl::Duration& value, const DurationRule& rule,
                        const KeyDoc& doc) = 0;
  virtual void Address(const std::string& key, Endpoint& value, const KeyDoc& doc) = 0;
  virtual void TextList(const std::string& key, std::vector<std::string>& values,
                        const TextRule& rule, const KeyDoc& doc) = 0;
  // A key that the design knows and this build refuses with "not available yet".
  virtual void Later(const std::string& key, const KeyDoc& doc) = 0;

  virtual void Object(const std::string& key, const KeyDoc& doc,
                      const std::function<void(Binder&)>& bind) = 0;
  // `bind` is called once for each element, in order.
  virtual void List(const std::string& key, const KeyDoc& doc,
                    const std::function<void(Binder&)>& bind) = 0;
  // A map whose keys the user chooses (of `rule`'s kind).
  virtual void Map(const std::string& key, const TextRule& rule, const KeyDoc& doc,
                   const std::function<void(const std::string&, Binder&)>& bind) = 0;
};

}  // namespace shoal::config
