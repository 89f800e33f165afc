// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/avx2/lanes.h"

#include "kernels/cpu/ops/op_kernels_inl.h"

namespace shoal::kernels::cpu::avx2 {

const OpKernels& GetOpKernels() {
  static constexpr OpKernels kKernels = MakeOpKernels<Lanes16, Doubles8>();
  return kKernels;
}

}  // namespace shoal::kernels::cpu::avx2
