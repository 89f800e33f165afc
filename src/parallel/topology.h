// SPDX-License-Identifier: Apache-2.0
// Topology: where a rank stands in a replica of pipeline x data x tensor ranks.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace shoal::parallel {

struct Layout {
  int32_t tensor = 1;
  int32_t pipeline = 1;
  int32_t data = 1;
  int32_t world() const { return tensor * pipeline * data; }
};

// Rank r = (stage * data + data_rank) * tensor + tensor_rank: tensor ranks are neighbours.
class Topology {
 public:
  Topology(Layout layout, int32_t rank) : layout_(layout), rank_(rank) {}

  const Layout& layout() const { return layout_; }
  int32_t rank() const { return rank_; }
  int32_t tensor_rank() const { return rank_ % layout_.tensor; }
  int32_t data_rank() const { return rank_ / layout_.tensor % layout_.data; }
  int32_t stage() const { return rank_ / (layout_.tensor * layout_.data); }
  bool first_stage() const { return stage() == 0; }
  bool last_stage() const { return stage() == layout_.pipeline - 1; }
  bool leader() const { return rank_ == 0; }

 private:
  Layout layout_;
  int32_t rank_;
};

}  // namespace shoal::parallel
