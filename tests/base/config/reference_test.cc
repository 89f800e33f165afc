// SPDX-License-Identifier: Apache-2.0
#include "base/config/reference.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal::config {
namespace {

using ::testing::HasSubstr;

TEST(ConfigReference, HasARowForEveryKindOfKey) {
  const std::string text = ConfigReference();
  EXPECT_THAT(text, HasSubstr("| `schema` | integer 1 to 1 | required |"));
  EXPECT_THAT(text, HasSubstr("| `models[].path` | path | required |"));
  EXPECT_THAT(text, HasSubstr("| `router.http` | address:port | `127.0.0.1:8000` |"));
  EXPECT_THAT(text, HasSubstr("| `engine.kv.memory` | size 1KiB to 1024TiB | `1GiB` |"));
  EXPECT_THAT(text,
              HasSubstr("| `replicas[].role` | unified (prefill, decode: not available yet)"));
  EXPECT_THAT(text, HasSubstr("| `replicas[].engine.kv.block_tokens` |"));
  EXPECT_THAT(text, HasSubstr("| `numerics.shards` | integer 1 to 256, or auto | `auto` |"));
  EXPECT_THAT(text, HasSubstr("| `deadlines.step` | duration 1ms to 24h | `1m` |"));
  EXPECT_THAT(text, HasSubstr("| `hosts.<name>.log` | path |"));
  EXPECT_THAT(text, HasSubstr("| `hosts.<name>.ports` | not available yet |"));
}

}  // namespace
}  // namespace shoal::config
