// SPDX-License-Identifier: Apache-2.0
// GgufBuilder: writes GGUF bytes piece by piece, right or deliberately wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace shoal::testing {

// Value type numbers of the file format.
enum GgufType : uint32_t {
  kGgufUint8 = 0,
  kGgufInt8 = 1,
  kGgufUint16 = 2,
  kGgufInt16 = 3,
  kGgufUint32 = 4,
  kGgufInt32 = 5,
  kGgufFloat32 = 6,
  kGgufBool = 7,
  kGgufString = 8,
  kGgufArray = 9,
  kGgufUint64 = 10,
  kGgufInt64 = 11,
  kGgufFloat64 = 12,
};

// Bytes in the order of the calls. Owned by one thread.
class GgufBuilder {
 public:
  template <typename T>
  GgufBuilder& Put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  GgufBuilder& Text(absl::string_view text) {
    Put<uint64_t>(text.size());
    bytes_.append(text.data(), text.size());
    return *this;
  }
  GgufBuilder& Header(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    bytes_.append("GGUF");
    return Put(version).Put(tensors).Put(keys);
  }
  template <typename T>
  GgufBuilder& Key(absl::string_view key, GgufType type, T value) {
    return Text(key).Put<uint32_t>(type).Put(value);
  }
  GgufBuilder& TextKey(absl::string_view key, absl::string_view value) {
    return Text(key).Put<uint32_t>(kGgufString).Text(value);
  }
  GgufBuilder& ArrayKey(absl::string_view key, GgufType element, uint64_t count) {
    return Text(key).Put<uint32_t>(kGgufArray).Put<uint32_t>(element).Put(count);
  }
  // `dimensions` in the file's order, innermost first.
  GgufBuilder& Tensor(absl::string_view name, const std::vector<int64_t>& dimensions, uint32_t type,
                      int64_t offset) {
    Text(name).Put<uint32_t>(static_cast<uint32_t>(dimensions.size()));
    for (const int64_t length : dimensions) Put(length);
    return Put(type).Put(offset);
  }
  GgufBuilder& Align(size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  GgufBuilder& Data(size_t bytes, char fill = 1) {
    bytes_.append(bytes, fill);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace shoal::testing
