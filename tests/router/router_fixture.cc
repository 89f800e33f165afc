// SPDX-License-Identifier: Apache-2.0
#include "router/router_fixture.h"

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "shoal/v1/inference.grpc.pb.h"

namespace shoal::router {

void RouterFixture::SetUp() {
  options_.cluster = "test";
  options_.version = "1.2.3";
  options_.router.http = {"127.0.0.1", 0};
  options_.router.grpc = {"127.0.0.1", 0};
  options_.failover = "continue";
  tuning_.health.silence = absl::Hours(1);  // the fake workers speak only when told
  tuning_.health.backoff_first = absl::Milliseconds(5);
  tuning_.health.backoff_max = absl::Milliseconds(50);
}

FakeWorker& RouterFixture::AddWorker(FakeWorkerOptions options) {
  workers_.push_back(std::make_unique<FakeWorker>(options));
  options_.replicas.push_back({absl::StrCat("chat/", workers_.size() - 1),
                               options.model,
                               {"127.0.0.1", workers_.back()->port()}});
  return *workers_.back();
}

void RouterFixture::StartOnly() {
  ServedModels models = {
      {"tiny", std::make_shared<FakeTokenizer>(), std::make_shared<FakeTemplate>()}};
  auto router = StartRouterWithModels(options_, std::move(models), tuning_);
  ASSERT_TRUE(router.ok()) << router.status();
  router_ = *std::move(router);
}

void RouterFixture::StartAll() {
  StartOnly();
  for (auto& worker : workers_) ASSERT_TRUE(worker->AwaitStream());
  AwaitReady(true);
  // Every worker counts, not only the first that is ready.
  const absl::Time give_up = absl::Now() + kPatience;
  auto all = [this] {
    double ready = 0;
    for (size_t i = 0; i < workers_.size(); ++i) {
      ready +=
          Metric(absl::StrCat("shoal_replica_ready{engine=\"chat/", i, "\",model_name=\"tiny\"}"));
    }
    return ready == static_cast<double>(workers_.size());
  };
  while (!all() && absl::Now() < give_up) std::this_thread::yield();
}

void RouterFixture::AwaitReady(bool ready) {
  const absl::Time give_up = absl::Now() + kPatience;
  while (router_->ready() != ready && absl::Now() < give_up) std::this_thread::yield();
  ASSERT_EQ(router_->ready(), ready);
}

std::string RouterFixture::grpc_target() const {
  return absl::StrCat("127.0.0.1:", router_->grpc_endpoint().port);
}

nlohmann::json RouterFixture::Chat() const {
  return {{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}};
}

nlohmann::json RouterFixture::Completion(const std::string& prompt) const {
  return {{"model", "tiny"}, {"prompt", prompt}};
}

double RouterFixture::Metric(const std::string& name) {
  const RawResponse response = FetchGet(http(), "/metrics");
  for (const absl::string_view line : absl::StrSplit(response.body, '\n')) {
    if (absl::StartsWith(line, absl::StrCat(name, " "))) {
      return std::stod(std::string(line.substr(name.size() + 1)));
    }
  }
  return -1;
}

void RouterFixture::AwaitReplica(const FakeWorker& worker, const std::string& state) {
  auto stub = v1::Inference::NewStub(
      grpc::CreateChannel(grpc_target(), grpc::InsecureChannelCredentials()));
  const absl::Time give_up = absl::Now() + kPatience;
  const std::string address = absl::StrCat("127.0.0.1:", worker.port());
  std::string seen;
  while (seen != state && absl::Now() < give_up) {
    grpc::ClientContext context;
    v1::GetClusterStateResponse response;
    const grpc::Status status = stub->GetClusterState(&context, {}, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    for (const v1::ReplicaState& replica : response.replicas()) {
      if (replica.address() == address) seen = replica.state();
    }
  }
  EXPECT_EQ(seen, state);
}

void RouterFixture::AwaitAllEnded() {
  const absl::Time give_up = absl::Now() + kPatience;
  while (Metric("shoal_router_requests_held") != 0 && absl::Now() < give_up) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Metric("shoal_router_requests_held"), 0);
  EXPECT_EQ(Metric("shoal_router_requests_accepted"), Metric("shoal_router_requests_ended"));
}

}  // namespace shoal::router
