// SPDX-License-Identifier: Apache-2.0
#include "router/api_error.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace shoal::router {
namespace {

constexpr char kParamPayload[] = "shoal/param";
constexpr char kCodePayload[] = "shoal/code";

std::string Payload(const absl::Status& status, absl::string_view url) {
  const auto payload = status.GetPayload(url);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace

absl::Status ApiError(absl::StatusCode code, absl::string_view message, absl::string_view param,
                      absl::string_view error_code) {
  absl::Status status(code, message);
  if (!param.empty()) status.SetPayload(kParamPayload, absl::Cord(param));
  if (!error_code.empty()) status.SetPayload(kCodePayload, absl::Cord(error_code));
  return status;
}

absl::Status BadParam(absl::string_view param, absl::string_view message) {
  return ApiError(absl::StatusCode::kInvalidArgument, absl::StrCat(param, ": ", message), param);
}

absl::Status NotAvailableYet(absl::string_view param) {
  return ApiError(absl::StatusCode::kInvalidArgument,
                  absl::StrCat(param, " is not available yet with this value"), param,
                  "not_available");
}

std::string ErrorParam(const absl::Status& status) { return Payload(status, kParamPayload); }
std::string ErrorCode(const absl::Status& status) { return Payload(status, kCodePayload); }

}  // namespace shoal::router
