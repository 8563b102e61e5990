#include <benchmark/benchmark.h>

#include <cstdlib>

#include "media/image/picture.h"
#include "media/image/resize.h"
#include "media/processors/image_processor.h"

// Everything runs on one thread. WICK_PHOTO names the picture that is decoded; without it that is left out.
namespace wick {
namespace {

Picture twelve_megapixels() {
  Picture picture = plain_picture(4000, 3000, 0, 0, 0);
  uint32_t state = 1;
  for (uint8_t& byte : picture.rgb) byte = static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  return picture;
}

void resize_photo(benchmark::State& state) {
  const Picture picture = twelve_megapixels();
  const int width = static_cast<int>(state.range(0)), height = width * 3 / 4;
  const auto arithmetic = static_cast<ResizeArithmetic>(state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(resize(picture, width, height, ResizeFilter::kBicubic, arithmetic));
}
BENCHMARK(resize_photo)->ArgsProduct({{224, 1024, 2048}, {0, 1}})->Unit(benchmark::kMillisecond);

void process_photo(benchmark::State& state, const char* kind) {
  const Picture picture = twelve_megapixels();
  const ImageProcessor processor(ImageProcessorConfig::of_kind(kind));
  for (auto _ : state) benchmark::DoNotOptimize(processor.process(picture));
}
BENCHMARK_CAPTURE(process_photo, clip, "CLIPImageProcessor")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(process_photo, qwen2_vl, "Qwen2VLImageProcessor")->Unit(benchmark::kMillisecond);

void decode_and_resize(benchmark::State& state) {
  const char* path = std::getenv("WICK_PHOTO");
  if (!path) return state.SkipWithError("WICK_PHOTO names no picture");
  for (auto _ : state) {
    const Picture picture = load_picture(path);
    if (state.range(0) == 0) continue;
    benchmark::DoNotOptimize(resize(picture, 1024, 768, ResizeFilter::kBicubic, ResizeArithmetic::kTorchvision));
  }
}
BENCHMARK(decode_and_resize)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wick
