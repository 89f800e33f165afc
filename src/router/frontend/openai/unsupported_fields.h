// SPDX-License-Identifier: Apache-2.0
// Fields other servers know that would change the answer and are not built here.
#pragma once

#include "router/frontend/openai/fields.h"

namespace shoal::router {

// Only the values that mean "as without the field" are let through: an answer that silently ignores
// what was asked for is worse than none. Problems stay in `fields`.
void RefuseUnsupported(Fields& fields, bool chat);

}  // namespace shoal::router
