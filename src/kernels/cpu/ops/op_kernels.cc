// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/ops/op_kernels.h"

namespace shoal::kernels::cpu {

const OpKernels& OpKernelsFor(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return portable::GetOpKernels();
    case Isa::kAvx2:
      return avx2::GetOpKernels();
    case Isa::kAvx512:
    case Isa::kAmx:
      return avx512::GetOpKernels();
  }
  return portable::GetOpKernels();
}

}  // namespace shoal::kernels::cpu
