// Every family on CUDA against what PyTorch computes, where a device is there.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "ops/ops.h"
#include "support/compare.h"
#include "support/model_fixtures.h"
#include "support/needs_cuda.h"
#include "support/reference_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

class CudaFamilyTest : public NeedsCuda<ReferenceModelTest> {};

std::vector<int32_t> tokens_of(const Checkpoint& reference, const char* name) {
  return reference.get(name).to_vector<int32_t>();
}

Tensor without_batch(const Tensor& x) { return x.with_layout(x.layout().squeeze(0)); }

int32_t best_of(const Tensor& logits) {
  const std::vector<float> values = logits.to_vector<float>();
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// Products with weights in f32 are computed in f32.
ModelOptions options_for(Device device, const char* dtype = "f32") {
  ModelOptions options;
  options.device = device;
  options.quantize = dtype;
  return options;
}

TEST_P(CudaFamilyTest, AgreesWithPyTorch) {
  for (const auto& folder : fixture_folders(GetParam().folder)) {
    SCOPED_TRACE(folder.string());
    const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
    const TestModel model(folder, options_for(Device::cuda()));

    TestSequence sequence(model);
    const Tensor logits = sequence.run(model, tokens_of(reference, "input_ids"));
    EXPECT_LE(relative_error(logits, without_batch(reference.get("logits"))), 1e-3);
    TestSequence brief(model, 1, 2);
    EXPECT_LE(relative_error(brief.run(model, tokens_of(reference, "input_ids_short")),
                             without_batch(reference.get("logits_short"))),
              1e-3);

    TestSequence decoding(model, 3, 3);
    Tensor next = decoding.run(model, tokens_of(reference, "input_ids"), false);
    std::vector<int32_t> generated;
    for (int i = 0; i < 24; ++i) {
      generated.push_back(best_of(next));
      next = decoding.run(model, std::vector<int32_t>{generated.back()});
    }
    EXPECT_EQ(generated, tokens_of(reference, "greedy"));
  }
}

// Weights rounded to 16 bits, which round activations too. How far that is from PyTorch in f32 is printed; the bound is
// what these models, of two layers and random weights, may lose to rounding.
TEST_P(CudaFamilyTest, SixteenBitsAreNear) {
  const auto folder = family_folder(GetParam().folder);
  const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
  for (const char* dtype : {"f16", "bf16"}) {
    const auto error_on = [&](Device device) {
      const TestModel model(folder, options_for(device, dtype));
      TestSequence sequence(model);
      return relative_error(sequence.run(model, tokens_of(reference, "input_ids")),
                            without_batch(reference.get("logits")));
    };
    const double there = error_on(Device::cuda()), here = error_on(Device::cpu());
    std::cout << std::setw(5) << dtype << " " << std::setw(20) << std::left << GetParam().folder << std::right
              << std::fixed << std::setprecision(5) << " cuda " << there << " cpu " << here << "\n";
    RecordProperty(dtype, std::to_string(there));
    EXPECT_LE(there, dtype == std::string("f16") ? 1e-2 : 5e-2) << dtype;
  }
}

class CudaHookTest : public CudaFamilyTest {
 protected:
  void SetUp() override {
    CudaFamilyTest::SetUp();
    if (IsSkipped()) return;
    const auto folder = family_folder(GetParam().folder);
    here_ = std::make_unique<TestModel>(folder, options_for(Device::cpu()));
    there_ = std::make_unique<TestModel>(folder, options_for(Device::cuda()));
  }

  Tensor run(const TestModel& model, const HookSpec& spec, HookCache* seen = nullptr, std::vector<size_t> cuts = {}) {
    const SequenceHooks hooks{&spec, seen};
    TestSequence sequence(model, 1, 2);
    sequence.hooks = &hooks;
    std::vector<Tensor> rows;
    cuts.push_back(text_.size());
    size_t begin = 0;
    for (const size_t end : cuts) {
      rows.push_back(sequence.run(model, std::span(text_).subspan(begin, end - begin)).to_device(Device::cpu()));
      begin = end;
    }
    return concat(rows, 0);
  }

  std::unique_ptr<TestModel> here_, there_;
  const std::vector<int32_t> text_ = some_tokens(19, 23);
};

TEST_P(CudaHookTest, SeeWhatTheySeeOnTheCpu) {
  constexpr double kTolerance = 3e-3;  // routers stay in bf16 where the file has them so, and round what they read
  HookSpec everything;
  for (const std::string& name : hook_names()) everything.capture(name);
  HookCache here, there, chunks;
  const Tensor expected = run(*here_, everything, &here);
  EXPECT_LE(relative_error(run(*there_, everything, &there), expected), 1e-3);
  EXPECT_LE(relative_error(run(*there_, everything, &chunks, {1, 2, 9}), expected), 1e-3);
  EXPECT_LE(relative_error(run(*there_, {}), expected), 1e-3);
  ASSERT_FALSE(here.names().empty());
  EXPECT_EQ(there.names(), here.names());
  EXPECT_EQ(chunks.names(), here.names());
  for (const std::string& name : here.names()) {
    EXPECT_EQ(there.at(name).device(), Device::cpu()) << name;
    EXPECT_LE(relative_error(there.at(name), here.at(name)), kTolerance) << name;
    EXPECT_LE(relative_error(chunks.at(name), here.at(name)), kTolerance) << name << " in chunks";
  }
}

// With hooks the same kernels run: what is watched, or handed back as it came, leaves the bits of the pass.
TEST_P(CudaHookTest, LeaveTheBitsAlone) {
  HookSpec everything, same;
  for (const std::string& name : hook_names()) {
    everything.capture(name);
    if (name.ends_with("scores") || name.ends_with("pattern")) continue;  // what follows is computed anew from those
    same.call(name, [](const Tensor& x, const HookMoment&) { return x.clone(); });
  }
  for (const char* dtype : {"f32", "bf16", "q8_0", "q4_k_m"}) {
    const TestModel model(family_folder(GetParam().folder), options_for(Device::cuda(), dtype));
    HookCache seen;
    const Tensor plain = run(model, {});
    expect_identical(run(model, everything, &seen), plain, cat(dtype, ", watched"));
    expect_identical(run(model, same), plain, cat(dtype, ", handed back"));
    expect_identical(run(model, everything, nullptr, {1, 2, 9}), plain, cat(dtype, ", in chunks"));
  }
}

TEST_P(CudaHookTest, DoWhatTheyDoOnTheCpu) {
  const auto hidden = static_cast<int64_t>(here_->model->facts().hidden);
  const Tensor row = randn({hidden}, 5);
  std::vector<std::pair<std::string, HookSpec>> edits(7);
  edits[0] = {"zero", HookSpec().zero("blocks.0.hook_attn_out")};
  edits[1] = {"replace", HookSpec().replace("blocks.0.hook_resid_post", row, {.positions = {7}, .heads = {}})};
  edits[2] = {"add", HookSpec().add("blocks.1.hook_resid_pre", row)};
  edits[3] = {"scale", HookSpec().scale("blocks.0.hook_mlp_out", 2.5f)};
  edits[4] = {"function", HookSpec().call("blocks.0.hook_mlp_out",
                                          [](const Tensor& x, const HookMoment&) { return mul(add(x, 0.3), -2.0); })};
  edits[5] = {"value on the device", HookSpec().add("blocks.1.hook_resid_pre", row.to_device(Device::cuda()),
                                                    {.positions = {3}, .heads = {}})};
  edits[6] = {"function of the host", HookSpec().call("hook_embed", [](const Tensor& x, const HookMoment&) {
                return mul(x.to_device(Device::cpu()), 0.5);
              })};
  HookSpec probe;
  probe.capture("blocks.*.attn.hook_pattern");
  HookCache seen;
  const Tensor plain = run(*here_, probe, &seen);
  if (!seen.names().empty()) {
    edits.emplace_back("knock-out", HookSpec().knockout(HookSite::kEveryLayer, {{12, 9}, {13, 9}, {18, 17}}, {1}));
    edits.emplace_back("pattern",
                       HookSpec().scale("blocks.*.attn.hook_pattern", 0.5f, {.positions = {}, .heads = {1}}));
    edits.emplace_back("head", HookSpec().zero("blocks.*.attn.hook_z", {.positions = {}, .heads = {1}}));
  }
  for (const auto& [name, spec] : edits) {
    const Tensor expected = run(*here_, spec);
    EXPECT_GT(relative_error(expected, plain), 1e-4) << name;
    EXPECT_LE(relative_error(run(*there_, spec), expected), 1e-3) << name;
    EXPECT_LE(relative_error(run(*there_, spec, nullptr, {3, 4, 11}), expected), 1e-3) << name << " in chunks";
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaFamilyTest, testing::ValuesIn(kReferenceModels), reference_model_name);
INSTANTIATE_TEST_SUITE_P(All, CudaHookTest, testing::ValuesIn(kReferenceModels), reference_model_name);

// Others of the batch keep their bits, and do not see what is changed.
class CudaHooks : public NeedsCuda<> {};
TEST_F(CudaHooks, LeaveOtherSequencesAlone) {
  const auto folder = family_folder("qwen3");
  const TestModel here(folder), there(folder, options_for(Device::cuda()));
  const std::vector<int32_t> text = some_tokens(12, 2);
  HookSpec spec, other_spec;
  spec.zero("blocks.1.hook_mlp_out").capture("blocks.1.attn.hook_pattern");
  other_spec.scale("blocks.0.hook_attn_out", 3);
  const auto run = [&](const TestModel& model) {
    HookCache seen;
    const SequenceHooks hooks{&spec, &seen}, other_hooks{&other_spec, nullptr};
    TestSequence first(model, 0, 3), second(model, 1, 3), third(model, 2, 3);
    first.hooks = &hooks;
    third.hooks = &other_hooks;
    ForwardBatch batch;
    first.add_to(batch, text, true);
    second.add_to(batch, text, true);
    third.add_to(batch, text, true);
    const Tensor logits = model.model->forward(batch, model.cache).to_device(Device::cpu());
    EXPECT_EQ(seen.at("blocks.1.attn.hook_pattern").shape(), (Shape{4, 12, 12}));
    return logits;
  };
  const Tensor expected = run(here), logits = run(there);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_LE(relative_error(narrow(logits, 0, i * 12, 12), narrow(expected, 0, i * 12, 12)), 1e-3) << i;
  }
  TestSequence alone(there);
  expect_identical(narrow(logits, 0, 12, 12), alone.run(there, text), "a sequence without hooks");
}

}  // namespace
}  // namespace wick
#endif  // WICK_CUDA
