// SPDX-License-Identifier: Apache-2.0
#include "app/bench/workload.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/philox.h"
#include "base/status.h"

namespace shoal::app {
namespace {

constexpr int64_t kTokensMax = 1 << 22;

// Independent streams of random numbers, each addressed by an index.
enum class Stream : uint32_t { kGap, kPromptLength, kOutputLength, kToken, kPrefixToken };

class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}

  // Uniform in [0, 1).
  double Uniform(Stream stream, uint64_t request, uint64_t index = 0) const {
    const auto random =
        Philox4x32({static_cast<uint32_t>(index), static_cast<uint32_t>(stream),
                    static_cast<uint32_t>(request), static_cast<uint32_t>(request >> 32)},
                   {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    return static_cast<double>(random[0]) * 0x1p-32;
  }
  int64_t Between(int64_t low, int64_t high, Stream stream, uint64_t request,
                  uint64_t index = 0) const {
    const double width = static_cast<double>(high - low + 1);
    return low + static_cast<int64_t>(Uniform(stream, request, index) * width);
  }

 private:
  const uint64_t seed_;
};

absl::Status CheckRange(const char* what, const LengthRange& range, int64_t least) {
  if (range.min >= least && range.min <= range.max && range.max <= kTokensMax) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(what, " of ", range.min, " to ", range.max,
                                                 " tokens is outside [", least, ", ", kTokensMax,
                                                 "]"));
}

absl::Status CheckOptions(const WorkloadOptions& options) {
  SHOAL_RETURN_IF_ERROR(CheckRange("a prompt", options.prompt, 1));
  SHOAL_RETURN_IF_ERROR(CheckRange("an output", options.output, 1));
  if (options.requests < 1 || options.warmup < 0 || options.warmup >= options.requests) {
    return absl::InvalidArgumentError(absl::StrCat(options.requests, " requests with ",
                                                   options.warmup, " to warm up leave nothing"));
  }
  if (options.first_token < 0 || options.end_token <= options.first_token) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token range ", options.first_token, ":", options.end_token, " is empty"));
  }
  const bool open =
      options.arrivals == Arrivals::kPoisson || options.arrivals == Arrivals::kUniform;
  if (open && !(options.rate > 0)) {
    return absl::InvalidArgumentError("an open loop needs a rate above 0");
  }
  if (options.shared_prefix < 0 || options.prefix_groups < 1) {
    return absl::InvalidArgumentError("a shared prefix needs a length and at least one group");
  }
  return absl::OkStatus();
}

// Seconds between request i - 1 and request i.
double Gap(const WorkloadOptions& options, const Draws& draws, int64_t i) {
  switch (options.arrivals) {
    case Arrivals::kPoisson:
      return -std::log1p(-draws.Uniform(Stream::kGap, static_cast<uint64_t>(i))) / options.rate;
    case Arrivals::kUniform:
      return 1 / options.rate;
    default:
      return 0;
  }
}

std::vector<int32_t> MakePrompt(const WorkloadOptions& options, const Draws& draws, int64_t i,
                                int64_t length) {
  std::vector<int32_t> prompt;
  prompt.reserve(static_cast<size_t>(length));
  const int64_t shared = std::min(options.shared_prefix, length);
  for (int64_t k = 0; k < length; ++k) {
    const bool prefix = k < shared;
    prompt.push_back(static_cast<int32_t>(draws.Between(
        options.first_token, options.end_token - 1, prefix ? Stream::kPrefixToken : Stream::kToken,
        static_cast<uint64_t>(prefix ? i % options.prefix_groups : i), static_cast<uint64_t>(k))));
  }
  return prompt;
}

}  // namespace

absl::StatusOr<std::vector<TraceRow>> ParseTrace(absl::string_view text) {
  std::vector<TraceRow> rows;
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty() || line == "\r") continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
    TraceRow row;
    const bool good = fields.size() == 3 && absl::SimpleAtod(fields[0], &row.start) &&
                      absl::SimpleAtoi(fields[1], &row.prompt) &&
                      absl::SimpleAtoi(fields[2], &row.output) && std::isfinite(row.start) &&
                      row.start >= (rows.empty() ? 0 : rows.back().start) && row.prompt >= 1 &&
                      row.prompt <= kTokensMax && row.output >= 1 && row.output <= kTokensMax;
    if (good) {
      rows.push_back(row);
      continue;
    }
    double ignored = 0;
    const bool names = number == 1 && !absl::SimpleAtod(fields[0], &ignored);
    if (names) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("line ", number,
                     " is not `arrival_seconds,prompt_tokens,output_tokens` with ascending "
                     "arrivals and lengths of at least 1"));
  }
  if (rows.empty()) return absl::InvalidArgumentError("there is no request in it");
  return rows;
}

absl::StatusOr<std::vector<PlannedRequest>> PlanWorkload(const WorkloadOptions& options,
                                                         const std::vector<TraceRow>& trace) {
  WorkloadOptions checked = options;
  if (options.arrivals == Arrivals::kTrace) checked.requests = static_cast<int64_t>(trace.size());
  SHOAL_RETURN_IF_ERROR(CheckOptions(checked));
  const Draws draws(checked.seed);
  std::vector<PlannedRequest> requests;
  double start = 0;
  for (int64_t i = 0; i < checked.requests; ++i) {
    const auto key = static_cast<uint64_t>(i);
    PlannedRequest request;
    int64_t length =
        draws.Between(checked.prompt.min, checked.prompt.max, Stream::kPromptLength, key);
    request.output =
        draws.Between(checked.output.min, checked.output.max, Stream::kOutputLength, key);
    if (checked.arrivals == Arrivals::kTrace) {
      const TraceRow& row = trace[static_cast<size_t>(i)];
      start = row.start;
      length = row.prompt;
      request.output = row.output;
    } else if (i > 0) {
      start += Gap(checked, draws, i);
    }
    request.start = start;
    request.prompt = MakePrompt(checked, draws, i, length);
    request.seed = checked.seed + key;
    request.counted = i >= checked.warmup;
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace shoal::app
