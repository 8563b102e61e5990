#pragma once

#include <type_traits>

#include "ops/kernel_table.h"

// The fast kernels for the CPU: vectorised with run-time dispatch, threaded when large.
// One function per KernelTable entry, each in the file of its name.
namespace wick::cpu {

#define WICK_KERNEL(name) std::remove_pointer_t<decltype(KernelTable::name)> name;
#include "ops/kernel_names.inc"
#undef WICK_KERNEL

}  // namespace wick::cpu
