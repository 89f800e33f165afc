// SPDX-License-Identifier: Apache-2.0
// The table of row kernels that one instruction set provides to the ops. All pointers are set; all
// tables give the same bits under the mode of float_mode.h, which the caller has set.
//
// "Lanes" in the definitions: element i of a row belongs to virtual lane i mod 16; a lane sums its
// elements ascending, then the 16 lanes are added in the tree of ReduceAdd (portable/lanes.h).
// Pointers need no alignment. n >= 1 unless said otherwise.
#pragma once

#include <cstdint>

#include "kernels/cpu/isa.h"

namespace shoal::kernels::cpu {

// Tokens of an attention tile and of a split; absolute positions, part of the numerics contract.
inline constexpr int kTileTokens = 64;
inline constexpr int kSplitTokens = 512;

// Query rows that AttendTile takes at once.
inline constexpr int kAttendRows = 6;

// Running state of one (query row, head): kStateHeader floats, then the accumulator of the current
// split and the total, `padded_dim` floats each.
//   [0] maximum of the split  [1] maximum of the total  [2] sum of the total  [16..32) lanes of the
//   split's sum
inline constexpr int kStateHeader = 32;
constexpr int64_t StateFloats(int64_t padded_dim) { return kStateHeader + 2 * padded_dim; }
// Values of a head are padded to whole vectors in tiles and states.
constexpr int64_t PaddedDim(int64_t head_dim) { return (head_dim + 15) / 16 * 16; }

// One tile against up to kAttendRows rows, every one of which sees at least one key of it.
struct AttendTileArgs {
  const float* keys = nullptr;    // [head_dim][kTileTokens]; unused slots hold any finite value
  const float* values = nullptr;  // [kTileTokens][padded_dim]; unseen slots are not read
  int64_t head_dim = 0;
  int64_t padded_dim = 0;
  float scale = 1;
  float softcap = 0;
  bool alibi = false;
  int rows = 0;
  const float* query[kAttendRows] = {};
  float* state[kAttendRows] = {};
  int begin[kAttendRows] = {};  // row r sees slots [begin, end); begin < end <= kTileTokens
  int end[kAttendRows] = {};
  // With alibi: the row's slope, and the position of slot 0 less the row's, exact in float.
  float slope[kAttendRows] = {};
  float distance[kAttendRows] = {};
};

struct OpKernels {
  // --- element-wise and norms ---
  // exp of x <= 0 (also -inf; below about -87.7 the result is 0).
  void (*exp_row)(const float* x, int64_t n, float* out);
  void (*tanh_row)(const float* x, int64_t n, float* out);
  // s = sum of x^2 in lanes (fma); out = (x * (1 / sqrt(s / n + eps))) * weight. out may be x.
  void (*rms_norm)(const float* x, const float* weight, float eps, int64_t n, float* out);
  // mean = (sum of x in lanes) / n; d = x - mean; s = sum of d^2 in lanes (fma);
  // out = fma(d * (1 / sqrt(s / n + eps)), weight, bias); bias may be null: +0. out may be x.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float eps, int64_t n,
                     float* out);
  // e = exp(-|g|); out = (g * ((g < 0 ? e : 1) / (1 + e))) * up.
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);
  // gelu(g) = g * sigmoid(t), t = (g * 1.59576912) * fma(0.044715 * g, g, 1), sigmoid as in
  // silu_mul.
  // out = gelu(gate) * up.
  void (*gelu_mul)(const float* gate, const float* up, int64_t n, float* out);
  // x = gelu(x).
  void (*gelu)(int64_t n, float* x);
  // x = cap * tanh(x / cap).
  void (*softcap)(float cap, int64_t n, float* x);
  // x = x + y.
  void (*add)(const float* y, int64_t n, float* x);
  // The angle position * inv_freq[i], its cosine and sine and their product with magnitude in
  // double, rounded once to float. cos and sin have room for `pairs` rounded up to 16, the rest 0.
  void (*rope_angles)(const double* inv_freq, int64_t pairs, double position, double magnitude,
                      float* cos, float* sin);
  // a' = fma(b, -sin, a * cos), b' = fma(a, sin, b * cos) with (a, b) = (x[i], x[i + half]) or
  // (x[2i], x[2i + 1]); `pairs` of one head.
  void (*rotate_neox)(const float* cos, const float* sin, int64_t pairs, int64_t half, float* x);
  void (*rotate_interleaved)(const float* cos, const float* sin, int64_t pairs, float* x);

  // --- attention ---
  // Rounds to half: nearest even, saturating at +-65504, NaN kept.
  void (*to_half)(const float* x, int64_t n, uint16_t* out);
  // Fills slots [0, block_tokens) of tile rows (kTileTokens apart) from a span of keys; slots from
  // `valid` on are not read and become 0. `half`: the span holds float16, else float32.
  void (*load_keys)(const void* span, bool half, int64_t head_dim, int block_tokens, int valid,
                    float* tile);
  // Fills `valid` rows of the tile (padded_dim apart, padding 0) from a span of values.
  void (*load_values)(const void* span, bool half, int64_t head_dim, int valid, float* tile);
  // Empties a state, total included.
  void (*reset_state)(int64_t padded_dim, float* state);
  // Per row: s_j = sum over dims ascending of fma(q_d, k_dj, s), from 0; s_j = s_j * scale, with
  // alibi s_j = fma(slope, key - query, s_j); capped as softcap * tanh(s_j / softcap) if set; m' =
  // max(m, all seen s_j); c = exp(m - m'); p_j = exp(s_j - m') (0 where unseen); lane sums l =
  // fma(l, c, p_0..15), + p_16..31, ...; acc = acc * c, then acc = fma(p_j, v_j, acc) over seen
  // keys ascending.
  void (*attend_tile)(const AttendTileArgs& args);
  // Adds the split in `split` to the total in `total` (may be the same state) and empties the
  // split: M' = max(M, m), a = exp(M - M'), b = exp(m - M'), l = the tree over the lanes;
  // L = fma(l, b, L * a); O = fma(acc, b, O * a).
  void (*fold_split)(int64_t padded_dim, float* split, float* total);
  // out = O * (1 / L).
  void (*finish_row)(const float* state, int64_t head_dim, int64_t padded_dim, float* out);

  // --- sampling ---
  // clean = NaN -> -inf, +inf -> the largest float, -0 -> +0; block_max[b] = the maximum of
  // clean[64 b .. 64 b + 63].
  void (*clean_logits)(const float* logits, int64_t n, float* clean, float* block_max);
  // w = exp((x - maximum) * factor); sums[c] = w's lanes and tree over x[1024 c .. 1024 c + 1023].
  // weights may be null.
  void (*exp_sums)(const float* x, int64_t n, float maximum, float factor, float* weights,
                   float* sums);
};

inline constexpr int64_t kMaxBlock = 64;    // logits of one block maximum
inline constexpr int64_t kSumChunk = 1024;  // logits of one partial sum

namespace portable {
const OpKernels& GetOpKernels();
}
namespace avx2 {
const OpKernels& GetOpKernels();
}
namespace avx512 {
const OpKernels& GetOpKernels();
}

// The table for an instruction set (AMX uses AVX-512's).
const OpKernels& OpKernelsFor(Isa isa);

}  // namespace shoal::kernels::cpu
