// Every family on CUDA against what PyTorch computes, where a device is there.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/devices.h"
#include "support/model_fixtures.h"

namespace wick {
namespace {

// f32 files, whose products are computed in f32; the one in bf16 is rounded as its reference is.
const char* const kFamilies[] = {
    "llama",      "llama3-rope",   "mistral",    "mixtral",  "qwen2",  "qwen3",      "qwen3-sharded-bf16",
    "qwen3-yarn", "qwen3_moe",     "phi",        "phi3",     "falcon", "falcon-new", "gemma",
    "gemma2",     "gemma3",        "starcoder2", "stablelm", "olmo",   "olmo2",      "gpt2",
    "gpt_neox",   "smollm3",       "lfm2",       "gpt_oss",  "olmo3",  "cohere2",    "granite",
    "qwen2_moe",  "phi3-longrope", "glm"};

class CudaFamilyTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const CudaDevices found = list_cuda_devices();
    if (found.devices.empty()) GTEST_SKIP() << found.problem;
  }
};

std::vector<int32_t> tokens_of(const Checkpoint& reference, const char* name) {
  return reference.get(name).to_vector<int32_t>();
}

Tensor without_batch(const Tensor& x) { return x.with_layout(x.layout().squeeze(0)); }

int32_t best_of(const Tensor& logits) {
  const std::vector<float> values = logits.to_vector<float>();
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

TEST_P(CudaFamilyTest, AgreesWithPyTorch) {
  for (const auto& folder : fixture_folders(GetParam())) {
    SCOPED_TRACE(folder.string());
    const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
    ModelOptions options;
    options.rope_dtype = Checkpoint::open(folder).entries().front().dtype;
    options.device = Device::cuda();
    const bool rounded = options.rope_dtype == DType::kBF16;
    const TestModel model(folder, options);

    TestSequence sequence(model);
    const Tensor logits = sequence.run(model, tokens_of(reference, "input_ids"));
    const double error = relative_error(logits, without_batch(reference.get("logits")));
    RecordProperty("error", std::to_string(error));
    EXPECT_LE(error, rounded ? 3e-2 : 1e-3);

    // Hooks see what flows there, too.
    HookSpec spec;
    spec.capture("blocks.*.hook_resid_pre").capture("blocks.*.attn.hook_pattern");
    HookCache seen;
    const SequenceHooks hooks{&spec, &seen};
    TestSequence watched(model, 1, 2);
    watched.hooks = &hooks;
    const Tensor again = watched.run(model, tokens_of(reference, "input_ids"));
    EXPECT_LE(relative_error(again, logits), rounded ? 3e-2 : 1e-4);
    const Tensor hidden = seen.at(HookPoint::kResidPre, static_cast<int>(model.model->facts().layers) - 1);
    const std::string name = cat("hidden_", model.model->facts().layers - 1);
    EXPECT_LE(relative_error(hidden, without_batch(reference.get(name))), rounded ? 3e-2 : 1e-3);

    if (rounded) continue;
    TestSequence writing(model, 3, 3);
    Tensor next = writing.run(model, tokens_of(reference, "input_ids"), false);
    std::vector<int32_t> written;
    for (int i = 0; i < 24; ++i) {
      written.push_back(best_of(next));
      next = writing.run(model, std::vector<int32_t>{written.back()});
    }
    EXPECT_EQ(written, tokens_of(reference, "greedy"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaFamilyTest, testing::ValuesIn(kFamilies), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace wick
#endif  // WICK_CUDA
