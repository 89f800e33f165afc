// SPDX-License-Identifier: Apache-2.0
#include "router/frontend/served_model.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "router/api_error.h"
#include "text/chat_template.h"

namespace shoal::router {
absl::StatusOr<ServedModel> LoadServedModel(const config::ModelConfig& model) {
  auto loaded = text::LoadTextModel(model.path);
  if (!loaded.ok()) return Annotate(loaded.status(), absl::StrCat("model ", model.name));
  ServedModel served;
  served.name = model.name;
  served.tokenizer = loaded->tokenizer;
  std::string source = loaded->chat_template;
  if (!model.chat_template.empty()) {
    std::ifstream file(model.chat_template, std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    if (!file) {
      return absl::NotFoundError(
          absl::StrCat("models.", model.name, ".chat_template: cannot read ", model.chat_template));
    }
    source = content.str();
  }
  if (source.empty()) return served;
  auto chat = text::ParseChatTemplate(source, loaded->bos_token, loaded->eos_token);
  if (!chat.ok()) {
    return Annotate(chat.status(), absl::StrCat("chat template of model ", model.name));
  }
  served.chat = *std::move(chat);
  return served;
}

absl::StatusOr<const ServedModel*> FindModel(const ServedModels& models, const std::string& name) {
  std::string known;
  for (const ServedModel& model : models) {
    if (model.name == name) return &model;
    absl::StrAppend(&known, known.empty() ? "" : ", ", model.name);
  }
  return ApiError(absl::StatusCode::kNotFound,
                  absl::StrCat("there is no model \"", name.substr(0, 200), "\"; served: ", known),
                  "model", kModelNotFound);
}

}  // namespace shoal::router
