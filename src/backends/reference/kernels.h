#pragma once

#include <type_traits>

#include "ops/kernel_table.h"

// The plain kernels: slow, right, and what every other backend is tested against.
// One function per KernelTable entry, each in the file of its name.
namespace wick::reference {

#define WICK_KERNEL(name) std::remove_pointer_t<decltype(KernelTable::name)> name;
#include "ops/kernel_names.inc"
#undef WICK_KERNEL

}  // namespace wick::reference
