#pragma once

#include <type_traits>

#include "ops/device_graph.h"
#include "ops/kernel_table.h"
#include "ops/layers/experts.h"
#include "ops/layers/paged_attention.h"
#include "ops/layers/recurrence.h"
#include "ops/layers/token_draw.h"

// One function per KernelTable entry, each in the file of its name (or of its family, as in the reference).
namespace wick::cuda {

#define WICK_KERNEL(name) std::remove_pointer_t<decltype(KernelTable::name)> name;
#define WICK_DEVICE_KERNEL WICK_KERNEL
#include "ops/kernel_names.inc"
#undef WICK_DEVICE_KERNEL
#undef WICK_KERNEL

}  // namespace wick::cuda
