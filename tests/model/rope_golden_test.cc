// SPDX-License-Identifier: Apache-2.0
// Rotary frequencies against those of transformers (scripts/make_rope_goldens.py), from configs in
// the spellings of both its versions.
#include <cmath>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/blocks/rope_table.h"
#include "model/spec/hf_spec.h"
#include "nlohmann/json.hpp"

namespace shoal::model::testing {
namespace {

using Json = nlohmann::json;

void ExpectTable(const Json& entry, const Json& config) {
  const auto spec = SpecFromHfConfig(config.dump(), "");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const kernels::RopeTable table =
      MakeRopeTable(spec->layers[0].attention.rope, entry["long"].get<bool>());
  ASSERT_EQ(table.inv_freq.size(), entry["inv_freq"].size());
  for (size_t i = 0; i < table.inv_freq.size(); ++i) {
    const double wanted = entry["inv_freq"][i].get<double>();
    // transformers computes them in float32, powers included.
    EXPECT_NEAR(table.inv_freq[i], wanted, 2e-6 * wanted) << "pair " << i;
  }
  EXPECT_FLOAT_EQ(table.magnitude, entry["magnitude"].get<float>());
}

TEST(RopeGoldens, MatchTransformersInBothSpellings) {
  std::ifstream stream(absl::StrCat(SHOAL_SOURCE_DIR, "/tests/golden/rope.json"));
  const Json entries = Json::parse(stream);
  ASSERT_GE(entries.size(), 11U);
  for (const Json& entry : entries) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    ExpectTable(entry, entry["config"]);
    ExpectTable(entry, entry["config4"]);
  }
}

}  // namespace
}  // namespace shoal::model::testing
