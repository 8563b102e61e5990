#pragma once

#include <type_traits>

#include "ops/fused_kernels.h"
#include "ops/kernel_table.h"

// One function per KernelTable entry, each in the file of its name (or of its family, as in the reference).
namespace wick::cuda {

#define WICK_KERNEL(name) std::remove_pointer_t<decltype(KernelTable::name)> name;
#include "ops/kernel_names.inc"
#undef WICK_KERNEL
std::remove_pointer_t<decltype(FusedKernels::linear)> linear;
std::remove_pointer_t<decltype(FusedKernels::gated_linear)> gated_linear;
std::remove_pointer_t<decltype(FusedKernels::attend)> attend;
std::remove_pointer_t<decltype(FusedKernels::mix_experts)> mix_experts;
std::remove_pointer_t<decltype(FusedKernels::draw_tokens)> draw_tokens;
std::remove_pointer_t<decltype(FusedKernels::place_tokens)> place_tokens;

}  // namespace wick::cuda
