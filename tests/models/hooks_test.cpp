// Watching and changing a forward pass, on every family.
#include <gtest/gtest.h>

#include "ops/ops.h"
#include "support/compare.h"
#include "support/model_fixtures.h"
#include "support/reference_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

class HookedFamilyTest : public ReferenceModelTest {
 protected:
  void SetUp() override {
    ReferenceModelTest::SetUp();
    if (!IsSkipped()) model_ = std::make_unique<TestModel>(family_folder(GetParam().folder));
  }

  Tensor run(const HookSpec& spec, HookCache* cache = nullptr, std::vector<size_t> cuts = {}) {
    const SequenceHooks hooks{&spec, cache};
    TestSequence sequence(*model_);
    sequence.hooks = &hooks;
    std::vector<Tensor> rows;
    cuts.push_back(text_.size());
    size_t begin = 0;
    for (const size_t end : cuts) {
      rows.push_back(sequence.run(*model_, std::span(text_).subspan(begin, end - begin)));
      begin = end;
    }
    return rows.size() == 1 ? rows[0] : concat(rows, 0);
  }
  // Gemma 3n's and 4's layers do more to the stream than to add attention and MLP.
  static bool only_adds() {
    const std::string_view family = GetParam().family;
    return family != "gemma3n_text" && family != "gemma4_text";
  }
  int last_layer() const { return static_cast<int>(model_->model->facts().layers) - 1; }

  std::unique_ptr<TestModel> model_;
  const std::vector<int32_t> text_ = some_tokens(19, 23);
};

TEST_P(HookedFamilyTest, WatchingChangesNothing) {
  HookSpec everything;
  for (const std::string& name : hook_names()) everything.capture(name);
  HookCache seen;
  const Tensor watched = run(everything, &seen);
  expect_identical(watched, run({}), "logits");
  expect_identical(seen.at("hook_logits"), watched, "captured logits");
  // The stream adds up: what a layer adds is what lies between its ends.
  for (int layer = 0; only_adds() && layer <= last_layer(); ++layer) {
    Tensor added;  // some layers are one half alone
    for (const HookPoint point : {HookPoint::kAttnOut, HookPoint::kMlpOut}) {
      if (!seen.has(hook_name(point, layer))) continue;
      added = added.defined() ? add(added, seen.at(point, layer)) : seen.at(point, layer);
    }
    const Tensor grown = sub(seen.at(HookPoint::kResidPost, layer), seen.at(HookPoint::kResidPre, layer));
    EXPECT_LE(relative_error(added, grown), 1e-5) << "layer " << layer;
  }
}

// Values that are handed back as they came take the way of edits, in stages, to the same bits.
TEST_P(HookedFamilyTest, HandingBackChangesNothing) {
  HookSpec spec;
  for (const std::string& name : hook_names()) {
    if (name.ends_with("scores") || name.ends_with("pattern")) continue;  // what follows is computed anew from those
    spec.call(name, [](const Tensor& x, const HookMoment&) { return x.clone(); });
  }
  expect_identical(run(spec), run({}), "logits");
}

TEST_P(HookedFamilyTest, ChunksAreSeenAsTheWhole) {
  HookSpec spec;
  spec.capture("blocks.*.hook_resid_post").capture("blocks.*.attn.hook_pattern").capture("blocks.*.attn.hook_q");
  HookCache whole, chunks;
  run(spec, &whole);
  run(spec, &chunks, {1, 2, 9});
  ASSERT_FALSE(whole.names().empty());
  EXPECT_EQ(whole.names(), chunks.names());
  for (const std::string& name : whole.names()) {
    if (name.ends_with("pattern")) {
      expect_close(chunks.at(name), whole.at(name), 1e-6, name);
    } else {
      expect_identical(chunks.at(name), whole.at(name), name);
    }
  }
}

TEST_P(HookedFamilyTest, EditsDoWhatTheySay) {
  HookSpec capture;
  capture.capture("blocks.0.hook_resid_pre").capture("blocks.0.hook_mlp_out").capture("blocks.0.hook_resid_post");
  capture.capture("blocks.0.hook_attn_out");
  HookCache before, after;
  const Tensor plain = run(capture, &before);

  HookSpec zero = capture;
  zero.zero("blocks.0.hook_attn_out").zero("blocks.0.hook_mlp_out");
  EXPECT_GT(relative_error(run(zero, &after), plain), 1e-4);
  if (only_adds()) {
    expect_identical(after.at("blocks.0.hook_resid_post"), before.at("blocks.0.hook_resid_pre"),
                     "a layer switched off");
  }

  // Positions before a change are not touched by it; a replaced row is what comes out.
  const Tensor row = randn({64}, 5);
  HookSpec replace = capture;
  replace.replace("blocks.0.hook_resid_post", row, {.positions = {7}, .heads = {}});
  after.clear();
  const Tensor changed = run(replace, &after);
  expect_identical(narrow(changed, 0, 0, 7).contiguous(), narrow(plain, 0, 0, 7).contiguous(), "rows before");
  expect_identical(narrow(after.at("blocks.0.hook_resid_post"), 0, 7, 1).contiguous(), reshape(row, {1, 64}), "row");
  EXPECT_GT(relative_error(narrow(changed, 0, 7, 1), narrow(plain, 0, 7, 1)), 1e-3);

  HookSpec scale = capture, add_again = capture;
  scale.scale("blocks.0.hook_mlp_out", 2);
  const Tensor twice = run(scale);
  add_again.call("blocks.0.hook_mlp_out", [](const Tensor& x, const HookMoment&) { return add(x, x); });
  expect_identical(run(add_again), twice, "a function instead of an edit");
  // Chunks make no difference to edits.
  expect_identical(run(scale, nullptr, {3, 4, 11}), twice, "edits in chunks");
}

TEST_P(HookedFamilyTest, KnockedOutEdgesCarryNothing) {
  HookSpec probe;
  probe.capture("blocks.*.attn.hook_pattern");
  HookCache seen;
  run(probe, &seen);
  if (seen.names().empty()) GTEST_SKIP() << "no attention";
  const std::string name = seen.names().back();
  HookSpec spec = probe;
  spec.knockout(HookSite::kEveryLayer, {{12, 9}, {13, 9}}, {1});
  HookCache cut;
  run(spec, &cut);
  const Tensor pattern = cut.at(name);  // [heads, rows, context]
  const auto at = [&](const Tensor& x, int head, int64_t query, int64_t key) {
    return narrow(narrow(narrow(x, 0, head, 1), 1, query, 1), 2, key, 1).item();
  };
  EXPECT_EQ(at(pattern, 1, 12, 9), 0);
  EXPECT_EQ(at(pattern, 1, 13, 9), 0);
  EXPECT_GT(at(pattern, 0, 12, 9), 0);
  EXPECT_GT(at(pattern, 1, 14, 9), 0);
  // An edit of the map that changes nothing gives the answer of the fused kernel, up to rounding.
  HookSpec same;
  same.scale("blocks.*.attn.hook_pattern", 1);
  EXPECT_LE(relative_error(run(same), run({})), 1e-5);
  HookSpec no_head;
  no_head.zero("blocks.*.attn.hook_z", {.positions = {}, .heads = {1}});
  HookSpec no_pattern;
  no_pattern.zero("blocks.*.attn.hook_pattern", {.positions = {}, .heads = {1}});
  EXPECT_LE(relative_error(run(no_pattern), run(no_head)), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(All, HookedFamilyTest, testing::ValuesIn(kReferenceModels), reference_model_name);

TEST(HookedBatchTest, HooksOfOneSequenceLeaveTheOthersAlone) {
  const TestModel model(family_folder("qwen3"));
  const std::vector<int32_t> text = some_tokens(12, 2);
  TestSequence plain(model, 0, 3), hooked(model, 1, 3), other(model, 2, 3);
  const Tensor expected = plain.run(model, text);
  HookSpec spec;
  spec.zero("blocks.1.hook_mlp_out").capture("blocks.1.attn.hook_pattern");
  HookCache seen;
  const SequenceHooks hooks{&spec, &seen};
  hooked.hooks = &hooks;
  ForwardBatch batch;
  hooked.add_to(batch, text, true);
  other.add_to(batch, text, true);
  const Tensor logits = model.model->forward(batch, model.cache);
  EXPECT_GT(relative_error(narrow(logits, 0, 0, 12), expected), 1e-4);
  expect_identical(narrow(logits, 0, 12, 12).contiguous(), expected, "the other sequence");
  EXPECT_EQ(seen.at("blocks.1.attn.hook_pattern").shape(), (Shape{4, 12, 12}));
}

TEST(HookErrorsTest, NameTheHook) {
  const TestModel model(family_folder("llama"));
  const auto message = [&](const std::function<void(HookSpec&)>& add) -> std::string {
    try {
      HookSpec spec;
      add(spec);
      const SequenceHooks hooks{&spec, nullptr};
      TestSequence sequence(model);
      sequence.hooks = &hooks;
      sequence.run(model, some_tokens(4, 1));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([](HookSpec& s) { s.add("blocks.0.hook_mlp_out", zeros({63})); }),
            "the edit of 'blocks.0.hook_mlp_out' does not fit: it has 64 numbers per position, and the value has 63");
  EXPECT_EQ(message([](HookSpec& s) { s.zero("blocks.0.hook_mlp_out", {.positions = {}, .heads = {0}}); }),
            "the edit of 'blocks.0.hook_mlp_out' does not fit: it has no heads");
  EXPECT_EQ(message([](HookSpec& s) { s.zero("blocks.1.attn.hook_k", {.positions = {}, .heads = {2}}); }),
            "the edit of 'blocks.1.attn.hook_k' does not fit: it has 2 heads, and head 2 is asked for");
  EXPECT_EQ(message([](HookSpec& s) { s.capture("blocks.0.hook_resid_pst"); }),
            "there is no hook 'blocks.0.hook_resid_pst'; did you mean 'hook_resid_post'?");
  EXPECT_EQ(message([](HookSpec& s) { s.capture("blocks.x.hook_resid_post"); }),
            "'blocks.x.hook_resid_post' is no hook: expected 'blocks.', a layer or '*', and a point");
  EXPECT_EQ(
      message([](HookSpec& s) { s.call("hook_embed", [](const Tensor&, const HookMoment&) { return zeros({1}); }); }),
      "the function for 'hook_embed' gave f32 [1], expected f32 [4, 64]");
}

}  // namespace
}  // namespace wick
