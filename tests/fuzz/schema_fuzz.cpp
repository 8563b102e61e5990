#include <cstddef>
#include <cstdint>

#include "fuzz/grammar_harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wick::fuzz_schema({reinterpret_cast<const char*>(data), size});
  return 0;
}
