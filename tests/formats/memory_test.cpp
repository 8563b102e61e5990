#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "formats/checkpoint.h"
#include "formats/safetensors/safetensors_writer.h"
#include "support/file_bytes.h"
#include "support/sanitized.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

#if defined(__linux__)

// A line of /proc/self/status, in bytes.
int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    int64_t kilobytes = 0;
    if (name == field + ":" && status >> kilobytes) return kilobytes * 1024;
    status.ignore(1000, '\n');
  }
  return 0;
}

// Pages of mapped files that this process holds.
int64_t mapped_bytes() { return status_bytes("RssFile") + status_bytes("RssShmem"); }

// Opening reads headers only: a file with 8 GiB of holes costs nothing, and forget() gives touched pages back.
TEST(Memory, OpeningTouchesNoDataAndForgetGivesPagesBack) {
  constexpr int64_t kBytes = int64_t{8} << 30;
  const TempFolder folder;
  const auto path = folder.path() / "big.safetensors";
  std::ofstream(path, std::ios::binary) << safetensors_bytes(
      cat(R"({"a":{"dtype":"U8","shape":[)", kBytes, R"(],"data_offsets":[0,)", kBytes, "]}}"), 0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + kBytes);
  const auto start = std::chrono::steady_clock::now();
  const int64_t before = mapped_bytes();
  const Checkpoint checkpoint = Checkpoint::open(path);
  const Tensor tensor = checkpoint.get("a");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_LT(mapped_bytes() - before, 2 << 20);

  constexpr int64_t kTouched = 16 << 20;
  const auto* data = tensor.data<uint8_t>();
  int sum = 0;
  for (int64_t i = 0; i < kTouched; i += 512) sum += data[i];
  EXPECT_EQ(sum, 0);
  EXPECT_GT(mapped_bytes() - before, kTouched / 2);
  checkpoint.forget(*checkpoint.find("a"));
  EXPECT_LT(mapped_bytes() - before, 2 << 20);
  EXPECT_EQ(data[kTouched / 2], 0);
}

// Converting every tensor of a file, forgetting each when it is done, never holds more than 1.1 times the result.
TEST(Memory, LoadingTensorByTensorPeaksBelow1_1TimesTheModel) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep freed memory";
  constexpr int kTensors = 32;
  constexpr int64_t kElements = 1 << 20;
  const TempFolder folder;
  const auto path = folder.path() / "model.safetensors";
  {
    std::vector<TensorSpec> specs;
    for (int i = 0; i < kTensors; ++i) specs.push_back({cat("layer.", i), DType::kBF16, {kElements}});
    SafetensorsWriter writer(path, specs);
    const Tensor ones = full({kElements}, 1.5, DType::kBF16);
    for (const TensorSpec& spec : specs) writer.write(spec.name, ones);
    writer.finish();
  }
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts anew
  const int64_t before = status_bytes("VmRSS");
  if (status_bytes("VmHWM") > before + (8 << 20)) GTEST_SKIP() << "the peak cannot be reset here";
  const Checkpoint checkpoint = Checkpoint::open(path);
  std::vector<Tensor> model;
  for (const TensorEntry& entry : checkpoint.entries()) {
    model.push_back(checkpoint.get(entry).to_dtype(DType::kF32));
    checkpoint.forget(entry);
  }
  const int64_t model_bytes = int64_t{kTensors} * kElements * 4;
  EXPECT_LT(status_bytes("VmHWM") - before, model_bytes * 11 / 10);
  EXPECT_EQ(model.back().data<float>()[kElements - 1], 1.5f);
}

#endif

}  // namespace
}  // namespace wick
