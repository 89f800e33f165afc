// SPDX-License-Identifier: Apache-2.0
// A router and its workers inside the test process, made from one point of the matrix.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exactness/requests.h"
#include "router/router.h"
#include "shoal/v1/inference.grpc.pb.h"
#include "worker/worker.h"

namespace shoal::exactness {

enum class Arrival { kAlone, kTogether };

// One way of computing the same answers. Every field is an axis of the matrix.
struct Point {
  std::string isa;  // value of SHOAL_ISA; empty: the best
  int threads = 1;
  int budget = 512;  // engine.max_batch_tokens
  bool prefix_cache = true;
  int plans_in_flight = 2;  // D
  bool tight_pool = false;  // the longest request's blocks + 8
  int replicas = 1;
  Arrival arrival = Arrival::kTogether;

  std::string ToString() const;
};

struct ClusterModel {
  std::string name;
  std::string path;
  std::string activation = "auto";
  int32_t length_max = 0;  // longest prompt plus answer
};

// Loopback only, ports chosen by the system. Owned by one thread.
class Cluster {
 public:
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(const ClusterModel& model,
                                                        const Point& point);
  // Answers in the order of the requests.
  absl::StatusOr<std::vector<Answer>> Run(const std::vector<v1::GenerateRequest>& requests,
                                          Arrival arrival);
  // Waits until the replicas' load reports show a preemption; false when none does in time.
  bool SawPreemption();
  // Drains: OK proves that every request ended once and every KV block is free again.
  absl::Status Stop();

 private:
  Cluster() = default;

  std::vector<std::unique_ptr<worker::Worker>> workers_;
  std::unique_ptr<router::Router> router_;
  std::unique_ptr<v1::Inference::Stub> stub_;
};

}  // namespace shoal::exactness
