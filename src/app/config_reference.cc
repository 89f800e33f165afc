// SPDX-License-Identifier: Apache-2.0
// `shoal config-reference`: every key of the config, as docs/config-reference.md has it.
#include <cstdio>

#include "app/commands.h"
#include "base/config/reference.h"

namespace shoal::app {
namespace {

absl::Status Run(const Flags& flags) {
  std::fputs(config::ConfigReference().c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

Command ConfigReferenceCommand() {
  return {.spec = {.name = "config-reference",
                   .positional = "",
                   .summary = "print every config key as Markdown",
                   .flags = {}},
          .run = Run};
}

}  // namespace shoal::app
