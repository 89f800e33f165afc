// SPDX-License-Identifier: Apache-2.0
// Single parts of pipelines against the reference: every pre-tokenizer and normalizer by itself.
#include "text/load/hf_parts.h"
#include "text/pipeline/normalizer.h"
#include "text/pipeline/pre_tokenizer.h"
#include "text_testing.h"

namespace shoal::text {
namespace {

using nlohmann::json;

TEST(Parts, PreTokenizersCutAsTheReferenceDoes) {
  const json golden = json::parse(ReadGolden("parts.json"));
  size_t pieces_seen = 0;
  for (const json& entry : golden["pre_tokenizers"]) {
    TokenizerDefinition definition;
    ASSERT_TRUE(ReadPreTokenizer(entry["part"], &definition).ok()) << entry["part"];
    const PreTokenizer pre_tokenizer(definition.pre_tokenizer);
    for (size_t i = 0; i < entry["pieces"].size(); ++i) {
      const std::string text = golden["texts"][i * 3];
      std::deque<std::string> storage;
      std::vector<absl::string_view> pieces;
      ASSERT_TRUE(pre_tokenizer.Split(text, /*first=*/true, &storage, &pieces).ok());
      std::vector<std::string> texts;
      for (const absl::string_view piece : pieces) texts.emplace_back(piece.data(), piece.size());
      EXPECT_EQ(texts, entry["pieces"][i].get<std::vector<std::string>>())
          << entry["part"] << " of '" << text << "'";
      pieces_seen += texts.size();
    }
  }
  EXPECT_GT(pieces_seen, 9'000u);
}

TEST(Parts, NormalizersChangeTextAsTheReferenceDoes) {
  const json golden = json::parse(ReadGolden("parts.json"));
  size_t changed = 0;
  for (const json& entry : golden["normalizers"]) {
    TokenizerDefinition definition;
    ASSERT_TRUE(ReadNormalizer(entry["part"], &definition).ok()) << entry["part"];
    const auto normalizer = Normalizer::Create(definition.normalizer);
    ASSERT_TRUE(normalizer.ok()) << normalizer.status();
    for (size_t i = 0; i < entry["texts"].size(); ++i) {
      const bool same = entry["texts"][i].is_null();
      NormalizedText text;
      text.text = golden["texts"][i];
      text.track = true;
      text.marks.assign(text.text.size(), '\0');
      ASSERT_TRUE(normalizer->Apply(PartPlace(), &text).ok());
      EXPECT_EQ(text.text, same ? golden["texts"][i] : entry["texts"][i])
          << entry["part"] << " of '" << golden["texts"][i] << "'";
      EXPECT_EQ(text.marks.size(), text.text.size());
      changed += same ? 0 : 1;
    }
  }
  EXPECT_GT(changed, 500u);
}

}  // namespace
}  // namespace shoal::text
