// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/rope_table.h"

#include <cmath>
#include <numbers>

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

double Scaled(const RopeSpec& rope, double frequency) {
  switch (rope.kind) {
    case RopeKind::kNone:
    case RopeKind::kPlain:
      return frequency;
    case RopeKind::kLinear:
      return frequency / rope.factor;
    case RopeKind::kLlama3:
      return Llama3Frequency(rope, frequency);
  }
  return frequency;
}

}  // namespace

kernels::RopeTable MakeRopeTable(const RopeSpec& rope) {
  kernels::RopeTable table;
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
    double frequency = Scaled(rope, power);
    if (!rope.freq_factors.empty()) frequency /= static_cast<double>(rope.freq_factors[i]);
    table.inv_freq.push_back(frequency);
  }
  return table;
}

}  // namespace shoal::model
