// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/check.h"
#include "base/log.h"
#include "base/mutex.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"

namespace shoal::metrics {
namespace {

constexpr std::array kFirstToken = {0.001, 0.005, 0.01, 0.02,  0.04,  0.06,  0.08, 0.1,
                                    0.25,  0.5,   0.75, 1.0,   2.5,   5.0,   7.5,  10.0,
                                    20.0,  40.0,  80.0, 160.0, 640.0, 2560.0};
constexpr std::array kInterToken = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                                    0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
constexpr std::array kRequestLatency = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,
                                        5.0,  10.0,  15.0,  20.0,  30.0,  40.0,   50.0,
                                        60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
constexpr std::array kTokenCount = {1.0,    2.0,    5.0,    10.0, 20.0, 50.0, 100.0, 200.0, 500.0,
                                    1000.0, 2000.0, 5000.0, 1e4,  2e4,  5e4,  1e5,   2e5,   5e5};

}  // namespace

struct Registry::State {
  // Whether a series may be exposed: it is known already, or there is room.
  bool Admit(const std::string& name, const Labels& labels) {
    MutexLock lock(&mutex);
    const std::pair<std::string, Labels> key(name, labels);
    if (series.contains(key)) return true;
    if (series.size() >= kSeriesMax) return false;
    series.insert(key);
    return true;
  }

  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
  prometheus::Counter hidden_counter;
  prometheus::Gauge hidden_gauge;
  prometheus::Histogram hidden_histogram{{}};
  Mutex mutex;
  std::set<std::pair<std::string, Labels>> series ABSL_GUARDED_BY(mutex);
};

namespace {

// The library throws on a name or label that is not valid, or of another kind: our own bug.
template <typename Series, typename Builder, typename... Args>
Series* Register(Builder builder, prometheus::Registry& registry, const std::string& name,
                 const std::string& help, const Labels& labels, Args&&... args) {
  try {
    return &builder.Name(name).Help(help).Register(registry).Add(labels,
                                                                 std::forward<Args>(args)...);
  } catch (const std::exception& error) {
    log::Error("metric {}: {}", name, error.what());
  }
  SHOAL_CHECK(false && "a metric's name, labels or kind");
  return nullptr;
}

}  // namespace

void Counter::Increment(double by) { counter_->Increment(by); }
double Counter::value() const { return counter_->Value(); }
void Gauge::Set(double value) { gauge_->Set(value); }
void Gauge::Add(double by) { gauge_->Increment(by); }
double Gauge::value() const { return gauge_->Value(); }
void Histogram::Observe(double value) { histogram_->Observe(value); }

std::span<const double> FirstTokenEdges() { return kFirstToken; }
std::span<const double> InterTokenEdges() { return kInterToken; }
std::span<const double> RequestLatencyEdges() { return kRequestLatency; }
std::span<const double> TokenCountEdges() { return kTokenCount; }

Registry::Registry() : state_(std::make_unique<State>()) {}
Registry::~Registry() = default;

Counter Registry::GetCounter(const std::string& name, const std::string& help,
                             const Labels& labels) {
  if (!state_->Admit(name, labels)) return Counter(&state_->hidden_counter);
  return Counter(Register<prometheus::Counter>(prometheus::BuildCounter(), state_->registry, name,
                                               help, labels));
}

Gauge Registry::GetGauge(const std::string& name, const std::string& help, const Labels& labels) {
  if (!state_->Admit(name, labels)) return Gauge(&state_->hidden_gauge);
  return Gauge(
      Register<prometheus::Gauge>(prometheus::BuildGauge(), state_->registry, name, help, labels));
}

Histogram Registry::GetHistogram(const std::string& name, const std::string& help,
                                 std::span<const double> edges, const Labels& labels) {
  if (!state_->Admit(name, labels)) return Histogram(&state_->hidden_histogram);
  return Histogram(Register<prometheus::Histogram>(
      prometheus::BuildHistogram(), state_->registry, name, help, labels,
      prometheus::Histogram::BucketBoundaries(edges.begin(), edges.end())));
}

std::string Registry::Text() const {
  std::vector<prometheus::MetricFamily> families = state_->registry.Collect();
  std::stable_sort(families.begin(), families.end(),
                   [](const prometheus::MetricFamily& a, const prometheus::MetricFamily& b) {
                     return a.name < b.name;
                   });
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace shoal::metrics
