// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace shoal::model {
namespace {

// Llama 3: long waves are slowed by `factor`, short ones kept, those between are blended.
double Llama3Frequency(const RopeSpec& rope, double frequency) {
  const auto original = static_cast<double>(rope.original_context);
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < original / rope.high_freq_factor) return frequency;
  if (wavelength > original / rope.low_freq_factor) return frequency / rope.factor;
  const double smooth = (original / wavelength - rope.low_freq_factor) /
                        (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - smooth) * frequency / rope.factor + smooth * frequency;
}

// YaRN's ramp over pairs: 0 keeps a frequency, 1 slows it by `factor`.
struct Ramp {
  double low = 0;
  double high = 0;
  double At(size_t pair) const {
    const double width = low == high ? 0.001 : high - low;
    return std::clamp((static_cast<double>(pair) - low) / width, 0.0, 1.0);
  }
};

Ramp YarnRamp(const RopeSpec& rope) {
  // The pair whose wave turns `turns` times over the original context.
  const auto pair_of = [&](double turns) {
    const auto theta = static_cast<long double>(rope.theta);
    const auto waves = static_cast<long double>(rope.original_context) /
                       (static_cast<long double>(turns) * 2 * std::numbers::pi_v<long double>);
    return static_cast<double>(static_cast<long double>(rope.rotary_dim) * std::log(waves) /
                               (2 * std::log(theta)));
  };
  double low = pair_of(rope.beta_fast);
  double high = pair_of(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  return {.low = std::max(low, 0.0),
          .high = std::min(high, static_cast<double>(rope.rotary_dim - 1))};
}

double YarnFrequency(const RopeSpec& rope, const Ramp& ramp, size_t pair, double frequency) {
  const double slowed = ramp.At(pair);
  return frequency / rope.factor * slowed + frequency * (1 - slowed);
}

double Scaled(const RopeSpec& rope, size_t pair, double frequency) {
  switch (rope.kind) {
    case RopeKind::kNone:
    case RopeKind::kPlain:
      return frequency;
    case RopeKind::kLinear:
      return frequency / rope.factor;
    case RopeKind::kLlama3:
      return Llama3Frequency(rope, frequency);
    case RopeKind::kYarn:
      return YarnFrequency(rope, YarnRamp(rope), pair, frequency);
  }
  return frequency;
}

}  // namespace

kernels::RopeTable MakeRopeTable(const RopeSpec& rope, bool long_rope) {
  kernels::RopeTable table;
  const std::vector<float>& factors =
      long_rope && !rope.long_freq_factors.empty() ? rope.long_freq_factors : rope.freq_factors;
  table.magnitude = static_cast<float>(rope.magnitude);
  table.style =
      rope.interleaved ? kernels::RopeTable::Style::kInterleaved : kernels::RopeTable::Style::kNeox;
  if (rope.kind == RopeKind::kNone) return table;
  const auto pairs = static_cast<size_t>(rope.rotary_dim / 2);
  table.inv_freq.reserve(pairs);
  for (size_t i = 0; i < pairs; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rope.rotary_dim);
    // In extended precision: libm's double pow differs between CPUs, powl has one code path and
    // its result rounds to the nearest double.
    const auto power = static_cast<double>(
        std::pow(static_cast<long double>(rope.theta), static_cast<long double>(exponent)));
    double frequency = Scaled(rope, i, power);
    if (!factors.empty()) frequency /= static_cast<double>(factors[i]);
    table.inv_freq.push_back(frequency);
  }
  return table;
}

}  // namespace shoal::model
