// SPDX-License-Identifier: Apache-2.0
// Parser: fills a GgufFile from its mapped bytes. Every count, length and offset is compared with
// what is left of the file before it is used, so memory stays within a small multiple of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/gguf/gguf_file.h"

namespace shoal::gguf {

// Used once, by one thread. `file` outlives it; errors are INVALID_ARGUMENT without the path.
class Parser {
 public:
  explicit Parser(GgufFile* file);
  absl::Status Parse();

 private:
  absl::Status ParseHeader();
  absl::Status ParseMetadata();
  absl::Status ParseAlignment();
  absl::Status ParseTensors();
  absl::Status ParseTensor();
  absl::Status PlaceTensors();
  absl::Status PlaceTensor(size_t index, int64_t next_offset, int64_t data_bytes);

  absl::StatusOr<Value> ReadValue(uint32_t type);
  absl::StatusOr<Value> ReadScalar(uint32_t type);
  absl::StatusOr<Value> ReadArray();
  absl::StatusOr<std::string> ReadString(int64_t length_max);

  // Little-endian scalars of the file.
  template <typename T>
  absl::StatusOr<T> Read();
  absl::Status Truncated(absl::string_view what) const;
  int64_t Remaining() const { return size_ - position_; }

  GgufFile* const file_;
  const uint8_t* const data_;
  const int64_t size_;
  int64_t position_ = 0;
  int64_t metadata_count_ = 0;
  int64_t tensor_count_ = 0;
  int64_t alignment_ = 32;
  std::vector<int64_t> offsets_;  // per tensor, relative to the data section
};

}  // namespace shoal::gguf
