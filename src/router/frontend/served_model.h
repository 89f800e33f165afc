// SPDX-License-Identifier: Apache-2.0
// ServedModel: what the front ends need of a model: its name, tokenizer and chat template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/config/cluster_config.h"
#include "text/tokenizer.h"

namespace shoal::text {
class ChatTemplate;
}  // namespace shoal::text

namespace shoal::router {

struct ServedModel {
  std::string name;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat;  // null: the model has none
};

// Immutable; in the order of the configuration.
using ServedModels = std::vector<ServedModel>;

// Loads tokenizer and template; a broken template is an error here.
absl::StatusOr<ServedModel> LoadServedModel(const config::ModelConfig& model);

// NOT_FOUND with the names that exist.
absl::StatusOr<const ServedModel*> FindModel(const ServedModels& models, const std::string& name);

}  // namespace shoal::router
