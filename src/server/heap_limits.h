#pragma once

namespace wick {

// Both do nothing where there is no glibc, whose heaps they are about.

// Keeps the heaps of this process small. Left alone, there is one per thread, each grows to what the largest requests
// took on its thread, and a server ends up with many times what it uses. Call it before threads are started.
void limit_heap();

// Gives pages that are free in the midst of a heap back to the system. Takes milliseconds: for after large requests.
void return_freed_memory();

}  // namespace wick
