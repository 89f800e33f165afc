// SPDX-License-Identifier: Apache-2.0
// Errors for clients: an absl::Status that may carry the offending parameter and a machine-readable
// code, so that HTTP and gRPC report the same failure from the same value.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shoal::router {

inline constexpr char kContextLengthExceeded[] = "context_length_exceeded";
inline constexpr char kModelNotFound[] = "model_not_found";
// The request was under way at too many unexpected ends of replicas.
inline constexpr char kReplicaCrash[] = "replica_crash";

absl::Status ApiError(absl::StatusCode code, absl::string_view message, absl::string_view param,
                      absl::string_view error_code = "");
// INVALID_ARGUMENT about one parameter.
absl::Status BadParam(absl::string_view param, absl::string_view message);
absl::Status NotAvailableYet(absl::string_view param);

// Empty when the status does not say.
std::string ErrorParam(const absl::Status& status);
std::string ErrorCode(const absl::Status& status);

}  // namespace shoal::router
