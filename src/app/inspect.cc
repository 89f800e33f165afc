// SPDX-License-Identifier: Apache-2.0
// `shoal inspect`: what a model file holds.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "app/commands.h"
#include "base/status.h"
#include "model/decoder.h"
#include "nlohmann/json.hpp"

namespace shoal::app {
namespace {

using nlohmann::json;

constexpr int64_t kHalfBytes = 2;
constexpr int64_t kFloatBytes = 4;

const char* Name(model::RopeKind kind) {
  switch (kind) {
    case model::RopeKind::kNone:
      return "none";
    case model::RopeKind::kPlain:
      return "plain";
    case model::RopeKind::kLinear:
      return "linear";
    case model::RopeKind::kLlama3:
      return "llama3";
    case model::RopeKind::kYarn:
      return "yarn";
  }
  return "?";
}

int64_t TotalBytes(const model::ModelFile& file) {
  int64_t total = 0;
  for (const auto& tensor : file.tensors()) total += tensor.bytes;
  return total;
}

int64_t TotalParameters(const model::ModelFile& file) {
  int64_t total = 0;
  for (const auto& tensor : file.tensors()) {
    int64_t elements = 1;
    for (const int64_t dim : tensor.shape) elements *= dim;
    total += elements;
  }
  return total;
}

json ToJson(const model::ModelFile& file) {
  const model::ModelSpec& spec = file.spec();
  const model::AttentionSpec& attention = spec.layers.front().attention;
  json tensors = json::array();
  for (const auto& tensor : file.tensors()) {
    tensors.push_back({{"name", tensor.name},
                       {"type", tensor.type},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes}});
  }
  return {{"family", spec.family},
          {"name", spec.name},
          {"parameters", TotalParameters(file)},
          {"bytes", TotalBytes(file)},
          {"weights_digest", file.weights_digest()},
          {"layers", spec.layers.size()},
          {"hidden", spec.hidden},
          {"query_heads", attention.query_heads},
          {"kv_heads", attention.kv_heads},
          {"head_dim", attention.head_dim},
          {"intermediate", spec.layers.front().mlp.intermediate},
          {"vocab_size", spec.vocab_size},
          {"context", spec.context},
          {"rope", {{"kind", Name(attention.rope.kind)}, {"theta", attention.rope.theta}}},
          {"tied_head", spec.tied_head},
          {"kv_bytes_per_token",
           {{"float16", spec.KvBytesPerToken(kHalfBytes)},
            {"float32", spec.KvBytesPerToken(kFloatBytes)}}},
          {"tensors", tensors}};
}

void Print(const model::ModelFile& file) {
  const model::ModelSpec& spec = file.spec();
  const model::AttentionSpec& attention = spec.layers.front().attention;
  std::printf("family        %s\n", spec.family.c_str());
  if (!spec.name.empty()) std::printf("name          %s\n", spec.name.c_str());
  std::printf("parameters    %lld\n", static_cast<long long>(TotalParameters(file)));
  std::printf("bytes         %lld\n", static_cast<long long>(TotalBytes(file)));
  std::printf("digest        %s\n", file.weights_digest().c_str());
  std::printf("layers        %zu, hidden %lld, intermediate %lld\n", spec.layers.size(),
              static_cast<long long>(spec.hidden),
              static_cast<long long>(spec.layers.front().mlp.intermediate));
  std::printf("attention     %lld query heads, %lld kv heads, head_dim %lld\n",
              static_cast<long long>(attention.query_heads),
              static_cast<long long>(attention.kv_heads),
              static_cast<long long>(attention.head_dim));
  std::printf("rope          %s, theta %g\n", Name(attention.rope.kind), attention.rope.theta);
  std::printf("vocabulary    %lld%s\n", static_cast<long long>(spec.vocab_size),
              spec.tied_head ? ", head tied to the embedding" : "");
  std::printf("context       %lld\n", static_cast<long long>(spec.context));
  std::printf("kv per token  %lld bytes in float16, %lld in float32\n",
              static_cast<long long>(spec.KvBytesPerToken(kHalfBytes)),
              static_cast<long long>(spec.KvBytesPerToken(kFloatBytes)));
  std::printf("\n%-48s %-6s %-20s %s\n", "tensor", "type", "shape", "bytes");
  for (const auto& tensor : file.tensors()) {
    std::printf("%-48s %-6s %-20s %lld\n", tensor.name.c_str(), tensor.type.c_str(),
                absl::StrCat("[", absl::StrJoin(tensor.shape, ", "), "]").c_str(),
                static_cast<long long>(tensor.bytes));
  }
}

absl::Status Run(const Flags& flags) {
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<model::ModelFile> file,
                         model::OpenModel(flags.positional()));
  if (flags.Has("json")) {
    std::puts(ToJson(*file).dump(2, ' ', false, json::error_handler_t::replace).c_str());
  } else {
    Print(*file);
  }
  return absl::OkStatus();
}

}  // namespace

Command InspectCommand() {
  return {.spec = {.name = "inspect",
                   .positional = "MODEL",
                   .summary = "show what a model file holds",
                   .flags = {{.name = "json", .placeholder = "", .help = "print JSON"}}},
          .run = Run};
}

}  // namespace shoal::app
