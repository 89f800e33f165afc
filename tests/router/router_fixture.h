// SPDX-License-Identifier: Apache-2.0
// RouterFixture: a router with fake workers on loopback.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "router/fake_text.h"
#include "router/fake_worker.h"
#include "router/raw_client.h"
#include "router/router.h"
#include "router/start_router.h"

namespace shoal::router {

class RouterFixture : public ::testing::Test {
 protected:
  void SetUp() override;

  // Adds a worker before StartAll.
  FakeWorker& AddWorker(FakeWorkerOptions options = {});
  // Starts the router and waits until it is ready.
  void StartAll();
  void StartOnly();  // without waiting
  void AwaitReady(bool ready);

  int http() const { return router_->http_endpoint().port; }
  std::string grpc_target() const;
  nlohmann::json Chat() const;  // a minimal request body
  nlohmann::json Completion(const std::string& prompt) const;
  // Requests accepted and ended, from /metrics.
  void AwaitAllEnded();
  double Metric(const std::string& name);
  // Waits until the router sees the worker in that state.
  void AwaitReplica(const FakeWorker& worker, const std::string& state);

  RouterOptions options_;
  RouterTuning tuning_;
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  std::unique_ptr<Router> router_;
};

}  // namespace shoal::router
