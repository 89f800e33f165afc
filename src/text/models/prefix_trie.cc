// SPDX-License-Identifier: Apache-2.0
#include "text/models/prefix_trie.h"

#include <algorithm>

namespace shoal::text {
namespace {

// Entries [begin, end) of the sorted list share their first `depth` bytes: one node.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  size_t depth = 0;
};

}  // namespace

PrefixTrie::PrefixTrie(std::vector<std::pair<absl::string_view, int32_t>> entries) {
  std::sort(entries.begin(), entries.end());
  std::vector<Range> ranges{{.begin = 0, .end = entries.size(), .depth = 0}};
  // Breadth first, so that a node's number is known when its edges are written.
  for (size_t i = 0; i < ranges.size(); ++i) {
    Range range = ranges[i];
    Node node{.first = static_cast<int32_t>(edges_.size())};
    if (range.begin < range.end && entries[range.begin].first.size() == range.depth) {
      node.value = entries[range.begin].second;
      ++range.begin;
    }
    nodes_.push_back(node);
    while (range.begin < range.end) {
      const char byte = entries[range.begin].first[range.depth];
      size_t next = range.begin + 1;
      while (next < range.end && entries[next].first[range.depth] == byte) ++next;
      edges_.push_back(
          {.byte = static_cast<uint8_t>(byte), .node = static_cast<int32_t>(ranges.size())});
      ranges.push_back({.begin = range.begin, .end = next, .depth = range.depth + 1});
      range.begin = next;
    }
  }
  nodes_.push_back({.first = static_cast<int32_t>(edges_.size())});
  std::fill(std::begin(root_), std::end(root_), -1);
  for (int32_t i = nodes_[0].first; i < nodes_[1].first; ++i)
    root_[edges_[i].byte] = edges_[i].node;
}

}  // namespace shoal::text
