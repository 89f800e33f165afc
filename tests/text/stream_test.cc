// SPDX-License-Identifier: Apache-2.0
// Detokenizing and stop matching of streams.
#include <random>

#include "text/detokenizer.h"
#include "text/stop_matcher.h"
#include "text/utf8.h"
#include "text_testing.h"

namespace shoal::text {
namespace {

std::string Replaced(absl::string_view bytes) {
  std::string out;
  AppendReplacingIllFormed(bytes, &out);
  return out;
}

TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(Replaced("ok"), "ok");
  EXPECT_EQ(Replaced("\xC0\x80ok"), r + r + "ok");
  EXPECT_EQ(Replaced("\xED\xA0\x80ok"), r + r + r + "ok");
  EXPECT_EQ(Replaced("\xF4\x90\x80\x80ok"), r + r + r + r + "ok");
  EXPECT_EQ(Replaced("\xE0\x80\xAFok"), r + r + r + "ok");
  EXPECT_EQ(Replaced("\xF0\x9F\x99x"), r + "x");
  EXPECT_EQ(Replaced("\xE4 then\x80."), r + " then" + r + ".");
  EXPECT_EQ(Replaced("\xF0\x9F"), r);
  EXPECT_EQ(Replaced("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
}

class DetokenizerTest : public testing::Test {
 protected:
  TextModel model_ = LoadGolden("gpt2");
  // The token of one byte.
  int32_t Byte(uint8_t byte) {
    for (int32_t id = 0; id < model_.tokenizer->vocab_size(); ++id) {
      const absl::string_view bytes = model_.tokenizer->TokenBytes(id);
      if (bytes.size() == 1 && static_cast<uint8_t>(bytes[0]) == byte) return id;
    }
    ADD_FAILURE() << "no token for byte " << int{byte};
    return 0;
  }
};

TEST_F(DetokenizerTest, EachCharacterLeavesWithTheTokenThatCompletesIt) {
  const std::string text = "ž漢🙂";
  IncrementalDetokenizer stream(model_.tokenizer, true);
  std::vector<std::string> pieces;
  for (const char c : text) pieces.push_back(stream.Push(Byte(static_cast<uint8_t>(c))));
  EXPECT_EQ(pieces, (std::vector<std::string>{"", "ž", "", "", "漢", "", "", "", "🙂"}));
  EXPECT_EQ(stream.Finish(), "");
}

TEST_F(DetokenizerTest, IllFormedBytesAreReplacedAndTheRestFollows) {
  for (const std::string bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE0\x80\xAF",
                                "\xE4", "\x80", "\xF0\x9F\x99"}) {
    IncrementalDetokenizer stream(model_.tokenizer, true);
    std::string text;
    for (const char c : bad + "ok") {
      text += stream.Push(Byte(static_cast<uint8_t>(c)));
      EXPECT_EQ(FindIllFormed(text), absl::string_view::npos);
    }
    EXPECT_EQ(text, Replaced(bad + "ok"));
    EXPECT_EQ(stream.Finish(), "");
  }
}

TEST_F(DetokenizerTest, RandomBytesStreamAsTheyDecodeWhole) {
  std::mt19937 random(5);
  std::vector<int32_t> of_byte;
  for (int byte = 0; byte < 256; ++byte) of_byte.push_back(Byte(static_cast<uint8_t>(byte)));
  for (int round = 0; round < 2000; ++round) {
    std::vector<int32_t> ids;
    const size_t length = random() % 12;
    for (size_t i = 0; i < length; ++i) {
      ids.push_back(of_byte[random() % 4 == 0 ? random() % 256 : 0x80 + random() % 0x80]);
    }
    IncrementalDetokenizer stream(model_.tokenizer, true);
    std::string text;
    for (const int32_t id : ids) text += stream.Push(id);
    text += stream.Finish();
    ASSERT_EQ(text, model_.tokenizer->Decode(ids, true));
  }
}

TEST_F(DetokenizerTest, WhatIsCutOffAtTheEndIsReplaced) {
  IncrementalDetokenizer stream(model_.tokenizer, true);
  EXPECT_EQ(stream.Push(Byte(0xF0)), "");
  EXPECT_EQ(stream.Push(Byte(0x9F)), "");
  EXPECT_EQ(stream.Finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.Finish(), "");
}

TEST_F(DetokenizerTest, ControlTokensAreSkippedOrShown) {
  const int32_t end = *model_.tokenizer->TokenId("<|im_end|>");
  const int32_t tool = *model_.tokenizer->TokenId("<tool>");
  IncrementalDetokenizer hide(model_.tokenizer, true);
  EXPECT_EQ(hide.Push(end), "");
  EXPECT_EQ(hide.Push(tool), "<tool>");  // added, but not special
  IncrementalDetokenizer show(model_.tokenizer, false);
  EXPECT_EQ(show.Push(end), "<|im_end|>");
}

std::string Feed(StopMatcher* matcher, const std::vector<std::string>& pieces, bool* stopped) {
  std::string text;
  *stopped = false;
  for (const std::string& piece : pieces) {
    const auto result = matcher->Push(piece);
    text += result.text;
    if (result.stopped) {
      *stopped = true;
      return text;
    }
  }
  return text + matcher->Finish();
}

TEST(StopMatcher, FindsAStopOverSeveralPieces) {
  StopMatcher matcher({"gamma del"}, false);
  EXPECT_EQ(matcher.Push("alpha beta ").text, "alpha beta ");
  EXPECT_EQ(matcher.Push("gamma").text, "");
  const auto last = matcher.Push(" delta");
  EXPECT_TRUE(last.stopped);
  EXPECT_EQ(last.text, "");
}

TEST(StopMatcher, CutsInsideAPiece) {
  StopMatcher matcher({"mm"}, false);
  const auto result = matcher.Push(" comma,");
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.text, " co");
  EXPECT_TRUE(matcher.Push("more").stopped);
  EXPECT_EQ(matcher.Push("more").text, "");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, CanIncludeTheStop) {
  StopMatcher matcher({"mm"}, true);
  EXPECT_EQ(matcher.Push(" comma,").text, " comm");
}

TEST(StopMatcher, ReleasesWhatDidNotBecomeAStop) {
  StopMatcher matcher({"abcd", "bcx"}, false);
  EXPECT_EQ(matcher.Push("zab").text, "z");
  EXPECT_EQ(matcher.Push("c").text, "");
  EXPECT_EQ(matcher.Push("y").text, "abcy");
  EXPECT_EQ(matcher.Push("ab").text, "");
  EXPECT_EQ(matcher.Finish(), "ab");
}

TEST(StopMatcher, WithoutStopsEverythingPasses) {
  StopMatcher matcher({}, false);
  EXPECT_EQ(matcher.Push("abc").text, "abc");
}

TEST(StopMatcher, DoesNotDependOnHowTheTextIsCut) {
  std::mt19937 random(9);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    size_t longest = 0;
    for (size_t i = 0; i < 1 + random() % 3; ++i) {
      std::string stop;
      for (size_t j = 0; j < 1 + random() % 4; ++j) stop += "ab"[random() % 2];
      longest = std::max(longest, stop.size());
      stops.push_back(stop);
    }
    std::string text;
    for (size_t i = 0; i < random() % 20; ++i) text += "abc"[random() % 3];
    // The definition, byte by byte: the first end of any stop, and there the longest.
    std::string expected = text;
    bool expected_stop = false;
    for (size_t end = 1; end <= text.size() && !expected_stop; ++end) {
      size_t cut = 0;
      for (const std::string& stop : stops) {
        if (stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0) {
          cut = std::max(cut, stop.size());
        }
      }
      expected_stop = cut > 0;
      if (expected_stop) expected = text.substr(0, end - cut);
    }
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t length = 1 + random() % 5;
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    StopMatcher matcher(stops, false);
    bool stopped = false;
    ASSERT_EQ(Feed(&matcher, pieces, &stopped), expected);
    ASSERT_EQ(stopped, expected_stop);
    StopMatcher bounded(stops, false);
    size_t sent = 0;
    size_t seen = 0;
    for (const std::string& piece : pieces) {
      const auto result = bounded.Push(piece);
      if (result.stopped) break;
      sent += result.text.size();
      seen += piece.size();
      ASSERT_LE(seen - sent, longest - 1);
    }
  }
}

}  // namespace
}  // namespace shoal::text
