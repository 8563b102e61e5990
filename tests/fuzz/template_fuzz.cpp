#include <cstdint>

#include "fuzz/template_harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wick::fuzz_template({reinterpret_cast<const char*>(data), size});
  return 0;
}
