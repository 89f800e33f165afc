// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/hash.h"
#include "base/random.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

TEST(Random, IdsDifferAndAreNeverZero) {
  std::set<uint64_t> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(RandomId());
  EXPECT_EQ(ids.size(), 1000U);
  EXPECT_FALSE(ids.contains(0));
}

TEST(Random, FillsEveryByteOfAnyLength) {
  std::string bytes(1000, '\0');
  std::set<size_t> touched;
  for (int round = 0; round < 20; ++round) {
    FillRandom(bytes.data(), bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != '\0') touched.insert(i);
    }
  }
  EXPECT_EQ(touched.size(), bytes.size());
}

TEST(Random, HexHasTwoLowerCaseDigitsAByte) {
  EXPECT_EQ(HexEncode(absl::string_view("\x00\xff\x1a", 3)), "00ff1a");
  EXPECT_EQ(HexId(0x1f), "000000000000001f");
  EXPECT_EQ(HexId(0xfedcba9876543210), "fedcba9876543210");
}

TEST(Random, SecretsAreEqualOnlyWhenAllBytesAre) {
  EXPECT_TRUE(ConstantTimeEqual("secret", "secret"));
  EXPECT_TRUE(ConstantTimeEqual("", ""));
  EXPECT_FALSE(ConstantTimeEqual("secret", "Secret"));
  EXPECT_FALSE(ConstantTimeEqual("secret", "secret "));
  EXPECT_FALSE(ConstantTimeEqual("secret", ""));
  EXPECT_FALSE(ConstantTimeEqual(absl::string_view("a\0b", 3), absl::string_view("a\0c", 3)));
  EXPECT_FALSE(ConstantTimeEqual("abc", "abd"));
  EXPECT_FALSE(ConstantTimeEqual("abc", "ab"));
  EXPECT_FALSE(ConstantTimeEqual("abc", std::string("abc\0", 4)));
}

TEST(Hash, Sha256GivesThePublishedDigests) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Hash, Sha256OfPiecesIsThatOfTheWhole) {
  Sha256Stream stream;
  stream.Add("a");
  stream.Add("");
  stream.Add("bc");
  EXPECT_EQ(stream.Hex(), Sha256Hex("abc"));
}

TEST(Hash, Xxh3GivesThePublishedValueAndDependsOnTheSeed) {
  EXPECT_EQ(Xxh3(""), 0x2D06800538D394C2ULL);
  EXPECT_NE(Xxh3("abc"), Xxh3("abd"));
  EXPECT_NE(Xxh3("abc", 1), Xxh3("abc", 2));
}

}  // namespace
}  // namespace shoal
