// SPDX-License-Identifier: Apache-2.0
// Metrics: counters, gauges and histograms with labels, and their Prometheus text.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace shoal::metrics {

using Labels = std::map<std::string, std::string>;

// Handles of one series each. Cheap to copy; thread-safe; valid as long as their registry.
class Counter {
 public:
  void Increment(double by = 1);  // by >= 0
  double value() const;

 private:
  friend class Registry;
  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  void Set(double value);
  void Add(double by);  // may be negative
  double value() const;

 private:
  friend class Registry;
  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  void Observe(double value);

 private:
  friend class Registry;
  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}
  prometheus::Histogram* histogram_;
};

// Bucket edges that dashboards of other engines use too; in seconds, and in tokens.
std::span<const double> FirstTokenEdges();
std::span<const double> InterTokenEdges();
std::span<const double> RequestLatencyEdges();
std::span<const double> TokenCountEdges();

// Thread-safe. Asking again for a name with the same labels gives the same series. A name keeps
// its kind and its label names are valid: anything else is our own bug and checked. At most
// kSeriesMax series are exposed; further ones count into one that is not.
class Registry {
 public:
  static constexpr int kSeriesMax = 10'000;

  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  Counter GetCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge GetGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // The first call for a series sets its edges (increasing).
  Histogram GetHistogram(const std::string& name, const std::string& help,
                         std::span<const double> edges, const Labels& labels = {});

  // The exposition in Prometheus' text format 0.0.4, families by name.
  std::string Text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shoal::metrics
