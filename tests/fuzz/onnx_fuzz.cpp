#include <cstdint>

#include "fuzz/onnx_harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wick::fuzz_onnx(std::as_bytes(std::span(data, size)));
  return 0;
}
