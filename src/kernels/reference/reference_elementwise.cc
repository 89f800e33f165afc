// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "kernels/reference/reference_ops.h"

namespace shoal::kernels::reference {
namespace {

void NormalizeRow(const float* x, std::span<const float> weight, float eps, float* out) {
  double sum = 0;
  for (size_t i = 0; i < weight.size(); ++i) sum += double{x[i]} * double{x[i]};
  const double mean = sum / static_cast<double>(weight.size());
  const double scale = 1.0 / std::sqrt(mean + double{eps});
  for (size_t i = 0; i < weight.size(); ++i) {
    out[i] = static_cast<float>(double{x[i]} * scale * double{weight[i]});
  }
}

double GeluTanh(double g) {
  const double t = std::sqrt(2.0 / std::numbers::pi) * (g + 0.044715 * g * g * g);
  return 0.5 * g * (1.0 + std::tanh(t));
}

void RotateHead(const RopeTable& table, double position, float* head) {
  const size_t pairs = table.inv_freq.size();
  const bool neox = table.style == RopeTable::Style::kNeox;
  for (size_t i = 0; i < pairs; ++i) {
    const double angle = position * table.inv_freq[i];
    const double c = std::cos(angle) * double{table.magnitude};
    const double s = std::sin(angle) * double{table.magnitude};
    float& a = head[neox ? i : 2 * i];
    float& b = head[neox ? i + pairs : 2 * i + 1];
    const double x = double{a};
    const double y = double{b};
    a = static_cast<float>(x * c - y * s);
    b = static_cast<float>(x * s + y * c);
  }
}

}  // namespace

void RmsNorm(const Tensor& x, std::span<const float> weight, float eps, const Tensor& out) {
  SHOAL_CHECK(x.dim(1) == static_cast<int64_t>(weight.size()));
  HeadRmsNorm(x, weight, eps, out);
}

void LayerNorm(const Tensor& x, std::span<const float> weight, std::span<const float> bias,
               float eps, const Tensor& out) {
  const auto n = static_cast<int64_t>(weight.size());
  SHOAL_CHECK(x.dim(1) == n);
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const float* in = x.Row<float>(row);
    double mean = 0;
    for (int64_t i = 0; i < n; ++i) mean += double{in[i]};
    mean /= static_cast<double>(n);
    double variance = 0;
    for (int64_t i = 0; i < n; ++i) variance += (double{in[i]} - mean) * (double{in[i]} - mean);
    variance /= static_cast<double>(n);
    const double scale = 1.0 / std::sqrt(variance + double{eps});
    for (int64_t i = 0; i < n; ++i) {
      const auto index = static_cast<size_t>(i);
      const double shift = bias.empty() ? 0.0 : double{bias[index]};
      out.Row<float>(row)[i] =
          static_cast<float>((double{in[i]} - mean) * scale * double{weight[index]} + shift);
    }
  }
}

void HeadRmsNorm(const Tensor& x, std::span<const float> weight, float eps, const Tensor& out) {
  const auto width = static_cast<int64_t>(weight.size());
  SHOAL_CHECK(width > 0 && x.dim(1) % width == 0);
  for (int64_t row = 0; row < x.dim(0); ++row) {
    for (int64_t begin = 0; begin < x.dim(1); begin += width) {
      NormalizeRow(x.Row<float>(row) + begin, weight, eps, out.Row<float>(row) + begin);
    }
  }
}

void Rope(const RopeTable& table, std::span<const int32_t> positions, int64_t head_dim,
          const Tensor& x) {
  SHOAL_CHECK(static_cast<int64_t>(2 * table.inv_freq.size()) <= head_dim);
  for (int64_t row = 0; row < x.dim(0); ++row) {
    for (int64_t begin = 0; begin < x.dim(1); begin += head_dim) {
      RotateHead(table, static_cast<double>(positions[static_cast<size_t>(row)]),
                 x.Row<float>(row) + begin);
    }
  }
}

void SiluMul(const Tensor& gate_up, const Tensor& out) {
  const int64_t n = out.dim(1);
  for (int64_t row = 0; row < out.dim(0); ++row) {
    const float* gate = gate_up.Row<float>(row);
    for (int64_t i = 0; i < n; ++i) {
      const double g = double{gate[i]};
      out.Row<float>(row)[i] = static_cast<float>(g / (1.0 + std::exp(-g)) * double{gate[n + i]});
    }
  }
}

void GeluMul(const Tensor& gate_up, const Tensor& out) {
  const int64_t n = out.dim(1);
  for (int64_t row = 0; row < out.dim(0); ++row) {
    const float* gate = gate_up.Row<float>(row);
    for (int64_t i = 0; i < n; ++i) {
      out.Row<float>(row)[i] = static_cast<float>(GeluTanh(double{gate[i]}) * double{gate[n + i]});
    }
  }
}

void Gelu(const Tensor& x) {
  for (int64_t row = 0; row < x.dim(0); ++row) {
    for (int64_t i = 0; i < x.dim(1); ++i) {
      float& value = x.Row<float>(row)[i];
      value = static_cast<float>(GeluTanh(double{value}));
    }
  }
}

void Softcap(float cap, const Tensor& x) {
  for (int64_t row = 0; row < x.dim(0); ++row) {
    for (int64_t i = 0; i < x.dim(1); ++i) {
      float& value = x.Row<float>(row)[i];
      value = static_cast<float>(double{cap} * std::tanh(double{value} / double{cap}));
    }
  }
}

void Add(const Tensor& y, const Tensor& x) {
  for (int64_t row = 0; row < x.dim(0); ++row) {
    for (int64_t i = 0; i < x.dim(1); ++i) x.Row<float>(row)[i] += y.Row<float>(row)[i];
  }
}

void GatherRows(const Tensor& x, std::span<const int32_t> rows, const Tensor& out) {
  for (int64_t i = 0; i < out.dim(0); ++i) {
    std::copy_n(x.Row<float>(rows[static_cast<size_t>(i)]), x.dim(1), out.Row<float>(i));
  }
}

}  // namespace shoal::kernels::reference
