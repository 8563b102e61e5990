// Captures against the references of the fixtures, and their limits.
#include "interp/run_with_cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ops/ops.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/interp_models.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

class CaptureFamilyTest : public testing::TestWithParam<std::string> {};

TEST_P(CaptureFamilyTest, CapturesAreTheReferencesStatesAndAttention) {
  const std::filesystem::path folder = family_folder(GetParam());
  const LanguageInterp model = interp_in(folder);
  const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
  const std::vector<int32_t> tokens = reference.get("input_ids").to_vector<int32_t>();
  const bool has_attention = model.facts().heads > 0;
  CaptureOptions options;
  // Models without attention hand out what leaves a layer.
  const HookPoint state = has_attention ? HookPoint::kResidPre : HookPoint::kResidPost;
  options.points = {hook_name(state, HookSite::kEveryLayer), "ln_final.hook_normalized"};
  if (has_attention) options.points.emplace_back("blocks.*.attn.hook_pattern");
  options.logits = LogitRows::kAll;
  const CachedRun run = run_with_cache(model, tokens, options);

  const auto expected = [&](const std::string& name) {
    const Tensor tensor = reference.get(name);
    return reshape(tensor, tensor.shape().without(0));
  };
  EXPECT_LE(relative_error(run.logits[0], expected("logits")), 5e-6);
  expect_identical(run.logits[0], model.run(tokens), "logits with captures");
  for (int layer = 0; layer < model.facts().layers; ++layer) {
    EXPECT_LE(relative_error(run.cache.at(hook_name(state, layer)), expected(cat("hidden_", layer))), 5e-6);
  }
  EXPECT_LE(relative_error(run.cache.at("ln_final.hook_normalized"), expected(cat("hidden_", model.facts().layers))),
            5e-6);
  int maps = 0;
  for (const int layer : model.facts().attention_layers) {
    const std::string name = cat("attention_", maps++);
    EXPECT_LE(relative_error(run.cache.at(hook_name(HookPoint::kAttnPattern, layer)), expected(name)), 5e-6) << name;
  }
}

TEST_P(CaptureFamilyTest, SelectedRowsAreRowsOfTheWhole) {
  const LanguageInterp model = interp_of(GetParam());
  const std::vector<int32_t> first = some_tokens(13, 3), second = some_tokens(5, 4), third = some_tokens(21, 5);
  const InterpText texts[] = {{first}, {second}, {third}};
  CaptureOptions all, some;
  all.points = {"blocks.*.hook_resid_post", "blocks.1.hook_attn_out"};
  if (model.facts().heads > 0) all.points.emplace_back("blocks.*.attn.hook_pattern");
  some = all;
  some.positions = {2, -1, 4};
  some.texts = {0, 2};
  const CachedRun whole = run_with_cache(model, texts, all), part = run_with_cache(model, texts, some);
  EXPECT_TRUE(part.cache.names(1).empty());
  EXPECT_EQ(part.cache.positions(2), (std::vector<int64_t>{2, 20, 4}));
  for (const size_t text : {0, 2}) {
    EXPECT_EQ(part.cache.names(text), whole.cache.names(text));
    for (const std::string& name : whole.cache.names(text)) {
      const Tensor rows = from_vector(part.cache.positions(text), {3});
      const Tensor expected = index_select(whole.cache.at(name, text), name.ends_with("pattern") ? 1 : 0, rows);
      expect_identical(part.cache.at(name, text), expected, name);
    }
    expect_identical(part.logits[text], whole.logits[text], "logits");
    // A text in a batch is a text alone.
    const std::vector<int32_t>& tokens = text == 0 ? first : third;
    expect_identical(run_with_cache(model, tokens, all).cache.at("blocks.1.hook_resid_post"),
                     whole.cache.at("blocks.1.hook_resid_post", text), "alone");
  }
}

INSTANTIATE_TEST_SUITE_P(All, CaptureFamilyTest, testing::ValuesIn(interp_families()),
                         [](const auto& test) { return test_name(test.param); });

TEST(RunWithCacheTest, EditsAreSeenByCaptures) {
  const LanguageInterp model = interp_of("qwen3");
  const std::vector<int32_t> tokens = some_tokens(7, 1);
  HookSpec zero;
  zero.zero("blocks.0.hook_mlp_out", {{3}, {}});
  const InterpText text{tokens, &zero};
  CaptureOptions options;
  options.points = {"blocks.0.hook_mlp_out"};
  const Tensor seen = run_with_cache(model, std::span(&text, 1), options).cache.at("blocks.0.hook_mlp_out");
  EXPECT_EQ(sum(abs(narrow(seen, 0, 3, 1))).item(), 0);
  EXPECT_GT(sum(abs(narrow(seen, 0, 2, 1))).item(), 0);
}

// What enters a layer is kept once with what left the one before, unless an edit came between.
TEST(RunWithCacheTest, NeighboursShareWhatTheyHaveInCommon) {
  const LanguageInterp model = interp_of("llama");
  const std::vector<int32_t> tokens = some_tokens(7, 1);
  CaptureOptions options;
  options.points = {"blocks.0.hook_resid_post", "blocks.1.hook_resid_pre"};
  const CachedRun plain = run_with_cache(model, tokens, options);
  const Tensor left = plain.cache.at("blocks.0.hook_resid_post");
  EXPECT_EQ(plain.cache.at("blocks.1.hook_resid_pre").raw(), left.raw());

  HookSpec spec;
  spec.call("blocks.1.hook_resid_pre", [](const Tensor& x, const HookMoment&) { return mul(x, 2.0); });
  const InterpText text{tokens, &spec};
  const CachedRun edited = run_with_cache(model, {&text, 1}, options);
  expect_identical(edited.cache.at("blocks.0.hook_resid_post"), left, "what left");
  expect_identical(edited.cache.at("blocks.1.hook_resid_pre"), mul(left, 2.0), "what entered");
}

TEST(RunWithCacheTest, WhatDoesNotFitIsSpilledAndReadTheSame) {
  const LanguageInterp model = interp_of("gemma2");
  const std::vector<int32_t> first = some_tokens(17, 3), second = some_tokens(9, 4);
  const InterpText texts[] = {{first}, {second}};
  CaptureOptions options;
  options.points = {"blocks.*.hook_resid_pre", "blocks.*.attn.hook_pattern", "blocks.*.mlp.hook_post", "hook_embed"};
  const CachedRun held = run_with_cache(model, texts, options);
  const TempFolder temp;
  options.most_bytes = held.cache.bytes() / 3;
  EXPECT_ERROR(run_with_cache(model, texts, options), kOutOfMemory, "name a file to spill to");
  options.spill = temp.path() / "spill.safetensors";
  const CachedRun spilled = run_with_cache(model, texts, options);
  ASSERT_TRUE(std::filesystem::exists(options.spill));
  EXPECT_GE(Checkpoint::open(options.spill).entries().size(), 4u);
  for (size_t text = 0; text < 2; ++text) {
    EXPECT_EQ(spilled.cache.names(text), held.cache.names(text));
    for (const std::string& name : held.cache.names(text)) {
      expect_identical(spilled.cache.at(name, text), held.cache.at(name, text), name);
    }
    expect_identical(spilled.logits[text], held.logits[text], "logits");
  }
  // A run that fails leaves no file.
  options.spill = temp.path() / "other.safetensors";
  options.points.emplace_back("blocks.0.mixer.hook_state");
  EXPECT_ERROR(run_with_cache(model, texts, options), kInvalidArgument, "has no 'blocks.0.mixer.hook_state'");
}

TEST(RunWithCacheTest, SavedCapturesAreReadBack) {
  const LanguageInterp model = interp_of("llama");
  const std::vector<int32_t> first = some_tokens(6, 3), second = some_tokens(4, 4);
  const InterpText texts[] = {{first}, {second}};
  CaptureOptions options;
  options.points = {"blocks.*.hook_resid_pre", "blocks.1.attn.hook_pattern"};
  options.positions = {1, 3};
  const TempFolder temp;
  for (const size_t count : {1, 2}) {
    const ActivationCache cache = run_with_cache(model, std::span(texts, count), options).cache;
    const auto path = temp.path() / "captures.safetensors";
    cache.save(path);
    const ActivationCache back = ActivationCache::load(path);
    ASSERT_EQ(back.texts(), count);
    EXPECT_EQ(back.bytes(), cache.bytes());
    for (size_t text = 0; text < count; ++text) {
      EXPECT_EQ(back.positions(text), cache.positions(text));
      EXPECT_EQ(back.names(text), cache.names(text));
      for (const std::string& name : cache.names(text)) {
        expect_identical(back.at(name, text), cache.at(name, text), name);
      }
    }
  }
}

TEST(RunWithCacheTest, MistakesGetASentence) {
  const LanguageInterp model = interp_of("llama"), mamba = interp_of("mamba");
  const std::vector<int32_t> tokens = some_tokens(5, 1), none, outside = {1, 9999};
  const auto capture = [&](const LanguageInterp& on, const std::string& point, std::vector<int64_t> positions = {}) {
    CaptureOptions options;
    options.points = {point};
    options.positions = std::move(positions);
    return run_with_cache(on, tokens, options);
  };
  EXPECT_ERROR(capture(model, "blocks.2.hook_resid_pre"), kInvalidArgument,
               "layer 2 is asked for, this llama has layers 0 to 1");
  EXPECT_ERROR(capture(model, "blocks.*.hook_resid_pro"), kInvalidArgument, "did you mean 'hook_resid_pre'");
  EXPECT_ERROR(capture(model, "blocks.*.mixer.hook_gate"), kInvalidArgument, "llama has no 'blocks.*.mixer.hook_gate'");
  EXPECT_ERROR(capture(mamba, "blocks.*.attn.hook_pattern"), kInvalidArgument, "mamba has no");
  EXPECT_ERROR(capture(model, "hook_embed", {5}), kInvalidArgument, "position 5 is asked for, the text has 5 tokens");
  EXPECT_ERROR(capture(model, "hook_embed", {-6}), kInvalidArgument, "position -6");
  EXPECT_ERROR(capture(model, "hook_embed").cache.at("hook_logits"), kInvalidArgument, "there is hook_embed");
  EXPECT_ERROR(capture(model, "hook_embed").cache.at("hook_embed", 1), kInvalidArgument, "text 1 is asked for");
  EXPECT_ERROR(model.run(none), kInvalidArgument, "text 0 has no tokens");
  EXPECT_ERROR(model.run(outside), kInvalidArgument, "token 9999 is outside the vocabulary of 192");
  HookSpec spec;
  spec.zero("blocks.7.hook_mlp_out");
  EXPECT_ERROR(model.run(tokens, spec), kInvalidArgument, "layer 7 is asked for");
  CaptureOptions options;
  options.points = {"hook_embed"};
  options.texts = {1};
  EXPECT_ERROR(run_with_cache(model, tokens, options), kInvalidArgument, "text 1 is to be captured, there are 1");

  const TempFolder temp;
  const auto path = temp.path() / "x.safetensors";
  std::filesystem::copy_file(family_folder("llama") / "model.safetensors", path);
  EXPECT_ERROR(ActivationCache::load(path), kBadFile, "holds no captures");
}

TEST(LanguageInterpTest, PassesGoThroughTheirTurn) {
  int passes = 0;
  LanguageInterpOptions options;
  options.rows_per_pass = 10;
  options.around_pass = [&](FunctionRef<void()> pass) {
    if (++passes > 3) throw Error(ErrorCode::kInvalidArgument, "enough");
    pass();
  };
  const LanguageInterp model = interp_of("llama", options);
  const std::vector<int32_t> tokens = some_tokens(6, 1);
  const std::vector<InterpText> three(3, {tokens});
  int seen = 0;
  model.forward(three, LogitRows::kAll, [&](size_t, const Tensor&) { ++seen; });
  EXPECT_EQ(passes, 3);  // six and six tokens are more than ten
  EXPECT_EQ(seen, 3);
  EXPECT_ERROR(model.run(tokens), kInvalidArgument, "enough");
}

}  // namespace
}  // namespace wick
