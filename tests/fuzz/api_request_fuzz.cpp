#include <cstddef>
#include <cstdint>

#include "fuzz/api_request_harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wick::fuzz_api_request({reinterpret_cast<const char*>(data), size});
  return 0;
}
