// SPDX-License-Identifier: Apache-2.0
// Methods of strings, part of the table in methods.cc. Errors carry no line.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "text/jinja/builtins.h"
#include "text/jinja/value.h"

namespace shoal::text::jinja {

// find and index take bounds in characters.
absl::StatusOr<Value> FindMethod(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> RightFindMethod(Machine& machine, const Value& self,
                                      const Arguments& arguments);
absl::StatusOr<Value> IndexMethod(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> RightIndexMethod(Machine& machine, const Value& self,
                                       const Arguments& arguments);
absl::StatusOr<Value> CenterMethod(Machine& machine, const Value& self, const Arguments& arguments);
absl::StatusOr<Value> LeftJustifyMethod(Machine& machine, const Value& self,
                                        const Arguments& arguments);
absl::StatusOr<Value> RightJustifyMethod(Machine& machine, const Value& self,
                                         const Arguments& arguments);
absl::StatusOr<Value> ZeroFillMethod(Machine& machine, const Value& self,
                                     const Arguments& arguments);
absl::StatusOr<Value> SwapCaseMethod(Machine& machine, const Value& self,
                                     const Arguments& arguments);
absl::StatusOr<Value> IsUpperMethod(Machine& machine, const Value& self,
                                    const Arguments& arguments);
absl::StatusOr<Value> IsLowerMethod(Machine& machine, const Value& self,
                                    const Arguments& arguments);

// Categories as Python's methods see them.
bool IsAlpha(uint32_t code);
bool IsDecimal(uint32_t code);
bool IsNumeric(uint32_t code);
bool IsAlphaOrNumeric(uint32_t code);

}  // namespace shoal::text::jinja
