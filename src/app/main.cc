// SPDX-License-Identifier: Apache-2.0
// The one binary: picks the subcommand.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "app/commands.h"

namespace shoal::app {
namespace {

constexpr int kUsageError = 2;

std::vector<Command> AllCommands() {
  return {ServeCommand(), RouterCommand(), WorkerCommand(),  ChatCommand(),
          BenchCommand(), CheckCommand(),  InspectCommand(), ConfigReferenceCommand()};
}

std::string GeneralUsage(const std::vector<Command>& commands) {
  std::string text =
      "Shoal serves large language models on a cluster of replicas.\n\nusage: shoal COMMAND "
      "...\n\n";
  for (const Command& command : commands) {
    std::string name = command.spec.name;
    name.resize(18, ' ');
    absl::StrAppend(&text, "  ", name, command.spec.summary, "\n");
  }
  return text +
         "\n'shoal COMMAND --help' shows a command's options; 'shoal --version' the version.\n";
}

int Main(const std::vector<std::string>& arguments) {
  const std::vector<Command> commands = AllCommands();
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "help") {
    std::fputs(GeneralUsage(commands).c_str(), arguments.empty() ? stderr : stdout);
    return arguments.empty() ? kUsageError : 0;
  }
  if (arguments[0] == "--version" || arguments[0] == "version") {
    std::puts(VersionText().c_str());
    return 0;
  }
  for (const Command& command : commands) {
    if (command.spec.name != arguments[0]) continue;
    const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    for (const std::string& argument : rest) {
      if (argument == "--help") {
        std::fputs(Usage(command.spec).c_str(), stdout);
        return 0;
      }
    }
    const absl::StatusOr<Flags> flags = Flags::Parse(command.spec, rest);
    if (!flags.ok()) {
      std::fprintf(stderr, "shoal %s: %s\n%s", command.spec.name.c_str(),
                   std::string(flags.status().message()).c_str(), Usage(command.spec).c_str());
      return kUsageError;
    }
    const absl::Status status = command.run(*flags);
    if (status.ok()) return 0;
    std::fprintf(stderr, "shoal %s: %s\n", command.spec.name.c_str(),
                 std::string(status.message()).c_str());
    return 1;
  }
  std::fprintf(stderr, "shoal: unknown command '%s'\n%s", arguments[0].c_str(),
               GeneralUsage(commands).c_str());
  return kUsageError;
}

}  // namespace
}  // namespace shoal::app

int main(int argc, char** argv) {
  return shoal::app::Main(std::vector<std::string>(argv + 1, argv + argc));
}
