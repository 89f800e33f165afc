// SPDX-License-Identifier: Apache-2.0
// Runs prefill and decode of one sequence on command, so that a driver can interleave it with a
// peer that speaks the same protocol (bench/llama_cpp_peer.py):
//   decoder_bench MODEL THREADS
//   stdin   "prefill N" | "decode N M" (M tokens after a prompt of N)
//   stdout  one JSON line a command: {"seconds": wall, "cpu_seconds": of the process, "tokens": n}
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <sstream>

#include "kernels/backend.h"
#include "model/decoder.h"
#include "parallel/communicator.h"

namespace shoal {
namespace {

constexpr int64_t kContext = 2048;
constexpr int64_t kBlockTokens = 16;

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "decoder_bench: %s\n", value.status().ToString().c_str());
    std::exit(1);
  }
  return std::move(value).value();
}

// One sequence of one decoder.
class Bench {
 public:
  Bench(const std::string& path, int threads) {
    backend_ = Must(kernels::CreateBackend("cpu"));
    stream_ = Must(backend_->CreateStream({.threads = threads}));
    file_ = Must(model::OpenModel(path));
    communicator_ = parallel::CreateSingleRankCommunicator();
    model::DecoderOptions options;
    options.max_batch_tokens = 512;
    options.max_logits_rows = 1;
    decoder_ = Must(file_->CreateDecoder(*backend_, *communicator_, options));
    for (const model::KvGroup& group : file_->spec().kv_groups) {
      kernels::KvPool pool;
      pool.layout = {.block_tokens = kBlockTokens,
                     .kv_heads = group.kv_heads,
                     .layers = static_cast<int64_t>(group.layers.size()),
                     .head_dim = group.head_dim,
                     .dtype = options.numerics.kv_dtype};
      pool.blocks = kContext / kBlockTokens;
      arenas_.push_back(Must(backend_->Allocate("kv", pool.blocks * pool.layout.BlockBytes())));
      pool.base = arenas_.back()->data();
      pools_.push_back(pool);
    }
    blocks_.resize(kContext / kBlockTokens);
    std::iota(blocks_.begin(), blocks_.end(), 0);
    std::fprintf(stderr, "%s, %d threads\n", backend_->Describe().c_str(), threads);
  }

  // Runs `count` tokens from `position` on; returns the greedy next token.
  int32_t Run(const std::vector<int32_t>& tokens, int64_t position) {
    std::vector<int32_t> positions(tokens.size());
    std::iota(positions.begin(), positions.end(), static_cast<int32_t>(position));
    const int64_t rows = static_cast<int64_t>(tokens.size());
    std::vector<kernels::AttentionBatch> batches(pools_.size());
    for (kernels::AttentionBatch& batch : batches) {
      batch.rows = rows;
      batch.sequences.push_back(
          {.first_row = 0, .rows = rows, .first_position = position, .block_table = blocks_});
    }
    const std::vector<int32_t> wanted = {static_cast<int32_t>(rows - 1)};
    const kernels::Tensor logits = Must(decoder_->Forward(*stream_, {.tokens = tokens,
                                                                     .positions = positions,
                                                                     .batches = batches,
                                                                     .pools = pools_,
                                                                     .logits_rows = wanted}));
    kernels::SampleRow row;
    row.temperature = 0;
    return backend_->sampling().Sample(*stream_, logits, {&row, 1}).front().token;
  }

  int64_t vocab() const { return file_->spec().vocab_size; }

 private:
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<model::ModelFile> file_;
  std::unique_ptr<parallel::Communicator> communicator_;
  std::unique_ptr<model::Decoder> decoder_;
  std::vector<std::unique_ptr<kernels::Arena>> arenas_;
  std::vector<kernels::KvPool> pools_;
  std::vector<int32_t> blocks_;
};

std::vector<int32_t> Prompt(int64_t count, int64_t vocab) {
  std::vector<int32_t> tokens;
  uint64_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    tokens.push_back(static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocab)));
  }
  return tokens;
}

int Main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: decoder_bench MODEL THREADS\n");
    return 2;
  }
  Bench bench(argv[1], std::atoi(argv[2]));
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string what;
    int64_t prompt = 0;
    int64_t tokens = 0;
    words >> what >> prompt >> tokens;
    const bool decode = what == "decode";
    if ((!decode && what != "prefill") || prompt < 1 || prompt > 512 || tokens < 0 ||
        prompt + tokens > kContext) {
      std::fprintf(stderr, "decoder_bench: cannot run '%s'\n", line.c_str());
      return 1;
    }
    const std::vector<int32_t> input = Prompt(prompt, bench.vocab());
    int32_t next = decode ? bench.Run(input, 0) : 0;
    const double wall = WallSeconds();
    const double cpu = CpuSeconds();
    if (decode) {
      for (int64_t i = 0; i < tokens; ++i) next = bench.Run({next}, prompt + i);
    } else {
      bench.Run(input, 0);
    }
    std::printf("{\"seconds\": %.9f, \"cpu_seconds\": %.6f, \"tokens\": %lld}\n",
                WallSeconds() - wall, CpuSeconds() - cpu,
                static_cast<long long>(decode ? tokens : prompt));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) { return shoal::Main(argc, argv); }
