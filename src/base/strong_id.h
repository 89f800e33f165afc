// SPDX-License-Identifier: Apache-2.0
// Integer ids of different meaning that do not convert into each other.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <utility>

namespace shoal {

// A value type; ordered, hashable by std and absl. `Tag` only separates the types.
template <typename Tag, typename Rep = uint64_t>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
  template <typename H>
  friend H AbslHashValue(H state, StrongId id) {
    return H::combine(std::move(state), id.value_);
  }

 private:
  Rep value_{};
};

}  // namespace shoal

template <typename Tag, typename Rep>
struct std::hash<shoal::StrongId<Tag, Rep>> {
  size_t operator()(shoal::StrongId<Tag, Rep> id) const { return std::hash<Rep>{}(id.value()); }
};
