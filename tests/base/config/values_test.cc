// SPDX-License-Identifier: Apache-2.0
#include "base/config/values.h"

#include "gtest/gtest.h"

namespace shoal::config {
namespace {

TEST(ConfigValues, IntegersAreDecimalDigitsOnly) {
  EXPECT_EQ(ParseInteger("0"), 0);
  EXPECT_EQ(ParseInteger("-12"), -12);
  EXPECT_EQ(ParseInteger("9223372036854775807"), INT64_MAX);
  for (const char* text : {"", "-", "+1", "1.0", "1e3", "0x10", "010", "1_000", " 1", "1 ", "one",
                           "9223372036854775808", "--1"}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << text;
  }
}

TEST(ConfigValues, SizesAreWholeNumbersWithBinaryUnits) {
  EXPECT_EQ(ParseBytes("4096"), 4096);
  EXPECT_EQ(ParseBytes("7B"), 7);
  EXPECT_EQ(ParseBytes("3KiB"), 3072);
  EXPECT_EQ(ParseBytes("512MiB"), int64_t{512} << 20);
  EXPECT_EQ(ParseBytes("1GiB"), int64_t{1} << 30);
  EXPECT_EQ(ParseBytes("2TiB"), int64_t{2} << 40);
  for (const char* text :
       {"", "GiB", "B", "1.5GiB", "1GB", "1gib", "1 GiB", "-1", "1G", "9000000TiB", "1KiBB"}) {
    EXPECT_EQ(ParseBytes(text), std::nullopt) << text;
  }
}

TEST(ConfigValues, SizesAreWrittenInTheLargestWholeUnit) {
  EXPECT_EQ(FormatBytes(int64_t{1} << 30), "1GiB");
  EXPECT_EQ(FormatBytes((int64_t{1} << 30) + 1024), "1048577KiB");
  EXPECT_EQ(FormatBytes(5), "5B");
}

TEST(ConfigValues, DurationsNeedAUnit) {
  EXPECT_EQ(ParseDurationText("10s"), absl::Seconds(10));
  EXPECT_EQ(ParseDurationText("500ms"), absl::Milliseconds(500));
  EXPECT_EQ(ParseDurationText("1h30m"), absl::Minutes(90));
  EXPECT_EQ(ParseDurationText("0s"), absl::ZeroDuration());
  for (const char* text : {"", "0", "10", "-1s", "inf", "-inf", "10 s", "s", "1y"}) {
    EXPECT_EQ(ParseDurationText(text), std::nullopt) << text;
  }
}

TEST(ConfigValues, AddressesAreAHostAndAPort) {
  const auto v4 = ParseEndpoint("127.0.0.1:8000");
  ASSERT_TRUE(v4.has_value());
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 8000);
  const auto v6 = ParseEndpoint("[::1]:0");
  ASSERT_TRUE(v6.has_value());
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->ToString(), "[::1]:0");
  EXPECT_EQ(ParseEndpoint("host.example:65535")->ToString(), "host.example:65535");
  for (const char* text : {"", "8000", ":8000", "host:", "host:65536", "host:-1", "::1:80", "a b:1",
                           "http://h:1", "[x]:1", "[]:1", "host:08", "h/:1"}) {
    EXPECT_EQ(ParseEndpoint(text).has_value(), false) << text;
  }
}

TEST(ConfigValues, NearestForgivesAFewTypingErrors) {
  const std::vector<std::string> keys = {"count", "device", "hosts", "model", "name"};
  EXPECT_EQ(Nearest("cuont", keys), "count");
  EXPECT_EQ(Nearest("devise", keys), "device");
  EXPECT_EQ(Nearest("host", keys), "hosts");
  EXPECT_EQ(Nearest("colour", keys), "");
  EXPECT_EQ(Nearest("xy", keys), "");
  EXPECT_EQ(Nearest(std::string(100'000, 'x'), keys), "");
}

}  // namespace
}  // namespace shoal::config
