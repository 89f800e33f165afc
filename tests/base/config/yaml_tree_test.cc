// SPDX-License-Identifier: Apache-2.0
#include "base/config/yaml_tree.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal::config {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(const std::string& text, const std::string& what) {
  const auto tree = ParseYaml(text);
  ASSERT_FALSE(tree.ok()) << "accepted; expected: " << what;
  EXPECT_EQ(tree.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tree.status().message()), HasSubstr(what));
}

TEST(YamlTree, KeepsOrderLinesAndQuotes) {
  const auto tree = ParseYaml("# comment\nb: 1\na:\n  - x\n  - \"2\"\nc: { d: ~ }\n");
  ASSERT_TRUE(tree.ok()) << tree.status();
  ASSERT_EQ(tree->keys.size(), 3U);
  EXPECT_EQ(tree->keys[0].name, "b");
  EXPECT_EQ(tree->keys[1].line, 3);
  EXPECT_EQ(tree->Find("a")->items[1].line, 5);
  EXPECT_TRUE(tree->Find("a")->items[1].quoted);
  EXPECT_FALSE(tree->Find("b")->quoted);
  EXPECT_EQ(tree->Find("c")->Find("d")->kind, YamlNode::Kind::kNull);
  EXPECT_EQ(tree->Find("none"), nullptr);
}

TEST(YamlTree, ReadsNothingAsNull) {
  EXPECT_EQ(ParseYaml("").value().kind, YamlNode::Kind::kNull);
  EXPECT_EQ(ParseYaml("# only a comment\n").value().kind, YamlNode::Kind::kNull);
}

TEST(YamlTree, RefusesKeysGivenTwice) {
  ExpectRefused("a: 1\nb: 2\na: 3\n", "line 3: the key \"a\" was already given on line 1");
  ExpectRefused("x: { a: 1, a: 1 }\n", "line 1");
}

TEST(YamlTree, RefusesAnchorsAliasesAndTags) {
  ExpectRefused("a: &x 1\n", "line 1: anchors");
  ExpectRefused("a: &x [1]\nb: *x\n", "anchors");
  ExpectRefused("a: *x\n", "not YAML");
  ExpectRefused("a: !!int 1\n", "the tag");
  ExpectRefused("a: !mine {}\n", "the tag");
}

TEST(YamlTree, RefusesABillionLaughsAtOnce) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    absl::StrAppend(&text, "a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1, ", *a", i - 1, "]\n");
  }
  ExpectRefused(text, "line 1: anchors");
}

TEST(YamlTree, BoundsTextDepthAndValues) {
  ExpectRefused(std::string((1 << 20) + 1, '#'), "bytes of YAML");
  ExpectRefused(std::string(40, '[') + std::string(40, ']'), "nested deeper than 32");
  EXPECT_TRUE(ParseYaml(std::string(32, '[') + std::string(32, ']')).ok());
  EXPECT_FALSE(ParseYaml(std::string(100'000, '[')).ok());
  EXPECT_FALSE(ParseYaml(std::string(100'000, '{')).ok());
  std::string many = "[";
  for (int i = 0; i < 100'001; ++i) many += "1,";
  ExpectRefused(many + "]", "more than 100000 values");
  std::string keys;
  for (int i = 0; i < 1001; ++i) absl::StrAppend(&keys, "k", i, ": 1\n");
  ExpectRefused(keys, "line 1001: more than 1000 keys");
}

TEST(YamlTree, RefusesOtherForms) {
  ExpectRefused("a: 1\n---\nb: 2\n", "second document");
  ExpectRefused("? [1, 2]\n: x\n", "a key must be plain text");
  ExpectRefused("a: 1\nb: [1, 2\n", "line");
  ExpectRefused("a: 1\n  b: 2\n", "line 2: not YAML");
}

}  // namespace
}  // namespace shoal::config
