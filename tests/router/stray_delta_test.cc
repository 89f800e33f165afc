// SPDX-License-Identifier: Apache-2.0
// Deltas that name a live sequence but do not come from the run that the router waits for.
#include <gtest/gtest.h>

#include "router/router_fixture.h"

namespace shoal::router {
namespace {

constexpr char kChat[] = "/v1/chat/completions";

class StrayDelta : public RouterFixture {
 protected:
  std::string Content(RawClient& client) {
    return client.Read().json()["choices"][0]["message"]["content"];
  }
};

TEST_F(StrayDelta, FromAReplicaThatDoesNotRunTheSequenceIsDropped) {
  FakeWorker& own = AddWorker();
  FakeWorker& other = AddWorker();
  StartAll();
  other.SendLoad([](v1::Load* load) { load->set_draining(true); });
  AwaitReplica(other, "draining");
  RawClient client(http());
  client.Post(kChat, Chat());
  const v1::Submit submit = own.AwaitSubmit();
  other.Emit(submit, {'x'}, v1::FINISH_STOP);
  // The load comes behind the delta, so the router has seen both.
  other.SendLoad([](v1::Load* load) { load->set_draining(false); });
  AwaitReplica(other, "ready");
  own.Emit(submit, {'a', kEos}, v1::FINISH_STOP);
  EXPECT_EQ(Content(client), "a");
  EXPECT_EQ(Metric("shoal_router_dropped_tokens_total"), 1);
}

TEST_F(StrayDelta, OfAnotherAttemptIsDropped) {
  FakeWorker& own = AddWorker();
  StartAll();
  RawClient client(http());
  client.Post(kChat, Chat());
  const v1::Submit submit = own.AwaitSubmit();
  v1::Submit another = submit;
  another.set_attempt(submit.attempt() + 1);
  own.Emit(another, {'x'}, v1::FINISH_STOP);
  own.Emit(submit, {'a', kEos}, v1::FINISH_STOP);
  EXPECT_EQ(Content(client), "a");
  EXPECT_EQ(Metric("shoal_router_dropped_tokens_total"), 1);
}

}  // namespace
}  // namespace shoal::router
