// SPDX-License-Identifier: Apache-2.0
#include "base/gguf/gguf_parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file_kind.h"
#include "base/gguf/tensor_type.h"
#include "base/status.h"

namespace shoal::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read without byte swaps");

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr int64_t kKeyBytesMax = 65535;
constexpr int64_t kStringBytesMax = int64_t{64} << 20;
constexpr int64_t kDimensionsMax = 4;
constexpr int64_t kAlignmentMin = 8;
constexpr int64_t kAlignmentMax = int64_t{1} << 20;
constexpr int64_t kMetadataBytesMin = 8 + 4 + 1;    // key length, type, the smallest value
constexpr int64_t kTensorBytesMin = 8 + 4 + 4 + 8;  // name length, dimensions, type, offset

// Value type numbers of the file format.
enum : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// Bytes of a scalar in the file (of a string: its length field); 0 for arrays and unknown types.
int64_t BytesMin(uint32_t type) {
  switch (type) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kUint16:
    case kInt16:
      return 2;
    case kUint32:
    case kInt32:
    case kFloat32:
      return 4;
    case kUint64:
    case kInt64:
    case kFloat64:
    case kString:
      return 8;
    default:
      return 0;
  }
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, 200)), "\"");
}

}  // namespace

Parser::Parser(GgufFile* file)
    : file_(file), data_(file->file_->data()), size_(file->file_->size()) {}

absl::Status Parser::Parse() {
  SHOAL_RETURN_IF_ERROR(ParseHeader());
  SHOAL_RETURN_IF_ERROR(ParseMetadata());
  SHOAL_RETURN_IF_ERROR(ParseAlignment());
  SHOAL_RETURN_IF_ERROR(ParseTensors());
  return PlaceTensors();
}

absl::Status Parser::Truncated(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("truncated at byte ", position_, " of ", size_, " while reading ", what));
}

template <typename T>
absl::StatusOr<T> Parser::Read() {
  if (Remaining() < static_cast<int64_t>(sizeof(T))) return Truncated("a number");
  T value;
  std::memcpy(&value, data_ + position_, sizeof(T));
  position_ += sizeof(T);
  return value;
}

absl::StatusOr<std::string> Parser::ReadString(int64_t length_max) {
  SHOAL_ASSIGN_OR_RETURN(const uint64_t length, Read<uint64_t>());
  if (length > static_cast<uint64_t>(length_max)) {
    return absl::InvalidArgumentError(absl::StrCat("a string of ", length, " bytes at byte ",
                                                   position_, ": at most ", length_max));
  }
  if (length > static_cast<uint64_t>(Remaining())) return Truncated("a string");
  std::string text(reinterpret_cast<const char*>(data_ + position_), length);
  position_ += static_cast<int64_t>(length);
  return text;
}

absl::Status Parser::ParseHeader() {
  SHOAL_RETURN_IF_ERROR(RefuseStandIn(data_, size_, "a GGUF file"));
  absl::StatusOr<uint32_t> magic = Read<uint32_t>();
  if (!magic.ok() || *magic != kMagic) {
    return absl::InvalidArgumentError("not a GGUF file: it does not start with \"GGUF\"");
  }
  SHOAL_ASSIGN_OR_RETURN(const uint32_t version, Read<uint32_t>());
  if (version != 2 && version != 3) {
    const bool swapped = version != 0 && (version & 0xffff) == 0;
    return absl::InvalidArgumentError(
        swapped ? std::string("a big-endian GGUF file: convert it to little-endian")
                : absl::StrCat("GGUF version ", version, ": versions 2 and 3 can be read"));
  }
  SHOAL_ASSIGN_OR_RETURN(const uint64_t tensors, Read<uint64_t>());
  SHOAL_ASSIGN_OR_RETURN(const uint64_t keys, Read<uint64_t>());
  if (keys > static_cast<uint64_t>(Remaining() / kMetadataBytesMin)) {
    return absl::InvalidArgumentError(
        absl::StrCat("header promises ", keys, " metadata keys, more than the file can hold"));
  }
  if (tensors > static_cast<uint64_t>(Remaining() / kTensorBytesMin)) {
    return absl::InvalidArgumentError(
        absl::StrCat("header promises ", tensors, " tensors, more than the file can hold"));
  }
  tensor_count_ = static_cast<int64_t>(tensors);
  metadata_count_ = static_cast<int64_t>(keys);
  return absl::OkStatus();
}

absl::Status Parser::ParseMetadata() {
  for (int64_t i = 0; i < metadata_count_; ++i) {
    absl::StatusOr<std::string> key = ReadString(kKeyBytesMax);
    if (!key.ok()) {
      return Annotate(key.status(), absl::StrCat("metadata key ", i, " of ", metadata_count_));
    }
    const std::string where = absl::StrCat("metadata key ", Quoted(*key));
    absl::StatusOr<uint32_t> type = Read<uint32_t>();
    if (!type.ok()) return Annotate(type.status(), where);
    absl::StatusOr<Value> value = ReadValue(*type);
    if (!value.ok()) return Annotate(value.status(), where);
    if (!file_->metadata_.emplace(*std::move(key), *std::move(value)).second) {
      return absl::InvalidArgumentError(absl::StrCat(where, " appears twice"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Parser::ReadValue(uint32_t type) {
  if (type == kArray) return ReadArray();
  return ReadScalar(type);
}

absl::StatusOr<Value> Parser::ReadScalar(uint32_t type) {
  const auto widen = [](auto number) -> absl::StatusOr<Value> {
    if (!number.ok()) return number.status();
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(*number)>>) {
      return Value(static_cast<double>(*number));
    } else {
      return Value(static_cast<int64_t>(*number));
    }
  };
  switch (type) {
    case kUint8:
      return widen(Read<uint8_t>());
    case kInt8:
      return widen(Read<int8_t>());
    case kUint16:
      return widen(Read<uint16_t>());
    case kInt16:
      return widen(Read<int16_t>());
    case kUint32:
      return widen(Read<uint32_t>());
    case kInt32:
      return widen(Read<int32_t>());
    case kInt64:
      return widen(Read<int64_t>());
    case kFloat32:
      return widen(Read<float>());
    case kFloat64:
      return widen(Read<double>());
    case kUint64: {
      SHOAL_ASSIGN_OR_RETURN(const uint64_t number, Read<uint64_t>());
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return absl::InvalidArgumentError(absl::StrCat(number, " does not fit in 63 bits"));
      }
      return Value(static_cast<int64_t>(number));
    }
    case kBool: {
      SHOAL_ASSIGN_OR_RETURN(const uint8_t byte, Read<uint8_t>());
      if (byte > 1) return absl::InvalidArgumentError(absl::StrCat(byte, " is not a bool"));
      return Value(byte == 1);
    }
    case kString: {
      SHOAL_ASSIGN_OR_RETURN(std::string text, ReadString(kStringBytesMax));
      return Value(std::move(text));
    }
    default:
      return absl::InvalidArgumentError(absl::StrCat("unknown value type ", type));
  }
}

absl::StatusOr<Value> Parser::ReadArray() {
  SHOAL_ASSIGN_OR_RETURN(const uint32_t type, Read<uint32_t>());
  SHOAL_ASSIGN_OR_RETURN(const uint64_t count, Read<uint64_t>());
  if (type == kArray) return absl::InvalidArgumentError("lists of lists are not used by models");
  const int64_t element_bytes = BytesMin(type);
  if (element_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat("unknown element type ", type));
  }
  if (count > static_cast<uint64_t>(Remaining() / element_bytes)) {
    return Truncated(absl::StrCat("a list of ", count, " elements"));
  }
  const auto fill = [&](auto list) -> absl::StatusOr<Value> {
    using Element = typename decltype(list)::value_type;
    list.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      absl::StatusOr<Value> element = ReadScalar(type);
      if (!element.ok()) return Annotate(element.status(), absl::StrCat("element ", i));
      list.push_back(std::get<Element>(*std::move(element)));
    }
    return Value(std::move(list));
  };
  if (type == kBool) return fill(std::vector<bool>());
  if (type == kString) return fill(std::vector<std::string>());
  if (type == kFloat32 || type == kFloat64) return fill(std::vector<double>());
  return fill(std::vector<int64_t>());
}

absl::Status Parser::ParseAlignment() {
  if (file_->Find("general.alignment") == nullptr) return absl::OkStatus();
  SHOAL_ASSIGN_OR_RETURN(alignment_, file_->GetInt("general.alignment"));
  if (alignment_ < kAlignmentMin || alignment_ > kAlignmentMax ||
      !std::has_single_bit(static_cast<uint64_t>(alignment_))) {
    return absl::InvalidArgumentError(absl::StrCat("general.alignment ", alignment_,
                                                   " is not a power of two from ", kAlignmentMin,
                                                   " to ", kAlignmentMax));
  }
  return absl::OkStatus();
}

absl::Status Parser::ParseTensors() {
  file_->tensors_.reserve(tensor_count_);
  offsets_.reserve(tensor_count_);
  for (int64_t i = 0; i < tensor_count_; ++i) {
    SHOAL_RETURN_IF_ERROR(Annotate(ParseTensor(), absl::StrCat("tensor ", i)));
  }
  return absl::OkStatus();
}

absl::Status Parser::ParseTensor() {
  TensorInfo tensor;
  SHOAL_ASSIGN_OR_RETURN(tensor.name, ReadString(kKeyBytesMax));
  SHOAL_ASSIGN_OR_RETURN(const uint32_t dimensions, Read<uint32_t>());
  if (dimensions > kDimensionsMax) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(tensor.name), " has ", dimensions,
                                                   " dimensions, at most ", kDimensionsMax));
  }
  for (uint32_t d = 0; d < dimensions; ++d) {
    SHOAL_ASSIGN_OR_RETURN(const int64_t length, Read<int64_t>());
    if (length <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(tensor.name), " has a dimension of ", length));
    }
    tensor.shape.push_back(length);
  }
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  SHOAL_ASSIGN_OR_RETURN(tensor.type, Read<uint32_t>());
  SHOAL_ASSIGN_OR_RETURN(const int64_t offset, Read<int64_t>());
  if (offset < 0 || offset % alignment_ != 0) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(tensor.name), " starts at ", offset,
                                                   ", not a multiple of ", alignment_));
  }
  if (!file_->tensor_index_.emplace(tensor.name, file_->tensors_.size()).second) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(tensor.name), " appears twice"));
  }
  file_->tensors_.push_back(std::move(tensor));
  offsets_.push_back(offset);
  return absl::OkStatus();
}

absl::Status Parser::PlaceTensors() {
  if (tensor_count_ == 0) return absl::OkStatus();
  // The data section starts at the next aligned byte; position_ and alignment_ are both small
  // enough that this cannot wrap.
  const int64_t start = (position_ + alignment_ - 1) / alignment_ * alignment_;
  if (start > size_) return Truncated("the tensor data");
  position_ = start;
  std::vector<size_t> order(offsets_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [this](size_t a, size_t b) { return offsets_[a] < offsets_[b]; });
  const int64_t data_bytes = size_ - start;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t next = i + 1 < order.size() ? offsets_[order[i + 1]] : data_bytes;
    SHOAL_RETURN_IF_ERROR(
        Annotate(PlaceTensor(order[i], next, data_bytes),
                 absl::StrCat("tensor ", Quoted(file_->tensors_[order[i]].name))));
  }
  return absl::OkStatus();
}

absl::Status Parser::PlaceTensor(size_t index, int64_t next_offset, int64_t data_bytes) {
  TensorInfo& tensor = file_->tensors_[index];
  const int64_t offset = offsets_[index];
  if (offset > data_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("starts at ", offset, " of ", data_bytes, " data bytes: truncated file"));
  }
  const std::optional<BlockLayout> layout = LayoutOf(tensor.type);
  if (!layout.has_value()) {
    // Only the directory can tell how long it is; the next tensor may itself lie past the end.
    tensor.bytes = std::min(next_offset, data_bytes) - offset;
  } else {
    const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (row % layout->values != 0) {
      return absl::InvalidArgumentError(absl::StrCat("rows of ", row, " values of ",
                                                     TypeName(tensor.type), ", not a multiple of ",
                                                     layout->values));
    }
    int64_t bytes = layout->bytes;
    bool fits = !__builtin_mul_overflow(bytes, row / layout->values, &bytes);
    for (size_t d = 0; d + 1 < tensor.shape.size(); ++d) {
      fits = fits && !__builtin_mul_overflow(bytes, tensor.shape[d], &bytes);
    }
    if (!fits || bytes > data_bytes - offset) {
      return absl::InvalidArgumentError(absl::StrCat("ends after the file: it starts at ", offset,
                                                     " of ", data_bytes, " data bytes",
                                                     fits ? absl::StrCat(" and has ", bytes) : ""));
    }
    if (offset + bytes > next_offset) {
      return absl::InvalidArgumentError(absl::StrCat("overlaps the tensor at ", next_offset));
    }
    tensor.bytes = bytes;
  }
  if (tensor.bytes > 0) tensor.data = data_ + position_ + offset;
  return absl::OkStatus();
}

}  // namespace shoal::gguf
