#include <cstdint>

#include "fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wick::fuzz_checkpoint(std::as_bytes(std::span(data, size)));
  return 0;
}
