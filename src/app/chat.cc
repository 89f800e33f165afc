// SPDX-License-Identifier: Apache-2.0
// `shoal chat`: talks to a served model from the terminal.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "app/chat/client.h"
#include "app/commands.h"
#include "base/status.h"

namespace shoal::app {
namespace {

constexpr int64_t kMaxTokensLimit = 1 << 24;

absl::StatusOr<ChatSettings> MakeSettings(const Flags& flags, ChatClient& client) {
  ChatSettings settings;
  SHOAL_ASSIGN_OR_RETURN(settings.temperature, flags.GetDouble("temperature", 0, 0, 2));
  SHOAL_ASSIGN_OR_RETURN(const int64_t max_tokens,
                         flags.GetInt("max-tokens", 0, 1, kMaxTokensLimit));
  settings.max_tokens = static_cast<int32_t>(max_tokens);
  if (flags.Has("seed")) {
    SHOAL_ASSIGN_OR_RETURN(const int64_t seed, flags.GetInt("seed", 0, 0, INT64_MAX));
    settings.seed = static_cast<uint64_t>(seed);
  }
  settings.model = flags.Get("model");
  if (settings.model.empty()) {
    SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> models, client.ListModels());
    if (models.empty()) return absl::NotFoundError("the server lists no model");
    settings.model = models.front();
  }
  return settings;
}

absl::Status Answer(ChatClient& client, const ChatSettings& settings,
                    std::vector<ChatTurn>& turns) {
  std::string answer;
  const absl::Status status = client.Chat(turns, settings, [&answer](const std::string& text) {
    answer += text;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  });
  std::puts("");
  if (status.ok()) turns.push_back({"assistant", answer});
  return status;
}

absl::Status Converse(ChatClient& client, const ChatSettings& settings,
                      std::vector<ChatTurn>& turns) {
  const bool terminal = isatty(STDIN_FILENO) != 0;
  if (terminal) std::printf("%s. An empty line or Ctrl-D ends.\n", settings.model.c_str());
  std::string line;
  while (true) {
    if (terminal) {
      std::printf("> ");
      std::fflush(stdout);
    }
    if (!std::getline(std::cin, line)) return absl::OkStatus();
    if (absl::StripAsciiWhitespace(line).empty()) return absl::OkStatus();
    turns.push_back({"user", line});
    if (const absl::Status status = Answer(client, settings, turns); !status.ok()) {
      if (!terminal) return status;
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      turns.pop_back();
    }
  }
}

absl::Status Run(const Flags& flags) {
  const char* key = std::getenv("SHOAL_API_KEY");
  SHOAL_ASSIGN_OR_RETURN(
      const std::unique_ptr<ChatClient> client,
      CreateChatClient(flags.Get("url", "http://127.0.0.1:8000"), key == nullptr ? "" : key));
  SHOAL_ASSIGN_OR_RETURN(const ChatSettings settings, MakeSettings(flags, *client));
  std::vector<ChatTurn> turns;
  if (flags.Has("system")) turns.push_back({"system", flags.Get("system")});
  if (!flags.Has("message")) return Converse(*client, settings, turns);
  turns.push_back({"user", flags.Get("message")});
  return Answer(*client, settings, turns);
}

}  // namespace

Command ChatCommand() {
  return {
      .spec = {.name = "chat",
               .positional = "",
               .summary = "talk to a served model (key for it: SHOAL_API_KEY)",
               .flags = {{.name = "url",
                          .placeholder = "URL",
                          .help = "http://, https:// or grpc://host:port (http://127.0.0.1:8000)"},
                         {.name = "model", .placeholder = "NAME", .help = "default: the first"},
                         {.name = "system", .placeholder = "TEXT", .help = "system message"},
                         {.name = "message",
                          .placeholder = "TEXT",
                          .help = "one question; prints the answer and ends"},
                         {.name = "temperature", .placeholder = "T", .help = "0 (default) to 2"},
                         {.name = "max-tokens", .placeholder = "N", .help = "longest answer"},
                         {.name = "seed", .placeholder = "N", .help = "repeats a sampled answer"}}},
      .run = Run};
}

}  // namespace shoal::app
