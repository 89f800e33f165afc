// SPDX-License-Identifier: Apache-2.0
// The weights digest: what tells two models apart without reading all of their bytes.
#pragma once

#include <string>

#include "model/weights/tensor_directory.h"

namespace shoal::model {

// SHA-256, in hex, over name, type, shape, size and an evenly spread sample of up to 4 kB of every
// tensor, in the order of the names. Equal for equal tensors, whatever the file's own order.
std::string WeightsDigest(const TensorDirectory& directory);

}  // namespace shoal::model
