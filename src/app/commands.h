// SPDX-License-Identifier: Apache-2.0
// The subcommands of the one binary. Each runs to its end and returns the process's status: OK is
// exit code 0, INVALID_ARGUMENT from parsing the command line is 2, everything else is 1.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "app/flags.h"

namespace shoal::app {

struct Command {
  CommandSpec spec;
  absl::Status (*run)(const Flags& flags);
};

// One function per file: what the subcommand is and does.
Command ServeCommand();
Command RouterCommand();
Command WorkerCommand();
Command ChatCommand();
Command BenchCommand();
Command CheckCommand();
Command InspectCommand();
Command ConfigReferenceCommand();

// Flags that every command with a CONFIG takes.
std::vector<FlagSpec> ConfigFlags();

// One line of `shoal --version`: version, numerics version, backends and instruction set.
std::string VersionText();

}  // namespace shoal::app
