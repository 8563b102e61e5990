// Models that carry a state instead of keys and values, against PyTorch and against themselves.
#include <gtest/gtest.h>

#include <algorithm>

#include "recurrent_cases.h"
#include "support/compare.h"
#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

class RecurrentTest : public RecurrentCase {};

void expect_same_state(const RecurrentState& actual, const RecurrentState& expected, const std::string& what) {
  ASSERT_EQ(actual.tensors.size(), expected.tensors.size());
  for (size_t i = 0; i < actual.tensors.size(); ++i) {
    expect_identical(actual.tensors[i], expected.tensors[i], cat(what, ", state tensor ", i));
  }
}

Tensor row_of(const Tensor& x, int64_t row) { return x.with_layout(x.layout().narrow(0, row, 1)).contiguous(); }

TEST_P(RecurrentTest, AgreesWithPyTorch) {
  const TestModel model(folder(), options());
  const Checkpoint expected = reference();
  HookSpec spec;
  spec.capture("blocks.*.hook_resid_pre").capture("blocks.*.hook_resid_post").capture("ln_final.hook_normalized");
  HookCache seen;
  const SequenceHooks hooks{&spec, &seen};
  TestSequence sequence(model);
  sequence.hooks = &hooks;
  const Tensor logits = sequence.run(model, tokens());
  const auto check = [&](const Tensor& actual, const std::string& name) {
    const double error = relative_error(actual, expected.get(name));
    RecordProperty(name, cat(error));
    EXPECT_LE(error, options().device.is_host() ? 5e-6 : 2e-4) << name;
  };
  check(logits, "logits");
  const int layers = static_cast<int>(model.model->facts().layers);
  // Of these families but xLSTM, PyTorch keeps what leaves each layer, not what enters it.
  const HookPoint kept = family() == "xlstm" ? HookPoint::kResidPre : HookPoint::kResidPost;
  for (int i = 0; i < layers; ++i) {
    check(seen.at(kept, i), cat("hidden_", i));
    if (i > 0) expect_identical(seen.at(HookPoint::kResidPre, i), seen.at(HookPoint::kResidPost, i - 1), "residual");
  }
  check(seen.at("ln_final.hook_normalized"), cat("hidden_", layers));

  TestSequence brief(model);
  check(brief.run(model, tokens("input_ids_short")), "logits_short");
}

TEST_P(RecurrentTest, WritesTheSameTokens) {
  const TestModel model(folder(), options());
  TestSequence sequence(model);
  Tensor logits = sequence.run(model, tokens(), false);
  std::vector<int32_t> generated;
  for (int i = 0; i < 24; ++i) {
    const std::vector<float> values = logits.to_vector<float>();
    generated.push_back(static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin()));
    logits = sequence.run(model, std::vector<int32_t>{generated.back()});
  }
  EXPECT_EQ(generated, tokens("greedy"));
}

TEST_P(RecurrentTest, TellsItsFacts) {
  const TestModel model(folder(), options());
  const ModelFacts& facts = model.model->facts();
  EXPECT_EQ(facts.family, family());
  EXPECT_TRUE(facts.recurrent);
  EXPECT_TRUE(facts.kv_layers.empty());
  EXPECT_EQ(facts.heads, 0);
  EXPECT_EQ(facts.max_context, 0);
  EXPECT_EQ(facts.layers, 2);
  EXPECT_EQ(facts.vocabulary, 192);
  EXPECT_GT(facts.parameters, 50000);
  EXPECT_LT(facts.parameters, 150000);
  ModelOptions brief = options();
  brief.context = 10;
  const TestModel small(folder(), brief);
  TestSequence sequence(small);
  EXPECT_ERROR(sequence.run(small, tokens()), kInvalidArgument, "the model's context is 10");
}

TEST_P(RecurrentTest, ChunksGiveTheBitsOfTheWhole) {
  const TestModel model(folder(), options());
  TestSequence whole(model);
  const Tensor expected = whole.run(model, tokens());
  for (const std::vector<int64_t>& cuts : {std::vector<int64_t>{1, 1, 22}, {2, 3, 5, 7, 7}, {23, 1}, {8, 16}}) {
    TestSequence sequence(model);
    int64_t begin = 0;
    for (const int64_t count : cuts) {
      const std::vector<int32_t> all = tokens();
      const Tensor logits = sequence.run(model, std::span(all).subspan(begin, count));
      expect_identical(logits, expected.with_layout(expected.layout().narrow(0, begin, count)).contiguous(),
                       cat("a chunk of ", count));
      begin += count;
    }
    expect_same_state(sequence.state, whole.state, "in chunks");
  }
}

TEST_P(RecurrentTest, SequencesInABatchDoNotFeelEachOther) {
  const TestModel model(folder(), options());
  const std::vector<int32_t> all = tokens();
  const auto part = [&](int64_t begin, int64_t count) { return std::span(all).subspan(begin, count); };
  TestSequence a(model), b(model), c(model), a_alone(model), b_alone(model), c_alone(model);
  b.run(model, part(3, 5));
  b_alone.run(model, part(3, 5));
  ForwardBatch batch;
  a.add_to(batch, part(0, 24), false);
  b.add_to(batch, part(8, 1), false);
  c.add_to(batch, part(5, 11), true);
  const Tensor together = model.model->forward(batch, model.cache);
  ASSERT_EQ(together.dim(0), 13);
  expect_identical(row_of(together, 0), a_alone.run(model, part(0, 24), false), "the first");
  expect_identical(row_of(together, 1), b_alone.run(model, part(8, 1)), "the second");
  expect_identical(together.with_layout(together.layout().narrow(0, 2, 11)).contiguous(),
                   c_alone.run(model, part(5, 11)), "the third");
  expect_same_state(a.state, a_alone.state, "the first");
  expect_same_state(b.state, b_alone.state, "the second");
  expect_same_state(c.state, c_alone.state, "the third");
}

TEST_P(RecurrentTest, ThreadsChangeNothing) {
  const TestModel model(folder(), options());
  Tensor expected;
  RecurrentState state;
  for (const int threads : {1, 2, 3}) {
    const ThreadCount count(threads);
    TestSequence sequence(model);
    const Tensor logits = sequence.run(model, tokens());
    if (expected.defined()) {
      expect_identical(logits, expected, cat(threads, " threads"));
      expect_same_state(sequence.state, state, cat(threads, " threads"));
    }
    expected = logits;
    state = sequence.state;
  }
}

TEST_P(RecurrentTest, StatesCanBeKeptAndGoneBackTo) {
  const TestModel model(folder(), options());
  const std::vector<int32_t> all = tokens();
  TestSequence sequence(model);
  sequence.run(model, std::span(all).first(10));
  const RecurrentState kept = sequence.state.clone();
  const Tensor first = sequence.run(model, std::span(all).subspan(10, 6));
  sequence.state = kept.clone();
  sequence.position = 10;
  sequence.run(model, std::span(all).subspan(2, 4));  // another way
  sequence.state = kept;
  sequence.position = 10;
  expect_identical(sequence.run(model, std::span(all).subspan(10, 6)), first, "after going back");
}

TEST_P(RecurrentTest, NoLogitsNeedNotBeAskedFor) {
  const TestModel model(folder(), options());
  TestSequence sequence(model), other(model);
  ForwardBatch batch;
  sequence.add_to(batch, tokens(), false);
  batch.logit_rows.clear();
  EXPECT_EQ(model.model->forward(batch, model.cache).dim(0), 0);
  other.run(model, tokens());
  expect_same_state(sequence.state, other.state, "without logits");
}

TEST_P(RecurrentTest, RefusesStatesThatDoNotFit) {
  const TestModel model(folder(), options());
  ForwardBatch batch;
  TestSequence a(model), b(model);
  a.add_to(batch, std::vector<int32_t>{1}, true);
  b.add_to(batch, std::vector<int32_t>{2}, true);
  batch.sequences[1].state = &a.state;
  EXPECT_ERROR(model.model->forward(batch, model.cache), kInvalidArgument, "sequences 0 and 1 have the same state");
  batch.sequences[1].state = nullptr;
  EXPECT_ERROR(model.model->forward(batch, model.cache), kInvalidArgument, "sequence 1 has no state");
  RecurrentState shorter = b.state;
  shorter.tensors.pop_back();
  batch.sequences[1].state = &shorter;
  EXPECT_ERROR(model.model->forward(batch, model.cache), kInvalidArgument, "the state of sequence 1 has");
  RecurrentState reshaped = b.state;
  reshaped.tensors.back() = zeros({5});
  batch.sequences[1].state = &reshaped;
  EXPECT_ERROR(model.model->forward(batch, model.cache), kInvalidArgument, "of the state of sequence 1 is not f32");
  expect_same_state(a.state, model.model->new_state(), "after errors");
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentTest,
                         testing::Combine(testing::ValuesIn(kRecurrentFamilies), testing::ValuesIn(tuned_devices())),
                         name_and_device);

}  // namespace
}  // namespace wick
