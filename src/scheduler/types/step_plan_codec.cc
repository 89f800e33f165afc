// SPDX-License-Identifier: Apache-2.0
#include "scheduler/types/step_plan_codec.h"

#include <xxhash.h>

#include <bit>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shoal::scheduler {
namespace {

constexpr uint32_t kMagic = 0x32504C53;  // "SLP2": format version 2
constexpr size_t kHeaderBytes = 4 + 8;   // magic, digest

// Fewest bytes that one element of each list can take.
constexpr size_t kLogitBiasBytes = 4 + 4;
constexpr size_t kSamplingBytesMin = 4 * 4 + 8 + 4 * 3 + 4 * 3 + 4 + 4 + 4;
constexpr size_t kNewSequenceBytesMin = 8 + 4 + kSamplingBytesMin + 4;
constexpr size_t kAppendedBytesMin = 8 + 4 + 4;
constexpr size_t kSubPlanBytesMin = 4 + 4 + 4;
constexpr size_t kSliceBytesMin = 8 + 4 + 4 + 4 + 1;

constexpr uint8_t kHasInput = 1;
constexpr uint8_t kSample = 2;
constexpr int kLogitsShift = 2;

class Writer {
 public:
  template <typename T>
  void Int(T value) {
    static_assert(std::is_integral_v<T>);
    auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<uint8_t>(bits));
      if constexpr (sizeof(T) > 1) bits >>= 8;
    }
  }
  void Float(float value) { Int(std::bit_cast<uint32_t>(value)); }
  void Length(size_t length) {
    SHOAL_CHECK(length <= std::numeric_limits<uint32_t>::max());
    Int(static_cast<uint32_t>(length));
  }
  void Ints(const std::vector<int32_t>& values) {
    Length(values.size());
    for (int32_t value : values) Int(value);
  }
  // Overwrites 8 bytes already written.
  void PatchUint64(size_t offset, uint64_t value) {
    SHOAL_CHECK(offset + 8 <= bytes_.size());
    for (size_t i = 0; i < 8; ++i) bytes_[offset + i] = static_cast<uint8_t>(value >> (8 * i));
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads in order; after the first failure everything reads as zero and `ok()` is false.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <typename T>
  T Int() {
    if (bytes_.size() < sizeof(T)) {
      Fail("the bytes end early");
      return T{};
    }
    std::make_unsigned_t<T> bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      bits |= static_cast<std::make_unsigned_t<T>>(static_cast<std::make_unsigned_t<T>>(bytes_[i])
                                                   << (8 * i));
    bytes_ = bytes_.subspan(sizeof(T));
    return static_cast<T>(bits);
  }
  float Float() { return std::bit_cast<float>(Int<uint32_t>()); }
  // A list length that fits what remains at `element_bytes` each; 0 after a failure.
  size_t Length(size_t element_bytes) {
    const size_t length = Int<uint32_t>();
    if (length > bytes_.size() / element_bytes) {
      Fail("a list is longer than the bytes that remain");
      return 0;
    }
    return length;
  }
  std::vector<int32_t> Ints() {
    std::vector<int32_t> values(Length(sizeof(int32_t)));
    for (int32_t& value : values) value = Int<int32_t>();
    return values;
  }
  void Require(bool condition, const char* what) {
    if (!condition) Fail(what);
  }
  void Fail(const char* what) {
    if (error_.empty()) error_ = what;
    bytes_ = {};
  }
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  size_t remaining() const { return bytes_.size(); }

 private:
  std::span<const uint8_t> bytes_;
  std::string error_;
};

void WriteSampling(Writer& out, const SamplingParams& sampling) {
  out.Float(sampling.temperature);
  out.Int(sampling.top_k);
  out.Float(sampling.top_p);
  out.Float(sampling.min_p);
  out.Int(sampling.seed);
  out.Int(sampling.choice);
  out.Int(sampling.logprobs);
  out.Int(sampling.prompt_logprobs);
  out.Float(sampling.repetition_penalty);
  out.Float(sampling.presence_penalty);
  out.Float(sampling.frequency_penalty);
  out.Length(sampling.logit_bias.size());
  for (const LogitBias& bias : sampling.logit_bias) {
    out.Int(bias.token);
    out.Float(bias.bias);
  }
  out.Int(sampling.min_tokens);
  out.Ints(sampling.suppressed);
}

SamplingParams ReadSampling(Reader& in) {
  SamplingParams sampling;
  sampling.temperature = in.Float();
  sampling.top_k = in.Int<int32_t>();
  sampling.top_p = in.Float();
  sampling.min_p = in.Float();
  sampling.seed = in.Int<uint64_t>();
  sampling.choice = in.Int<uint32_t>();
  sampling.logprobs = in.Int<int32_t>();
  sampling.prompt_logprobs = in.Int<int32_t>();
  sampling.repetition_penalty = in.Float();
  sampling.presence_penalty = in.Float();
  sampling.frequency_penalty = in.Float();
  sampling.logit_bias.resize(in.Length(kLogitBiasBytes));
  for (LogitBias& bias : sampling.logit_bias) {
    bias.token = in.Int<int32_t>();
    bias.bias = in.Float();
  }
  sampling.min_tokens = in.Int<int32_t>();
  sampling.suppressed = in.Ints();
  return sampling;
}

void WriteSlice(Writer& out, const Slice& slice) {
  out.Int(slice.sequence.value());
  out.Int(slice.first_position);
  out.Int(slice.count);
  out.Int(slice.sample_row);
  out.Int(static_cast<uint8_t>((slice.input.has_value() ? kHasInput : 0) |
                               (slice.sample ? kSample : 0) |
                               (static_cast<uint8_t>(slice.logits) << kLogitsShift)));
  if (!slice.input.has_value()) return;
  out.Int(slice.input->step.value());
  out.Int(slice.input->row);
}

Slice ReadSlice(Reader& in) {
  Slice slice;
  slice.sequence = SequenceId(in.Int<uint64_t>());
  slice.first_position = in.Int<int32_t>();
  slice.count = in.Int<int32_t>();
  slice.sample_row = in.Int<int32_t>();
  const auto flags = in.Int<uint8_t>();
  const int logits = flags >> kLogitsShift;
  slice.sample = (flags & kSample) != 0;
  in.Require(logits <= static_cast<int>(Logits::kAll), "an unknown logits kind");
  in.Require(!in.ok() || slice.count >= 1, "a slice without tokens");
  in.Require(slice.first_position >= 0, "a negative position");
  in.Require(int64_t{slice.first_position} + slice.count <= std::numeric_limits<int32_t>::max(),
             "a position beyond the range");
  in.Require(slice.sample ? slice.sample_row >= 0 : slice.sample_row == -1 || !in.ok(),
             "a sample row that does not match `sample`");
  if (in.ok()) slice.logits = static_cast<Logits>(logits);
  if ((flags & kHasInput) == 0) return slice;
  TokenRef ref;
  ref.step = StepNumber(in.Int<uint64_t>());
  ref.row = in.Int<int32_t>();
  in.Require(slice.count == 1 && ref.row >= 0, "a token reference that cannot be");
  slice.input = ref;
  return slice;
}

void WriteBody(Writer& out, const StepPlan& plan) {
  out.Int(plan.step.value());
  out.Int(plan.placement_version);
  out.Int(plan.dispatcher);
  out.Int(plan.bucket);
  out.Length(plan.removed.size());
  for (SequenceId id : plan.removed) out.Int(id.value());
  out.Length(plan.added.size());
  for (const NewSequence& added : plan.added) {
    out.Int(added.sequence.value());
    out.Int(added.prompt_tokens);
    WriteSampling(out, added.sampling);
    out.Ints(added.tokens);
  }
  out.Length(plan.appended.size());
  for (const AppendedBlocks& appended : plan.appended) {
    out.Int(appended.sequence.value());
    out.Int(appended.group);
    out.Ints(appended.blocks);
  }
  out.Length(plan.sub_plans.size());
  for (const SubPlan& sub_plan : plan.sub_plans) {
    out.Int(sub_plan.data_rank);
    out.Int(sub_plan.micro_batch);
    out.Length(sub_plan.slices.size());
    for (const Slice& slice : sub_plan.slices) WriteSlice(out, slice);
  }
}

NewSequence ReadNewSequence(Reader& in) {
  NewSequence added;
  added.sequence = SequenceId(in.Int<uint64_t>());
  added.prompt_tokens = in.Int<int32_t>();
  added.sampling = ReadSampling(in);
  added.tokens = in.Ints();
  in.Require(
      added.prompt_tokens >= 0 && static_cast<size_t>(added.prompt_tokens) <= added.tokens.size(),
      "a prompt longer than its tokens");
  return added;
}

AppendedBlocks ReadAppended(Reader& in) {
  AppendedBlocks appended;
  appended.sequence = SequenceId(in.Int<uint64_t>());
  appended.group = in.Int<int32_t>();
  appended.blocks = in.Ints();
  in.Require(appended.group >= 0, "a negative group");
  for (BlockId block : appended.blocks) in.Require(block >= 0, "a negative block id");
  return appended;
}

StepPlan ReadBody(Reader& in) {
  StepPlan plan;
  plan.step = StepNumber(in.Int<uint64_t>());
  plan.placement_version = in.Int<int32_t>();
  plan.dispatcher = in.Int<int32_t>();
  plan.bucket = in.Int<int32_t>();
  plan.removed.resize(in.Length(8));
  for (SequenceId& id : plan.removed) id = SequenceId(in.Int<uint64_t>());
  plan.added.resize(in.Length(kNewSequenceBytesMin));
  for (NewSequence& added : plan.added) added = ReadNewSequence(in);
  plan.appended.resize(in.Length(kAppendedBytesMin));
  for (AppendedBlocks& appended : plan.appended) appended = ReadAppended(in);
  plan.sub_plans.resize(in.Length(kSubPlanBytesMin));
  for (SubPlan& sub_plan : plan.sub_plans) {
    sub_plan.data_rank = in.Int<int32_t>();
    sub_plan.micro_batch = in.Int<int32_t>();
    sub_plan.slices.resize(in.Length(kSliceBytesMin));
    for (Slice& slice : sub_plan.slices) slice = ReadSlice(in);
  }
  in.Require(in.remaining() == 0, "bytes after the end");
  return plan;
}

uint64_t HashBytes(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

uint64_t StepPlanDigest(const StepPlan& plan) {
  Writer out;
  WriteBody(out, plan);
  return HashBytes(out.bytes());
}

std::vector<uint8_t> EncodeStepPlan(const StepPlan& plan) {
  Writer out;
  out.Int(kMagic);
  out.Int(uint64_t{0});
  WriteBody(out, plan);
  out.PatchUint64(4, HashBytes(std::span(out.bytes()).subspan(kHeaderBytes)));
  return out.Take();
}

absl::StatusOr<StepPlan> DecodeStepPlan(std::span<const uint8_t> bytes) {
  Reader in(bytes);
  const auto magic = in.Int<uint32_t>();
  const auto digest = in.Int<uint64_t>();
  if (!in.ok() || magic != kMagic)
    return absl::DataLossError(
        absl::StrCat("step plan of ", bytes.size(), " bytes does not start with its format mark ",
                     kMagic, " but with ", magic, ": ranks must run the same version"));
  const uint64_t actual = HashBytes(bytes.subspan(kHeaderBytes));
  if (actual != digest)
    return absl::DataLossError(absl::StrCat("step plan of ", bytes.size(), " bytes has digest ",
                                            actual, " but says ", digest));
  StepPlan plan = ReadBody(in);
  if (!in.ok())
    return absl::DataLossError(absl::StrCat("step plan ", plan.step.value(), " of ", bytes.size(),
                                            " bytes is malformed: ", in.error()));
  plan.digest = digest;
  return plan;
}

}  // namespace shoal::scheduler
