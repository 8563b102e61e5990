#pragma once

namespace wick {

// Has the heap of this process give freed memory back to the system soon. Left alone, glibc keeps a heap per thread
// that grows to what the largest requests took there, and a server of many threads ends up with many times what it
// uses. Call it before threads are started; does nothing where there is no glibc.
void limit_heap();

}  // namespace wick
