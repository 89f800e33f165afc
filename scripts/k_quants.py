# SPDX-License-Identifier: Apache-2.0
"""A small quantiser for Q4_K, Q5_K and Q6_K: round to nearest within each group, for goldens only.

The scale and minimum of a block are powers of two, so that their products with a group's factors
are exact in float16, to which Shoal rounds them: the golden's weights and Shoal's are the same.
Every block is checked against the gguf package's own dequantiser, and its error against the step.
"""

import gguf
import numpy as np

BLOCK = 256


def power_of_two_above(value, least=-24):
    """The smallest power of two that is not below each value, 2^least at least."""
    exponent = np.ceil(np.log2(np.maximum(value, 2.0 ** least)))
    return np.exp2(exponent).astype(np.float32)


def pack_six_bits(scales, minimums):
    """[blocks, 8] factors below 64 each -> [blocks, 12] bytes."""
    packed = np.zeros((len(scales), 12), np.uint8)
    packed[:, 0:4] = scales[:, :4] | (scales[:, 4:] >> 4) << 6
    packed[:, 4:8] = minimums[:, :4] | (minimums[:, 4:] >> 4) << 6
    packed[:, 8:12] = (scales[:, 4:] & 15) | (minimums[:, 4:] & 15) << 4
    return packed


def quantise_four_or_five(blocks, bits):
    """[blocks, 256] float32 -> bytes: w = d * scale * q - dmin * minimum, groups of 32."""
    groups = blocks.reshape(-1, 8, 32)
    levels = (1 << bits) - 1
    low = np.minimum(groups.min(-1), 0)
    step = (groups.max(-1) - low) / levels
    d = power_of_two_above(step.max(-1, keepdims=True) / 63)
    dmin = power_of_two_above(-low.min(-1, keepdims=True) / 63)
    scales = np.clip(np.ceil(step / d), 1, 63).astype(np.uint8)
    minimums = np.clip(np.rint(-low / dmin), 0, 63).astype(np.uint8)
    shifted = groups + (dmin * minimums)[..., None]
    q = np.clip(np.rint(shifted / (d * scales)[..., None]), 0, levels).astype(np.uint8)
    pairs = q.reshape(-1, 4, 2, 32)
    nibbles = (pairs[:, :, 0] & 15) | (pairs[:, :, 1] & 15) << 4
    parts = [d.astype(np.float16).view(np.uint8), dmin.astype(np.float16).view(np.uint8),
             pack_six_bits(scales, minimums)]
    if bits == 5:
        fifth = ((q >> 4) << np.arange(8, dtype=np.uint8)[:, None]).sum(1, dtype=np.uint8)
        parts.append(fifth)
    parts.append(nibbles.reshape(len(blocks), -1))
    return np.concatenate(parts, axis=1)


def quantise_six(blocks):
    """[blocks, 256] float32 -> bytes: w = d * scale * (q - 32), groups of 16."""
    groups = blocks.reshape(-1, 16, 16)
    step = np.abs(groups).max(-1) / 31
    d = power_of_two_above(step.max(-1, keepdims=True) / 127)
    scales = np.clip(np.ceil(step / d), 1, 127).astype(np.int8)
    q = np.rint(groups / (d * scales)[..., None]) + 32
    q = np.clip(q, 0, 63).astype(np.uint8).reshape(-1, 2, 4, 32)  # halves, runs of 32
    nibbles = np.stack([(q[:, :, 0] & 15) | (q[:, :, 2] & 15) << 4,
                        (q[:, :, 1] & 15) | (q[:, :, 3] & 15) << 4], axis=2)
    upper = sum((q[:, :, run] >> 4) << (2 * run) for run in range(4)).astype(np.uint8)
    return np.concatenate([nibbles.reshape(len(blocks), -1), upper.reshape(len(blocks), -1),
                           scales.view(np.uint8), d.astype(np.float16).view(np.uint8)], axis=1)


def quantise(rows, kind):
    """[rows, cols] float32, cols a multiple of 256 -> [rows, bytes] uint8."""
    assert rows.shape[1] % BLOCK == 0, rows.shape
    blocks = rows.astype(np.float32).reshape(-1, BLOCK)
    if kind == gguf.GGMLQuantizationType.Q6_K:
        data, tolerance = quantise_six(blocks), 1 / 31
    else:
        bits = 4 if kind == gguf.GGMLQuantizationType.Q4_K else 5
        data, tolerance = quantise_four_or_five(blocks, bits), 2.2 / ((1 << bits) - 1)
    data = np.ascontiguousarray(data).reshape(len(rows), -1)
    back = gguf.quants.dequantize(data, kind).reshape(rows.shape)
    error = np.abs(back - rows).max() / np.abs(rows).max()
    assert error <= tolerance, (kind, error)
    return data
