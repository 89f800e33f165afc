// SPDX-License-Identifier: Apache-2.0
#include "text/regex/pattern.h"

#include "gtest/gtest.h"
#include "text_testing.h"

namespace shoal::text {
namespace {

std::vector<std::string> Matches(const std::string& expression, const std::string& text) {
  const auto pattern = Pattern::Compile(expression);
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  std::vector<ByteRange> ranges;
  EXPECT_TRUE((*pattern)->FindAll(text, &ranges).ok());
  std::vector<std::string> matches;
  for (const ByteRange& range : ranges) {
    matches.push_back(text.substr(range.begin, range.end - range.begin));
  }
  return matches;
}

using Texts = std::vector<std::string>;

TEST(Pattern, TakesTheFirstAlternativeThatMatches) {
  EXPECT_EQ(Matches("ab|abc", "abcabc"), (Texts{"ab", "ab"}));
  EXPECT_EQ(Matches("abc|ab", "abcab"), (Texts{"abc", "ab"}));
}

TEST(Pattern, GivesBackWhatTheRestNeeds) {
  EXPECT_EQ(Matches(R"(\s*[\r\n]+)", " \n \n x"), (Texts{" \n \n"}));
  EXPECT_EQ(Matches(R"(\s+(?!\S)|\s+)", "a   b  "), (Texts{"  ", " ", "  "}));
  EXPECT_EQ(Matches("a*ab", "aaab"), (Texts{"aaab"}));
  EXPECT_EQ(Matches("a*+ab", "aaab"), Texts{});
  EXPECT_EQ(Matches("[A-Z]*[A-Z][a-z]+", "HTTPServer"), (Texts{"HTTPServer"}));
}

TEST(Pattern, CountsCharactersNotBytes) {
  EXPECT_EQ(Matches(R"(\p{L}{1,2})", "äöü"), (Texts{"äö", "ü"}));
  EXPECT_EQ(Matches(R"(\p{N}{2,})", "1 23 456"), (Texts{"23", "456"}));
  EXPECT_EQ(Matches(R"(\p{N}{2})", "12345"), (Texts{"12", "34"}));
}

TEST(Pattern, FoldsCaseOnlyInsideItsGroup) {
  EXPECT_EQ(Matches("(?i:'ll)x", "'LLx 'llX 'lLx"), (Texts{"'LLx", "'lLx"}));
  EXPECT_EQ(Matches("a(?i:'s|'t)?", "a'Sa'ſa'xa"), (Texts{"a'S", "a'ſ", "a", "a"}));
}

TEST(Pattern, SetsCanBeNegatedAndNested) {
  EXPECT_EQ(Matches(R"([^\s\p{L}]+)", "a1!b 2"), (Texts{"1!", "2"}));
  EXPECT_EQ(Matches(R"([\S]+)", "a b"), (Texts{"a", "b"}));
  EXPECT_EQ(Matches(R"([^\P{L}]+)", "ab1"), (Texts{"ab"}));
  EXPECT_EQ(Matches(R"([\]\-a\\]+)", "x]-a\\y"), (Texts{"]-a\\"}));
  EXPECT_EQ(Matches(R"([\x{4E00}-\x{9FA5}]+)", "a漢字b"), (Texts{"漢字"}));
}

TEST(Pattern, TheEndOfALineIsTheEndOrBeforeALineFeed) {
  EXPECT_EQ(Matches(" +$", "a  \nb  "), (Texts{"  ", "  "}));
}

TEST(Pattern, EmptyMatchesAreLeftOut) { EXPECT_EQ(Matches("a*", "baab"), (Texts{"aa"})); }

TEST(Pattern, NamesWhatItDoesNotHave) {
  const auto refuses = [](const std::string& expression, const std::string& named) {
    const auto pattern = Pattern::Compile(expression);
    EXPECT_EQ(pattern.status().code(), absl::StatusCode::kInvalidArgument) << expression;
    EXPECT_NE(std::string(pattern.status().message()).find(named), std::string::npos)
        << pattern.status();
    EXPECT_NE(std::string(pattern.status().message()).find(expression), std::string::npos);
  };
  refuses("(?<=a)b", "a group of an unknown kind");
  refuses("(a|b)+", "a repeated group");
  refuses("a+?", "a lazy quantifier");
  refuses("[[:alpha:]]", "'[' inside brackets");
  refuses("[a&&b]", "'&&'");
  refuses(R"(\p{Han}+)", R"(\p{Han})");
  refuses(R"(\b)", R"(\b)");
  refuses("(a", "without its end");
  refuses("a)", "an unmatched ')'");
  refuses("[a", "without its end");
  refuses("a{2,1}", "malformed repetition");
  refuses("a{99999}", "malformed repetition");
  refuses("*a", "'*' at this place");
  refuses("(?!ab)", "more than one character");
  refuses("a\\", "at the end");
  refuses("[z-a]", "ends before it begins");
  refuses(std::string(40, '('), "deeply nested");
}

TEST(Pattern, LongRunsThatNeverMatchTakeLinearTime) {
  const auto pattern = *Pattern::Compile(R"(\s+$|\s*[\r\n]+)");
  std::vector<ByteRange> ranges;
  const double start = ThreadSeconds();
  ASSERT_TRUE(pattern->FindAll(std::string(1 << 20, ' ') + "x", &ranges).ok());
  const double took = ThreadSeconds() - start;
  EXPECT_TRUE(ranges.empty());
  EXPECT_LT(took, 30.0);
}

TEST(Pattern, GivesUpOnExpressionsThatTakeTooLong) {
  const auto pattern = *Pattern::Compile("a?[ab]*[ab]*[ab]*c");
  std::vector<ByteRange> ranges;
  const absl::Status status = pattern->FindAll(std::string(20'000, 'a'), &ranges);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("takes too long"), std::string::npos);
}

}  // namespace
}  // namespace shoal::text
