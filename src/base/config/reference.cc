// SPDX-License-Identifier: Apache-2.0
#include "base/config/reference.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/config/binder.h"
#include "base/config/sections.h"
#include "base/config/values.h"

namespace shoal::config {
namespace {

// Writes a row per bound key.
class ReferenceBinder final : public Binder {
 public:
  ReferenceBinder(std::string prefix, std::string& out) : prefix_(std::move(prefix)), out_(out) {}

  void Integer(const std::string& key, int32_t& value, const IntegerRule& rule,
               const KeyDoc& doc) override {
    std::string type = absl::StrCat("integer ", rule.min, " to ", rule.max);
    if (rule.auto_value.has_value()) absl::StrAppend(&type, ", or auto");
    if (rule.available_max.has_value()) {
      absl::StrAppend(&type, " (above ", *rule.available_max, ": not available yet)");
    }
    const bool is_auto = rule.auto_value.has_value() && value == *rule.auto_value;
    Row(key, type, is_auto ? "auto" : absl::StrCat(value), doc);
  }
  void Bytes(const std::string& key, int64_t& value, const IntegerRule& rule,
             const KeyDoc& doc) override {
    Row(key, absl::StrCat("size ", FormatBytes(rule.min), " to ", FormatBytes(rule.max)),
        FormatBytes(value), doc);
  }
  void Bool(const std::string& key, bool& value, const KeyDoc& doc) override {
    Row(key, "true or false", value ? "true" : "false", doc);
  }
  void Text(const std::string& key, std::string& value, const TextRule& rule,
            const KeyDoc& doc) override {
    Row(key, TypeOf(rule), value, doc);
  }
  void Duration(const std::string& key, absl::Duration& value, const DurationRule& rule,
                const KeyDoc& doc) override {
    Row(key,
        absl::StrCat("duration ", absl::FormatDuration(rule.min), " to ",
                     absl::FormatDuration(rule.max)),
        absl::FormatDuration(value), doc);
  }
  void Address(const std::string& key, Endpoint& value, const KeyDoc& doc) override {
    Row(key, "address:port", value.ToString(), doc);
  }
  void TextList(const std::string& key, std::vector<std::string>& values, const TextRule& rule,
                const KeyDoc& doc) override {
    Row(key, absl::StrCat("list of ", TypeOf(rule)),
        absl::StrCat("[", absl::StrJoin(values, ", "), "]"), doc);
  }
  void Later(const std::string& key, const KeyDoc& doc) override {
    Row(key, "not available yet", "", doc);
  }
  void Object(const std::string& key, const KeyDoc& doc,
              const std::function<void(Binder&)>& bind) override {
    Row(key, "map", "", doc);
    ReferenceBinder inner(absl::StrCat(prefix_, key, "."), out_);
    bind(inner);
  }
  void List(const std::string& key, const KeyDoc& doc,
            const std::function<void(Binder&)>& bind) override {
    Row(key, "list of maps", "", doc);
    ReferenceBinder inner(absl::StrCat(prefix_, key, "[]."), out_);
    bind(inner);
  }
  void Map(const std::string& key, const TextRule&, const KeyDoc& doc,
           const std::function<void(const std::string&, Binder&)>& bind) override {
    Row(key, "map of maps", "", doc);
    ReferenceBinder inner(absl::StrCat(prefix_, key, ".<name>."), out_);
    bind("<name>", inner);
  }

 private:
  static std::string TypeOf(const TextRule& rule) {
    if (rule.choices.empty()) {
      switch (rule.kind) {
        case TextKind::kAny:
          return "text";
        case TextKind::kName:
        case TextKind::kModelName:
          return "name";
        case TextKind::kPath:
          return "path";
        case TextKind::kAddress:
          return "host";
      }
    }
    std::string type = absl::StrJoin(rule.choices, ", ");
    if (!rule.later.empty()) {
      absl::StrAppend(&type, " (", absl::StrJoin(rule.later, ", "), ": not available yet)");
    }
    return type;
  }

  void Row(const std::string& key, const std::string& type, const std::string& value,
           const KeyDoc& doc) {
    const std::string shown = doc.required    ? "required"
                              : value.empty() ? ""
                                              : absl::StrCat("`", value, "`");
    absl::StrAppend(&out_, "| `", prefix_, key, "` | ", absl::StrReplaceAll(type, {{"|", "\\|"}}),
                    " | ", shown, " | ", absl::StrReplaceAll(doc.doc, {{"|", "\\|"}}), " |\n");
  }

  const std::string prefix_;
  std::string& out_;
};

}  // namespace

std::string ConfigReference() {
  std::string out =
      "# Configuration reference\n\n"
      "Relative paths start from the file's own folder. `replicas[].engine` and\n"
      "`replicas[].numerics` override the cluster-wide values for one replica.\n"
      "`--set key.path=value` overrides any key; list elements are named by index or by name, as\n"
      "in `--set replicas.chat.count=1`.\n\n"
      "| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
  ReferenceBinder binder("", out);
  ClusterConfig config;
  BindCluster(binder, config);
  return out;
}

}  // namespace shoal::config
