// SPDX-License-Identifier: Apache-2.0
// Helpers around absl::Status: propagation macros and adding context on the way up.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace shoal {

// The same code with "context: " put before the message; OK stays OK.
inline absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

}  // namespace shoal

#define SHOAL_STATUS_CONCAT_INNER(a, b) a##b
#define SHOAL_STATUS_CONCAT(a, b) SHOAL_STATUS_CONCAT_INNER(a, b)

// Returns the status from the enclosing function when it is not OK.
#define SHOAL_RETURN_IF_ERROR(expression)                                                  \
  do {                                                                                     \
    if (absl::Status shoal_status = (expression); !shoal_status.ok()) return shoal_status; \
  } while (false)

// SHOAL_ASSIGN_OR_RETURN(auto value, Call()): declares value, or returns Call()'s status.
#define SHOAL_ASSIGN_OR_RETURN(declaration, expression)             \
  auto SHOAL_STATUS_CONCAT(shoal_result_, __LINE__) = (expression); \
  if (!SHOAL_STATUS_CONCAT(shoal_result_, __LINE__).ok())           \
    return SHOAL_STATUS_CONCAT(shoal_result_, __LINE__).status();   \
  declaration = std::move(SHOAL_STATUS_CONCAT(shoal_result_, __LINE__)).value()
