// SPDX-License-Identifier: Apache-2.0
#include "app/flags.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CommandSpec Spec() {
  return {.name = "try",
          .positional = "CONFIG",
          .summary = "tries things",
          .flags = {{.name = "set", .placeholder = "KEY=VALUE", .help = "h", .repeated = true},
                    {.name = "port", .placeholder = "PORT", .help = "the port"},
                    {.name = "json", .placeholder = "", .help = "prints JSON"}}};
}

void ExpectUsageError(const std::vector<std::string>& arguments, const std::string& what) {
  const auto flags = Flags::Parse(Spec(), arguments);
  ASSERT_FALSE(flags.ok()) << "accepted; expected: " << what;
  EXPECT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(flags.status().message()), HasSubstr(what));
}

TEST(Flags, ReadsBothFormsOfAValueInAnyOrder) {
  const auto flags =
      Flags::Parse(Spec(), {"--port", "7", "c.yaml", "--set=a.b=1", "--json", "--set", "c=x=y"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->positional(), "c.yaml");
  EXPECT_EQ(flags->Get("port"), "7");
  EXPECT_THAT(flags->GetAll("set"), ElementsAre("a.b=1", "c=x=y"));
  EXPECT_TRUE(flags->Has("json"));
}

TEST(Flags, AbsentFlagsGiveTheFallback) {
  const auto flags = Flags::Parse(Spec(), {"c.yaml"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_FALSE(flags->Has("json"));
  EXPECT_EQ(flags->Get("port", "none"), "none");
  EXPECT_THAT(flags->GetAll("set"), IsEmpty());
  EXPECT_EQ(flags->GetInt("port", 5, 0, 10).value(), 5);
}

TEST(Flags, RefusesWhatTheCommandDoesNotTake) {
  ExpectUsageError({"c.yaml", "--nope"}, "unknown option --nope");
  ExpectUsageError({"c.yaml", "--Port=1"}, "unknown option --Port");
  ExpectUsageError({"c.yaml", "--"}, "unknown option --");
  ExpectUsageError({"c.yaml", "--port"}, "--port needs a value PORT");
  ExpectUsageError({"c.yaml", "--json=1"}, "--json takes no value");
  ExpectUsageError({"c.yaml", "--port=1", "--port=2"}, "--port is given twice");
  ExpectUsageError({"c.yaml", "d.yaml"}, "unexpected argument 'd.yaml'");
  ExpectUsageError({"--json"}, "CONFIG is missing");
}

TEST(Flags, RefusesNumbersOutsideTheirRange) {
  const auto with = [](const std::string& port) {
    return Flags::Parse(Spec(), {"c.yaml", "--port=" + port}).value().GetInt("port", 0, 1, 65535);
  };
  EXPECT_EQ(with("65535").value(), 65535);
  for (const char* port : {"0", "65536", "-1", "x", "", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(with(port).status().code(), absl::StatusCode::kInvalidArgument) << port;
  }
}

TEST(Flags, RefusesNumbersThatAreNone) {
  const auto with = [](const std::string& port) {
    return Flags::Parse(Spec(), {"c.yaml", "--port=" + port}).value().GetDouble("port", 0, 0, 2);
  };
  EXPECT_EQ(with("0.5").value(), 0.5);
  for (const char* port : {"nan", "inf", "-0.5", "2.5", "x", ""}) {
    EXPECT_EQ(with(port).status().code(), absl::StatusCode::kInvalidArgument) << port;
  }
}

TEST(Flags, UsageNamesEveryOption) {
  const std::string usage = Usage(Spec());
  EXPECT_THAT(usage, HasSubstr("usage: shoal try CONFIG [options]"));
  for (const char* part : {"--set KEY=VALUE", "--port PORT", "--json", "the port"}) {
    EXPECT_THAT(usage, HasSubstr(part));
  }
}

}  // namespace
}  // namespace shoal::app
