// SPDX-License-Identifier: Apache-2.0
// Replicas that come back after a stall, and a router without file descriptors.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "absl/time/clock.h"
#include "router/router_fixture.h"

namespace shoal::router {
namespace {

class Recovery : public RouterFixture {};

TEST_F(Recovery, AStreamGoesOnAtTheOnlyReplicaOnceItMovesAgain) {
  tuning_.health.step = absl::Seconds(5);
  FakeWorker& worker = AddWorker();
  StartAll();
  RawClient client(http());
  client.Post("/v1/chat/completions", Chat());
  const v1::Submit submit = worker.AwaitSubmit();
  worker.Emit(submit, {'a'});
  worker.SendLoad([](v1::Load* load) { load->set_stalled_ms(5001); });
  EXPECT_EQ(worker.AwaitCancel().sequence(), submit.sequence());
  worker.SendLoad([](v1::Load* load) { load->set_steps(9); });
  const v1::Submit again = worker.AwaitSubmit();
  EXPECT_NE(again.sequence(), submit.sequence());
  worker.Emit(again, {'b', kEos}, v1::FINISH_STOP);
  EXPECT_EQ(client.Read().json()["choices"][0]["message"]["content"], "ab");
  AwaitAllEnded();
}

TEST_F(Recovery, NeitherSpinsNorFloodsTheLogWithoutFileDescriptors) {
  AddWorker();
  StartAll();
  RawClient held(http());
  held.Get("/health");
  ASSERT_EQ(held.Read().status, 200);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  testing::internal::CaptureStderr();
  const int next = dup(0);
  ASSERT_GE(next, 0);
  rlimit full = before;
  full.rlim_cur = static_cast<rlim_t>(next) + 1;  // `next` is the last one
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
  close(next);
  RawClient late(http());  // takes it, so that none is left to accept it with
  const absl::Time start = absl::Now();
  for (int i = 0; i < 500; ++i) {
    held.Get("/health");
    ASSERT_EQ(held.Read().status, 200);
  }
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("Too many open files"), std::string::npos);
  size_t lines = 0;
  for (size_t at = 0; (at = log.find("Too many open files", at)) != std::string::npos; ++at) {
    ++lines;
  }
  EXPECT_LE(static_cast<double>(lines), 2 + seconds / 10);
  late.Get("/health");
  EXPECT_EQ(late.Read().status, 200);
}

}  // namespace
}  // namespace shoal::router
