// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend.h"

#include <gtest/gtest.h>

#include "kernels/cpu/isa.h"

namespace shoal::kernels {
namespace {

TEST(ChooseIsa, TakesTheBestWithoutARequestAndTheNamedOneWithOne) {
  const std::vector<cpu::Isa> supported = cpu::SupportedIsas();
  ASSERT_FALSE(supported.empty());
  EXPECT_EQ(supported.front(), cpu::Isa::kPortable);
  for (const char* nothing : {static_cast<const char*>(nullptr), ""}) {
    const auto best = cpu::ChooseIsa(nothing);
    ASSERT_TRUE(best.ok());
    EXPECT_EQ(*best, supported.back());
  }
  for (const cpu::Isa isa : supported) {
    const auto chosen = cpu::ChooseIsa(cpu::Name(isa));
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(*chosen, isa);
  }
}

TEST(ChooseIsa, RefusesWhatIsUnknownOrMissing) {
  const auto unknown = cpu::ChooseIsa("neon");
  ASSERT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.status().message().find("portable"), std::string::npos);
  for (const cpu::Isa isa : {cpu::Isa::kAvx2, cpu::Isa::kAvx512, cpu::Isa::kAmx}) {
    if (cpu::IsSupported(isa)) continue;
    EXPECT_EQ(cpu::ChooseIsa(cpu::Name(isa)).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
}

TEST(CreateBackend, KnowsItsBackends) {
  const auto reference = CreateBackend("reference");
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ((*reference)->Describe(), "reference");
  const auto cpu_backend = CreateBackend("cpu");
  ASSERT_TRUE(cpu_backend.ok()) << cpu_backend.status();
  EXPECT_EQ((*cpu_backend)->Describe().rfind("cpu ", 0), 0u);
  EXPECT_EQ(CreateBackend("cuda").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Backend, GivesZeroedAlignedArenasAndRefusesImpossibleOnes) {
  for (const char* name : {"cpu", "reference"}) {
    const auto backend = CreateBackend(name);
    ASSERT_TRUE(backend.ok());
    const auto arena = (*backend)->Allocate("kv pool", 100'000);
    ASSERT_TRUE(arena.ok());
    EXPECT_EQ((*arena)->name(), "kv pool");
    ASSERT_EQ((*arena)->bytes(), 100'000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*arena)->data()) % 64, 0u);
    for (int64_t i = 0; i < 100'000; ++i) ASSERT_EQ((*arena)->data()[i], 0);
    const auto huge = (*backend)->Allocate("kv pool", int64_t{1} << 60);
    ASSERT_EQ(huge.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_NE(huge.status().message().find("kv pool"), std::string::npos);
    EXPECT_FALSE((*backend)->Allocate("x", -1).ok());
  }
}

TEST(Backend, RefusesStreamsWithoutThreads) {
  for (const char* name : {"cpu", "reference"}) {
    const auto backend = CreateBackend(name);
    ASSERT_TRUE(backend.ok());
    EXPECT_TRUE((*backend)->CreateStream({.threads = 2}).ok());
    EXPECT_EQ((*backend)->CreateStream({.threads = 0}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace shoal::kernels
