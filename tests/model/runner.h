// SPDX-License-Identifier: Apache-2.0
// Runner: drives a decoder the way a worker does (sequences, block tables, pools), for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "model/decoder.h"

namespace shoal::model::testing {

struct RunnerOptions {
  std::string backend = "cpu";
  int threads = 1;
  DecoderOptions decoder;
  int64_t block_tokens = 16;
  int64_t blocks = 128;
  uint32_t scatter_seed = 0;  // 0: blocks are handed out in order
};

// Float32 activations and KV: what goldens are compared with.
RunnerOptions Float32Options(int64_t max_batch_tokens);

// New tokens of one sequence in a step.
struct Slice {
  int32_t sequence = 0;  // a new number starts a sequence
  std::vector<int32_t> tokens;
  bool all_logits = false;  // else only those of the last token
};

using Row = std::vector<float>;

// Aborts the process with the status when something cannot be opened or run: every use expects
// success. One thread.
class Runner {
 public:
  Runner(const std::string& model_path, const RunnerOptions& options);

  // One Forward over all slices; the logits rows asked for, in order.
  std::vector<Row> Step(const std::vector<Slice>& slices);
  // `tokens` of a new sequence in chunks of `chunk`; the logits of all positions.
  std::vector<Row> Prefill(int32_t sequence, const std::vector<int32_t>& tokens, int64_t chunk);

  const ModelFile& file() const { return *file_; }
  kernels::Backend& backend() { return *backend_; }
  Decoder& decoder() { return *decoder_; }

 private:
  struct Sequence {
    int64_t length = 0;
    std::vector<int32_t> blocks;
  };

  Sequence& Grow(int32_t number, int64_t tokens);

  RunnerOptions options_;
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<parallel::Communicator> group_;
  std::unique_ptr<ModelFile> file_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<std::unique_ptr<kernels::Arena>> pool_bytes_;
  std::vector<kernels::KvPool> pools_;  // one per KV group
  std::vector<int32_t> free_blocks_;    // taken from the back
  std::vector<Sequence> sequences_;
};

// The index of the largest value; ties: the lowest.
int32_t ArgMax(const Row& row);

}  // namespace shoal::model::testing
