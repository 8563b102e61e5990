// Watching and changing recurrent models.
#include <gtest/gtest.h>

#include "ops/binary.h"
#include "recurrent_cases.h"
#include "support/compare.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

// Those whose memory holds what enters and nothing else: xLSTM counts beside it.
constexpr const char* kHookedFamilies[] = {"falcon_mamba", "mamba", "mamba2", "rwkv"};

class RecurrentHooksTest : public RecurrentCase {
 protected:
  bool is_rwkv() const { return family() == "rwkv"; }
  // The same model with these tensors set to zero, in `to`.
  void write_without(const std::filesystem::path& to, const std::vector<std::string>& zeroed) const {
    const Checkpoint checkpoint = Checkpoint::open(folder());
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const TensorEntry& entry : checkpoint.entries()) {
      const bool drop = std::find(zeroed.begin(), zeroed.end(), entry.name) != zeroed.end();
      tensors.emplace_back(entry.name, drop ? zeros(entry.shape, *entry.dtype) : checkpoint.get(entry));
    }
    write_checkpoint(to, "", tensors);
    std::filesystem::copy_file(folder() / "config.json", to / "config.json",
                               std::filesystem::copy_options::overwrite_existing);
  }
  // Logits of the whole prompt under a spec.
  Tensor logits_with(const TestModel& model, const HookSpec& spec, HookCache* seen = nullptr) const {
    const SequenceHooks hooks{&spec, seen};
    TestSequence sequence(model);
    sequence.hooks = &hooks;
    return sequence.run(model, tokens());
  }
};

TEST_P(RecurrentHooksTest, WatchingChangesNothing) {
  const TestModel model(folder(), options());
  TestSequence plain(model);
  const Tensor expected = plain.run(model, tokens());
  HookSpec spec;
  for (const std::string& name : hook_names()) spec.capture(name);
  HookCache seen;
  const SequenceHooks hooks{&spec, &seen};
  TestSequence watched(model);
  watched.hooks = &hooks;
  expect_identical(watched.run(model, tokens()), expected, "logits");
  expect_identical(seen.at("hook_logits"), expected, "captured logits");
  const size_t per_layer = plain.state.tensors.size() / 2;
  for (int layer = 0; layer < 2; ++layer) {
    const Tensor& stored = plain.state.tensors[static_cast<size_t>(layer) * per_layer + per_layer - 1];
    expect_identical(seen.at(HookPoint::kState, layer), stored.with_layout(stored.layout().unsqueeze(0)), "state");
    const int64_t inner = is_rwkv() ? 64 : 128, decays = family() == "mamba2" ? 8 : inner;
    EXPECT_EQ(seen.at(HookPoint::kMixerIn, layer).shape(), Shape({24, inner}));
    EXPECT_EQ(seen.at(HookPoint::kDecay, layer).shape(), Shape({24, decays}));
    EXPECT_EQ(seen.at(HookPoint::kGate, layer).shape(), Shape({24, inner}));
    EXPECT_EQ(seen.at(HookPoint::kAttnOut, layer).shape(), Shape({24, 64}));
    EXPECT_EQ(seen.has(hook_name(HookPoint::kResidMid, layer)), is_rwkv());
    EXPECT_EQ(seen.has(hook_name(HookPoint::kMlpOut, layer)), is_rwkv());
  }
}

TEST_P(RecurrentHooksTest, WithoutItsMixerALayerIsSkipped) {
  const TestModel model(folder(), options());
  const std::string name =
      is_rwkv() ? "rwkv.blocks.1.attention.output.weight" : "backbone.layers.1.mixer.out_proj.weight";
  const TempFolder temp;
  write_without(temp.path(), {name});
  const TestModel without(temp.path(), options());
  const Tensor expected = TestSequence(without).run(without, tokens());
  const Tensor untouched = TestSequence(model).run(model, tokens());
  EXPECT_GT(relative_error(expected, untouched), 0.01);
  expect_identical(logits_with(model, HookSpec().zero("blocks.1.hook_attn_out")), expected, "mixer's output zeroed");
  expect_identical(logits_with(model, HookSpec().zero("blocks.1.mixer.hook_gate")), expected, "gate closed");
  if (!is_rwkv()) return;
  write_without(temp.path(), {"rwkv.blocks.0.feed_forward.value.weight"});
  const TestModel no_mlp(temp.path(), options());
  expect_identical(logits_with(model, HookSpec().zero("blocks.0.hook_mlp_out")),
                   TestSequence(no_mlp).run(no_mlp, tokens()), "channel mix zeroed");
}

TEST_P(RecurrentHooksTest, AnEditStaysWithItsSequence) {
  const TestModel model(folder(), options());
  const HookSpec spec = HookSpec().zero("blocks.0.mixer.hook_gate").zero("hook_logits", {{2}, {}});
  HookCache seen;
  const SequenceHooks hooks{&spec, &seen};
  TestSequence plain(model), edited(model);
  edited.hooks = &hooks;
  const std::vector<int32_t> all = tokens();
  ForwardBatch batch;
  edited.add_to(batch, std::span(all).first(3), true);
  plain.add_to(batch, all, true);
  const Tensor logits = model.model->forward(batch, model.cache);
  expect_identical(logits.with_layout(logits.layout().narrow(0, 3, 24)).contiguous(),
                   TestSequence(model).run(model, all), "the other sequence");
  const std::vector<float> last = logits.with_layout(logits.layout().narrow(0, 2, 1)).contiguous().to_vector<float>();
  EXPECT_EQ(last, std::vector<float>(192, 0.f));
}

TEST_P(RecurrentHooksTest, AnEditOfTheStateIsWhatTheNextChunkContinuesFrom) {
  const TestModel model(folder(), options());
  const std::vector<int32_t> all = tokens();
  const HookSpec spec = HookSpec().scale("blocks.1.mixer.hook_state", 0.5f);
  const SequenceHooks hooks{&spec, nullptr};
  TestSequence edited(model), by_hand(model), plain(model);
  edited.hooks = &hooks;
  edited.run(model, std::span(all).first(9));
  by_hand.run(model, std::span(all).first(9));
  plain.run(model, std::span(all).first(9));
  Tensor& state = by_hand.state.tensors.back();
  state = mul(state, 0.5);
  edited.hooks = nullptr;
  const Tensor expected = by_hand.run(model, std::span(all).subspan(9));
  expect_identical(edited.run(model, std::span(all).subspan(9)), expected, "after the edit");
  EXPECT_GT(relative_error(plain.run(model, std::span(all).subspan(9)), expected), 1e-4);
}

TEST_P(RecurrentHooksTest, DecayAndInputOfTheRecurrenceCanBeChanged) {
  const TestModel model(folder(), options());
  const Tensor plain = TestSequence(model).run(model, tokens());
  for (const char* point : {"blocks.0.mixer.hook_decay", "blocks.0.mixer.hook_in"}) {
    SCOPED_TRACE(point);
    expect_identical(logits_with(model, HookSpec().scale(point, 1)), plain, "scaled by one");
    EXPECT_GT(relative_error(logits_with(model, HookSpec().scale(point, 0.25f)), plain), 1e-3);
    // Tokens before the changed one do not see it.
    const Tensor late = logits_with(model, HookSpec().zero(point, {{20}, {}}));
    expect_identical(late.with_layout(late.layout().narrow(0, 0, 20)).contiguous(),
                     plain.with_layout(plain.layout().narrow(0, 0, 20)).contiguous(), "earlier tokens");
  }
}

TEST_P(RecurrentHooksTest, NoInputLeavesTheStateEmpty) {
  const TestModel model(folder(), options());
  HookCache seen;
  logits_with(model, HookSpec().zero("blocks.0.mixer.hook_in").capture("blocks.0.mixer.hook_state"), &seen);
  const Tensor state = seen.at(HookPoint::kState, 0);
  const std::vector<float> values = state.to_vector<float>();
  const size_t sums = is_rwkv() ? values.size() / 3 : values.size();
  EXPECT_TRUE(std::all_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(sums),
                          [](float value) { return value == 0; }));
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentHooksTest,
                         testing::Combine(testing::ValuesIn(kHookedFamilies), testing::ValuesIn(tuned_devices())),
                         name_and_device);

}  // namespace
}  // namespace wick
