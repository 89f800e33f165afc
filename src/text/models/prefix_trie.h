// SPDX-License-Identifier: Apache-2.0
// PrefixTrie: all known spellings that a text begins with, in one walk over its bytes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace shoal::text {

// Immutable after construction, safe from any thread.
class PrefixTrie {
 public:
  static constexpr int32_t kRoot = 0;

  // Spellings must not be empty nor repeat. They are copied.
  explicit PrefixTrie(std::vector<std::pair<absl::string_view, int32_t>> entries);

  // The node after `byte`; -1: no spelling goes on so.
  int32_t Step(int32_t node, uint8_t byte) const {
    if (node == kRoot) return root_[byte];
    int32_t low = nodes_[node].first;
    int32_t high = nodes_[node + 1].first;
    while (low < high) {
      const int32_t middle = (low + high) / 2;
      if (edges_[middle].byte == byte) return edges_[middle].node;
      if (edges_[middle].byte < byte) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return -1;
  }
  // The value of the spelling that ends at `node`; -1: none does.
  int32_t ValueAt(int32_t node) const { return nodes_[node].value; }

 private:
  struct Node {
    int32_t first = 0;  // its edges end where those of the next node begin
    int32_t value = -1;
  };
  struct Edge {
    uint8_t byte = 0;
    int32_t node = 0;
  };

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  int32_t root_[256];
};

}  // namespace shoal::text
