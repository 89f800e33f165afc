// SPDX-License-Identifier: Apache-2.0
// The fields that chat and completions share.
#pragma once

#include "router/frontend/openai/fields.h"
#include "router/frontend/openai/parse_request.h"

namespace shoal::router {

// Problems stay in `fields`.
void ReadCommon(Fields& fields, OpenAiRequest& out);

}  // namespace shoal::router
