// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/gguf/gguf_file.h"
#include "base/mapped_file.h"
#include "base/safetensors/safetensors_file.h"
#include "base/status.h"
#include "model/decoder.h"
#include "model/decoder_impl.h"
#include "model/spec/gguf_spec.h"
#include "model/spec/hf_spec.h"
#include "model/weights/digest.h"
#include "model/weights/model_weights.h"
#include "model/weights/tensor_directory.h"

namespace shoal::model {
namespace {

constexpr int64_t kConfigBytesMax = int64_t{16} << 20;

// One of the two is set; the directory's views point into it.
struct Containers {
  std::unique_ptr<gguf::GgufFile> gguf;
  std::unique_ptr<safetensors::SafetensorsFile> safetensors;
};

class ModelFileImpl final : public ModelFile {
 public:
  ModelFileImpl(Containers containers, ModelSpec spec, TensorDirectory directory,
                ModelWeights weights)
      : containers_(std::move(containers)),
        spec_(std::move(spec)),
        directory_(std::move(directory)),
        weights_(std::move(weights)),
        digest_(WeightsDigest(directory_)) {
    for (const TensorEntry& tensor : directory_.entries()) DropPages(tensor.data, tensor.bytes);
  }

  const ModelSpec& spec() const override { return spec_; }
  const std::string& weights_digest() const override { return digest_; }

  std::vector<TensorInfo> tensors() const override {
    std::vector<TensorInfo> list;
    list.reserve(directory_.entries().size());
    for (const TensorEntry& tensor : directory_.entries()) {
      list.push_back(
          {.name = tensor.name, .type = tensor.type, .shape = tensor.shape, .bytes = tensor.bytes});
    }
    return list;
  }

  absl::StatusOr<std::vector<std::pair<std::string, int64_t>>> PlanMemory(
      const kernels::Backend& backend, const DecoderOptions& options) const override {
    return PlanDecoderMemory(backend, spec_, weights_, options);
  }

  absl::StatusOr<std::unique_ptr<Decoder>> CreateDecoder(
      kernels::Backend& backend, parallel::Communicator& tensor_group,
      const DecoderOptions& options) const override {
    return CreateDecoderImpl(backend, tensor_group, spec_, weights_, options);
  }

 private:
  const Containers containers_;
  const ModelSpec spec_;
  const TensorDirectory directory_;
  const ModelWeights weights_;
  const std::string digest_;
};

absl::StatusOr<std::unique_ptr<ModelFile>> Assemble(const std::string& path, Containers containers,
                                                    ModelSpec spec, TensorDirectory directory,
                                                    Container container) {
  auto weights = BindWeights(spec, directory, container);
  if (!weights.ok()) return Annotate(weights.status(), path);
  return std::make_unique<ModelFileImpl>(std::move(containers), std::move(spec),
                                         std::move(directory), *std::move(weights));
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, MappedFile::Open(path));
  if (file->size() > kConfigBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", file->size(), " bytes, above ", kConfigBytesMax));
  }
  return std::string(reinterpret_cast<const char*>(file->data()),
                     static_cast<size_t>(file->size()));
}

absl::StatusOr<std::unique_ptr<ModelFile>> OpenGguf(const std::string& path) {
  Containers containers;
  SHOAL_ASSIGN_OR_RETURN(containers.gguf, gguf::GgufFile::Open(path));
  SHOAL_ASSIGN_OR_RETURN(ModelSpec spec, SpecFromGguf(*containers.gguf));
  TensorDirectory directory = TensorDirectory::Of(*containers.gguf);
  return Assemble(path, std::move(containers), std::move(spec), std::move(directory),
                  Container::kGguf);
}

absl::StatusOr<std::unique_ptr<ModelFile>> OpenHuggingFace(const std::string& path) {
  auto config = ReadText(path + "/config.json");
  if (!config.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no readable config.json: ", config.status().message()));
  }
  absl::StatusOr<std::string> generation = ReadText(path + "/generation_config.json");
  if (absl::IsNotFound(generation.status())) generation = std::string();
  if (!generation.ok()) return generation.status();
  auto spec = SpecFromHfConfig(*config, *generation);
  if (!spec.ok()) return Annotate(spec.status(), path);
  Containers containers;
  SHOAL_ASSIGN_OR_RETURN(containers.safetensors, safetensors::SafetensorsFile::Open(path));
  TensorDirectory directory = TensorDirectory::Of(*containers.safetensors);
  if (spec->name.empty()) {
    const std::string trimmed = path.substr(0, path.find_last_not_of('/') + 1);
    spec->name = trimmed.substr(trimmed.find_last_of('/') + 1);
  }
  return Assemble(path, std::move(containers), *std::move(spec), std::move(directory),
                  Container::kHuggingFace);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelFile>> OpenModel(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the model ", path));
  }
  if (S_ISDIR(info.st_mode)) return OpenHuggingFace(path);
  if (absl::EndsWith(path, ".safetensors")) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is one file of a model; give the directory that also holds config.json"));
  }
  return OpenGguf(path);
}

}  // namespace shoal::model
