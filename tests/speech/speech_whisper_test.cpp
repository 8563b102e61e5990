// Whisper against what PyTorch computes, in chunks and batches, and with bad files.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "ops/view.h"
#include "speech/whisper/whisper.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

struct WhisperFixture {
  WhisperFixture() : WhisperFixture(ModelOptions()) {}
  explicit WhisperFixture(const ModelOptions& options)
      : model(Whisper::load(family_folder("whisper"), options)),
        reference(Checkpoint::open(family_folder("whisper") / "reference.safetensors")),
        cache(model->decoder().facts().kv_layers, 32, DType::kF32, Device::cpu()) {}

  Tensor without_batch(const char* name) const {
    const Tensor x = reference.get(name);
    return x.with_layout(x.layout().squeeze(0));
  }
  std::vector<int32_t> tokens(const char* name) const { return reference.get(name).to_vector<int32_t>(); }

  std::unique_ptr<Whisper> model;
  Checkpoint reference;
  KvCache cache;
};

// A text about one recording, in blocks of its own.
struct Writer {
  Writer(const Whisper& model, const Tensor& mel, std::vector<int32_t> text, int32_t first_block = 0)
      : tokens(std::move(text)), state(model.decoder().state_for(model.encoder().encode(mel))) {
    for (int32_t i = 0; i < 4; ++i) blocks.push_back(first_block + i);
  }
  void add_to(ForwardBatch& batch, int64_t count) {
    const auto begin = static_cast<int64_t>(batch.tokens.size());
    batch.sequences.push_back({count, position, blocks, &state});
    for (int64_t i = 0; i < count; ++i) {
      batch.tokens.push_back(tokens[static_cast<size_t>(position++)]);
      batch.logit_rows.push_back(begin + i);
    }
  }
  Tensor run(const WhisperFixture& on, int64_t count) {
    ForwardBatch batch;
    add_to(batch, count);
    return on.model->decoder().forward(batch, on.cache);
  }
  int64_t left() const { return static_cast<int64_t>(tokens.size()) - position; }

  std::vector<int32_t> tokens, blocks;
  RecurrentState state;
  int64_t position = 0;
};

int32_t best_of_last(const Tensor& logits) {
  const std::vector<float> values = narrow(logits, 0, logits.dim(0) - 1, 1).to_vector<float>();
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

TEST(WhisperTest, AgreesWithPyTorch) {
  const WhisperFixture on;
  const Tensor mel = on.without_batch("input_features");
  expect_close(on.model->encoder().encode(mel), on.without_batch("encoder_last_hidden_state"), 2e-5, "what is heard");
  Writer writer(*on.model, mel, on.tokens("decoder_input_ids"));
  EXPECT_LE(relative_error(writer.run(on, writer.left()), on.without_batch("logits")), 2e-5);
}

TEST(WhisperTest, WritesTheSameTokens) {
  const WhisperFixture on;
  const std::vector<int32_t> expected = on.tokens("greedy");
  Writer writer(*on.model, on.without_batch("input_features"), on.tokens("decoder_input_ids"));
  Tensor logits = writer.run(on, writer.left());
  std::vector<int32_t> generated;
  while (generated.size() < expected.size()) {
    generated.push_back(best_of_last(logits));
    writer.tokens.push_back(generated.back());
    logits = writer.run(on, 1);
  }
  EXPECT_EQ(generated, expected);
}

TEST(WhisperTest, TakesWeightsInOtherDtypes) {
  struct Case {
    const char* quantize;
    double tolerance;
  };
  for (const Case& wanted : {Case{"f32", 2e-5}, Case{"f16", 2e-5}, Case{"q8_0", 0.02}}) {
    SCOPED_TRACE(wanted.quantize);
    ModelOptions options;
    options.quantize = wanted.quantize;
    const WhisperFixture on(options);
    Writer writer(*on.model, on.without_batch("input_features"), on.tokens("decoder_input_ids"));
    EXPECT_LE(relative_error(writer.run(on, writer.left()), on.without_batch("logits")), wanted.tolerance);
  }
}

TEST(WhisperTest, HearsNearlyTheSameInHalfThePrecision) {
  const WhisperFixture on;
  Writer writer(*on.model, on.without_batch("input_features"), on.tokens("decoder_input_ids"));
  const Tensor heard = on.model->encoder().encode(on.without_batch("input_features"));
  for (const auto& [dtype, tolerance] : {std::pair(DType::kF16, 5e-4), std::pair(DType::kBF16, 5e-3)}) {
    Writer half = writer;
    half.state = on.model->decoder().state_for(heard, dtype);
    EXPECT_LE(relative_error(half.run(on, half.left()), on.without_batch("logits")), tolerance);
  }
}

// A text looks somewhere with all its weight, and what follows does not change where.
TEST(WhisperTest, LooksAtWhatIsHeard) {
  const WhisperFixture on;
  const CrossDecoder& decoder = on.model->decoder();
  const RecurrentState heard = decoder.state_for(on.model->encoder().encode(on.without_batch("input_features")));
  const std::vector<CrossDecoder::Head> heads = {{0, 2}, {1, 0}, {1, 3}};
  const std::vector<int32_t> text = some_tokens(19, 6);
  const Tensor looks = decoder.cross_attention_weights(text, heard, heads, 71);
  ASSERT_EQ(looks.shape(), Shape({3, 19, 71}));
  for (int64_t row = 0; row < 3 * 19; ++row) {
    double sum = 0;
    for (int64_t p = 0; p < 71; ++p) sum += looks.data<float>()[row * 71 + p];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  const Tensor shorter = decoder.cross_attention_weights(std::span(text).first(8), heard, heads, 71);
  expect_identical(narrow(looks, 1, 0, 8).contiguous(), shorter, "eight tokens");
  // Keys that are all the same are looked at alike.
  RecurrentState same = heard.clone();
  same.tensors[2] = zeros(same.tensors[2].shape());
  const Tensor alike = decoder.cross_attention_weights(text, same, heads, 71);
  for (int64_t i = 0; i < 19 * 71; ++i) ASSERT_NEAR(alike.data<float>()[19 * 71 + i], 1.0 / 71, 1e-6);
  expect_identical(narrow(alike, 0, 0, 1).contiguous(), narrow(looks, 0, 0, 1).contiguous(), "the layer below");
  EXPECT_ERROR(decoder.cross_attention_weights(text, heard, std::vector<CrossDecoder::Head>{{2, 0}}, 71),
               kInvalidArgument, "there is no head 0 of layer 2");
  EXPECT_ERROR(decoder.cross_attention_weights(text, heard, heads, 101), kInvalidArgument,
               "19 tokens look at 101 positions");
  EXPECT_ERROR(decoder.cross_attention_weights(std::vector<int32_t>{200}, heard, heads, 5), kInvalidArgument,
               "no token 200");
}

// Several texts about one recording look at it together.
TEST(WhisperTest, TextsMayShareWhatIsHeard) {
  const WhisperFixture on;
  const Tensor mel = on.without_batch("input_features");
  RecurrentState shared = on.model->decoder().state_for(on.model->encoder().encode(mel), DType::kF16);
  std::vector<Writer> writers;
  std::vector<Tensor> alone;
  for (int i = 0; i < 5; ++i) {
    writers.emplace_back(*on.model, mel, some_tokens(static_cast<size_t>(3 + 2 * i), static_cast<uint32_t>(i)), 4 * i);
    writers.back().state = shared;
    alone.push_back(Writer(writers.back()).run(on, writers.back().left()));
  }
  ForwardBatch batch;
  for (Writer& writer : writers) writer.add_to(batch, writer.left());
  for (SequenceRows& rows : batch.sequences) rows.state = &shared;
  const Tensor together = on.model->decoder().forward(batch, on.cache);
  int64_t row = 0;
  for (size_t i = 0; i < writers.size(); ++i) {
    expect_identical(narrow(together, 0, row, alone[i].dim(0)).contiguous(), alone[i], cat("text ", i));
    row += alone[i].dim(0);
  }
}

TEST(WhisperTest, TextsMayBeCutAnywhereAndBatched) {
  const WhisperFixture on;
  const WhisperConfig& config = on.model->config();
  std::vector<Writer> starts;
  for (int i = 0; i < 3; ++i) {
    const Tensor mel = randn({config.bins, config.frames()}, static_cast<uint64_t>(i) + 1);
    starts.emplace_back(*on.model, mel, some_tokens(static_cast<size_t>(20 + 9 * i), static_cast<uint32_t>(i)), 4 * i);
  }
  std::vector<Tensor> whole;
  for (Writer writer : starts) whole.push_back(writer.run(on, writer.left()));
  std::mt19937 random(11);
  for (int round = 0; round < 4; ++round) {
    const ThreadCount threads(1 + round % 2);
    std::vector<Writer> writers = starts;
    for (bool more = true; more;) {
      ForwardBatch batch;
      std::vector<std::array<int64_t, 3>> parts;  // writer, first token, count
      for (size_t i = 0; i < writers.size(); ++i) {
        const int64_t count = std::min<int64_t>(writers[i].left(), random() % (round == 0 ? 2 : 8 * round));
        if (count == 0) continue;
        parts.push_back({static_cast<int64_t>(i), writers[i].position, count});
        writers[i].add_to(batch, count);
      }
      more = std::any_of(writers.begin(), writers.end(), [](const Writer& w) { return w.left() > 0; });
      if (parts.empty()) continue;
      const Tensor logits = on.model->decoder().forward(batch, on.cache);
      int64_t row = 0;
      for (const auto& [i, first, count] : parts) {
        expect_identical(narrow(logits, 0, row, count).contiguous(),
                         narrow(whole[static_cast<size_t>(i)], 0, first, count).contiguous(),
                         cat("writer ", i, " from token ", first));
        row += count;
      }
    }
  }
}

TEST(WhisperTest, OnlyTheRowsAskedFor) {
  const WhisperFixture on;
  const Tensor mel = on.without_batch("input_features");
  Writer all(*on.model, mel, some_tokens(9, 4)), last(*on.model, mel, some_tokens(9, 4), 8);
  ForwardBatch batch;
  last.add_to(batch, 9);
  batch.logit_rows = {2, 8};
  const Tensor some = on.model->decoder().forward(batch, on.cache), whole = all.run(on, 9);
  expect_identical(narrow(some, 0, 0, 1).contiguous(), narrow(whole, 0, 2, 1).contiguous(), "row 2");
  expect_identical(narrow(some, 0, 1, 1).contiguous(), narrow(whole, 0, 8, 1).contiguous(), "row 8");
}

TEST(WhisperTest, RefusesWhatDoesNotFit) {
  const WhisperFixture on;
  const Tensor mel = on.without_batch("input_features");
  EXPECT_ERROR(on.model->encoder().encode(narrow(mel, 1, 0, 199)), kInvalidArgument,
               "a spectrogram is f32 [80, 199], expected f32 [80, 200]");
  EXPECT_ERROR(on.model->encoder().encode(Tensor()), kInvalidArgument, "a spectrogram is undefined");
  EXPECT_ERROR(on.model->decoder().state_for(zeros({99, 64})), kInvalidArgument,
               "the encoder's output is [99, 64], expected [100, 64]");
  Writer writer(*on.model, mel, some_tokens(70, 1));
  EXPECT_ERROR(Writer(writer).run(on, 65), kInvalidArgument, "reaches position 65, the model's context is 64");
  writer.state.tensors.pop_back();
  EXPECT_ERROR(Writer(writer).run(on, 3), kInvalidArgument, "the state of sequence 0 has 6 tensors, expected 7");
  writer = Writer(*on.model, mel, some_tokens(70, 1));
  writer.state.tensors[3] = zeros({7, 4, 16, 15});
  EXPECT_ERROR(Writer(writer).run(on, 3), kInvalidArgument,
               "the state of sequence 0 is f32 [7, 4, 16, 15], expected f32 [7, 4, 16, 16]");
  EXPECT_ERROR(on.model->decoder().state_for(zeros({100, 64}), DType::kI8), kInvalidArgument,
               "a state in i8 is asked for, expected f32, f16 or bf16");
  writer.state = {};
  EXPECT_ERROR(Writer(writer).run(on, 3), kInvalidArgument, "sequence 0 has no state");
}

std::string load_error(const std::filesystem::path& folder, const ModelOptions& options = {}) {
  try {
    Whisper::load(folder, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WhisperLoadTest, SaysWhatIsWrong) {
  const char* const cases[][3] = {
      {"\"d_model\": 64", "\"d_model\": 0", "config.json: d_model = 0, expected 1 to 65536"},
      {"\"d_model\": 64", "\"d_model\": 62",
       "config.json: d_model = 62, which does not divide by encoder_attention_heads = 4"},
      {"\"decoder_attention_heads\": 4", "\"decoder_attention_heads\": 3", "decoder_attention_heads = 3"},
      {"\"encoder_layers\": 2", "\"encoder_layers\": 3",
       "tensor 'model.encoder.layers.2.self_attn_layer_norm.weight' [64] is missing (and 14 more)"},
      {"\"decoder_layers\": 2", "\"decoder_layers\": 3",
       "tensor 'model.decoder.layers.2.self_attn_layer_norm.weight' [64] is missing (and 23 more)"},
      {"\"max_source_positions\": 100", "\"max_source_positions\": 101",
       "tensor 'model.encoder.embed_positions.weight' is [100, 64], but the settings make it [101, 64]"},
      {"\"vocab_size\": 200", "\"vocab_size\": \"many\"", "'vocab_size' is text, expected a whole number"},
      {"\"max_target_positions\": 64", "\"max_positions\": 64", "has no 'max_target_positions'"},
      {"\"model_type\": \"whisper\"", "\"model_type\": \"hum\"", "is not that of a whisper"},
  };
  for (const auto& [from, to, message] : cases) {
    const TempFolder temp;
    copy_model(family_folder("whisper"), temp.path(), from, to);
    const std::string error = load_error(temp.path());
    EXPECT_NE(error.find(message), std::string::npos) << to << ": " << error;
  }
  ModelOptions options;
  options.context = 65;
  EXPECT_EQ(load_error(family_folder("whisper"), options),
            "a context of 65 is asked for, but this whisper knows 64 positions");
}

TEST(WhisperLoadTest, PlansTheWholeFile) {
  const WeightSource source(Checkpoint::open(family_folder("whisper") / "model.safetensors"));
  const ModelPlan plan = Whisper::plan(source);
  EXPECT_EQ(plan.family, "whisper");
  EXPECT_TRUE(plan.preflight.ok()) << plan.preflight.sentence();
  EXPECT_EQ(plan.preflight.wanted, static_cast<int64_t>(source.names().size()));
}

}  // namespace
}  // namespace wick
