// Qwen3-TTS against what PyTorch computes, from the prompt's rows to the waveform, and in the engine.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "ops/binary.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "speech/qwen3_tts/tts_task.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::vector<int32_t> part_of(const std::vector<int32_t>& all, size_t begin, size_t from_end) {
  return {all.begin() + static_cast<ptrdiff_t>(begin), all.end() - static_cast<ptrdiff_t>(from_end)};
}

// The fixture of voices that are described shares the codec of the one with speakers.
std::unique_ptr<Qwen3Tts> load_tts(const std::string& name) {
  const fs::path folder = family_folder(name);
  if (is_directory(folder / "speech_tokenizer")) return Qwen3Tts::load(folder);
  return Qwen3Tts::load(WeightSource(Checkpoint::open(folder)),
                        load_codec(family_folder("qwen3_tts-talker") / "speech_tokenizer"));
}

struct TtsCase {
  const char* folder;
  const char* prompt;
  const char* language;
  const char* speaker = "";
  bool streams = false;
  int row = -1;  // of a batch
};

std::ostream& operator<<(std::ostream& out, const TtsCase& test) { return out << test.folder << ' ' << test.prompt; }

// One fixture's prompt as tokens, with what must come of it.
struct TtsReference {
  TtsReference(const TtsCase& test, const Qwen3Tts& model)
      : file(Checkpoint::open(family_folder(test.folder) / "reference.safetensors")), name(cat(test.prompt, ".")) {
    const std::string row = test.row < 0 ? "" : cat("_", test.row);
    const std::vector<int32_t> ids = get("input_ids" + row).to_vector<int32_t>();
    input.role = part_of(ids, 0, ids.size() - 3);
    input.text = part_of(ids, 3, 5);
    if (file.find(name + "instruct_ids" + row)) input.instruction = get("instruct_ids" + row).to_vector<int32_t>();
    input.language = tts_language(model.config(), test.language, lower_name(test.speaker));
    if (*test.speaker) input.speaker = model.config().speakers.at(lower_name(test.speaker));
    if (file.find("speaker_embedding")) input.voice = file.get("speaker_embedding").contiguous();
    if (file.find(name + "ref_ids")) {
      input.reference_text = part_of(get("ref_ids").to_vector<int32_t>(), 3, 2);
      input.reference_codes = get("ref_code").to_vector<int32_t>();
    }
    input.streams_text = test.streams;
    codes = get("codes" + row).to_vector<int32_t>();
  }
  static std::string lower_name(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name;
  }
  Tensor get(const std::string& part) const { return file.get(name + part); }

  Checkpoint file;
  std::string name;
  TtsInput input;
  std::vector<int32_t> codes;
};

TtsSampling greedy(int64_t frames) {
  TtsSampling sampling;
  sampling.temperature = sampling.group_temperature = 0;
  sampling.max_frames = frames;
  return sampling;
}

// What a task told.
struct HeardFrames {
  std::vector<int32_t> codes;
  std::optional<StopReason> reason;
  std::string error;

  TtsListener listener() {
    return {[this](std::span<const int32_t> news) { codes.insert(codes.end(), news.begin(), news.end()); },
            [this](StopReason why, const Error* what) {
              reason = why;
              if (what) error = what->what();
            }};
  }
};

EngineOptions engine_options(const Qwen3Tts& model, int64_t blocks = 64) {
  EngineOptions options{.context = 256, .kv_dtype = DType::kF32, .max_running = 8};
  options.kv_bytes = blocks * KvCache::bytes_per_block(model.talker().facts().kv_layers, DType::kF32);
  options.max_batch_tokens = 40;
  return options;
}

class TtsFixtureTest : public testing::TestWithParam<TtsCase> {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE(GetParam().folder); }
};

TEST_P(TtsFixtureTest, EveryStageIsPyTorchs) {
  const auto model = load_tts(GetParam().folder);
  const TtsReference reference(GetParam(), *model);
  const TtsPrompt prompt = make_tts_prompt(*model, reference.input);
  const bool is_batch = GetParam().row >= 0;
  if (!is_batch) {
    EXPECT_LT(relative_error(prompt.rows, reshape(reference.get("prefill_embeds"), prompt.rows.shape())), 5e-6);
    EXPECT_LT(relative_error(prompt.trailing, reshape(reference.get("trailing_text"), prompt.trailing.shape())), 5e-6);
    EXPECT_LT(relative_error(prompt.pad, reshape(reference.get("tts_pad_embed"), prompt.pad.shape())), 5e-6);
    const Tensor steps = reference.get("step_embeds");  // [1, frames, hidden]
    const Tensor frames = model->frame_rows(reference.codes);
    const int64_t text = std::min(prompt.trailing.dim(0), frames.dim(0));
    std::vector<Tensor> rows = {narrow(prompt.trailing, 0, 0, text)};
    for (int64_t i = text; i < frames.dim(0); ++i) rows.push_back(prompt.pad);
    EXPECT_LT(relative_error(add(frames, concat(rows, 0)), reshape(steps, frames.shape())), 5e-6);

    // All rows at once: what the talker thinks, and the logits of it.
    const Tensor all = concat({prompt.rows, add(frames, concat(rows, 0))}, 0);
    const KvCache cache(model->talker().facts().kv_layers, 16, DType::kF32, Device::cpu());
    const InputEmbeddings given{0, all};
    std::vector<int32_t> blocks(16);
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<int32_t>(i);
    ForwardBatch batch;
    batch.tokens.assign(static_cast<size_t>(all.dim(0)), 0);
    for (int64_t i = 0; i < all.dim(0); ++i) batch.logit_rows.push_back(i);
    batch.sequences.push_back({all.dim(0), 0, blocks, nullptr, nullptr, {&given, 1}});
    const Tensor thought = model->talker().forward(batch, cache);
    const Tensor read = narrow(thought, 0, 0, prompt.rows.dim(0));
    EXPECT_LT(relative_error(read, reshape(reference.get("prefill_hidden"), read.shape())), 1e-5);
    const Tensor made = narrow(thought, 0, prompt.rows.dim(0) - 1, frames.dim(0) + 1);
    EXPECT_LT(relative_error(made, reshape(reference.get("step_hidden"), made.shape())), 1e-5);
    const Tensor logits = model->first_logits(made);
    EXPECT_LT(relative_error(logits, reshape(reference.get("logits"), logits.shape())), 1e-5);
  }

  TtsRunner runner(*model);
  Engine engine(model->talker(), engine_options(*model), 256);
  runner.use(engine.cache());
  HeardFrames heard;
  engine.submit(std::make_shared<TtsTask>(runner, prompt, greedy(12), 256, heard.listener()));
  engine.run_until([&] { return heard.reason.has_value(); });
  EXPECT_EQ(heard.codes, reference.codes);
  EXPECT_EQ(*heard.reason, reference.codes.size() == 12 * 16 ? StopReason::kLength : StopReason::kEndOfText);
  if (is_batch || !reference.file.find(reference.name + "waveform")) return;
  std::vector<int32_t> sounding = reference.input.reference_codes;
  const size_t cut = sounding.size() / 16 * static_cast<size_t>(model->codec().facts().frame_samples);
  sounding.insert(sounding.end(), heard.codes.begin(), heard.codes.end());
  std::vector<float> samples = model->codec().decode(sounding);
  samples.erase(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(cut));
  const auto size = static_cast<int64_t>(samples.size());
  EXPECT_LT(relative_error(from_vector(samples, {size}), reference.get("waveform")), 5e-5);
}

constexpr TtsCase kTtsCases[] = {
    {"qwen3_tts-talker", "streaming", "English", "Vivian", true},
    {"qwen3_tts-talker", "whole_text", "English", "Vivian"},
    {"qwen3_tts-talker", "instruct_auto", "Auto", "Vivian"},
    {"qwen3_tts-talker", "dialect", "Auto", "Eric", true},
    {"qwen3_tts-talker", "batch", "Chinese", "Vivian", false, 0},
    {"qwen3_tts-talker", "batch", "English", "Eric", false, 1},
    {"qwen3_tts-talker-voice_design", "whole_text", "English"},
    {"qwen3_tts-talker-voice_design", "streaming", "Auto", "", true},
    {"qwen3_tts-talker-voice_design", "no_instruct", "German"},
    {"qwen3_tts-talker-base", "x_vector", "English", "", true},
    {"qwen3_tts-talker-base", "x_vector_whole_text", "English"},
    {"qwen3_tts-talker-base", "clone_few_codes", "English", "", true},
    {"qwen3_tts-talker-base", "clone_many_codes", "English", "", true},
    {"qwen3_tts-talker-base", "clone_whole_text", "English"},
};
INSTANTIATE_TEST_SUITE_P(Prompts, TtsFixtureTest, testing::ValuesIn(kTtsCases), [](const auto& test) {
  std::string name = cat(test.param.folder, "_", test.param.prompt, test.param.row < 0 ? "" : cat("_", test.param.row));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Speakers in one engine, with too little memory, some of whom leave: each says what it says alone.
TEST(Qwen3Tts, EachSpeaksAsAlone) {
  WICK_NEEDS_FIXTURE("qwen3_tts-talker");
  const auto model = Qwen3Tts::load(family_folder("qwen3_tts-talker"));
  const auto input = [&](uint32_t seed) {
    TtsInput input;
    input.role = {164, 166, 10};
    for (const int32_t token : some_tokens(1 + seed % 20, seed, 160)) input.text.push_back(token);
    if (seed % 3 == 0) input.instruction = some_tokens(5 + seed % 7, seed + 99, 160);
    if (seed % 2 == 0) input.language = model->config().languages.at("english");
    input.speaker = model->config().speakers.at(seed % 5 == 0 ? "eric" : "vivian");
    input.streams_text = seed % 4 == 1;
    return input;
  };
  const auto sampling = [](uint32_t seed) {
    TtsSampling sampling;
    sampling.seed = seed;
    sampling.max_frames = 3 + seed % 23;
    return sampling;
  };
  TtsRunner runner(*model);
  std::map<uint32_t, std::vector<int32_t>> right;
  for (uint32_t seed = 0; seed < 24; ++seed) {
    Engine engine(model->talker(), engine_options(*model), 256);
    runner.use(engine.cache());
    HeardFrames heard;
    engine.submit(
        std::make_shared<TtsTask>(runner, make_tts_prompt(*model, input(seed)), sampling(seed), 256, heard.listener()));
    engine.run_until([&] { return heard.reason.has_value(); });
    EXPECT_EQ(heard.codes.size() % 16, 0u);
    right[seed] = heard.codes;
  }
  EXPECT_NE(right[1], right[2]);
  Engine engine(model->talker(), engine_options(*model, 16), 256);
  runner.use(engine.cache());
  std::vector<HeardFrames> heard(24);
  std::vector<RequestId> ids;
  for (uint32_t seed = 0; seed < 24; ++seed) {
    const auto priority = static_cast<Priority>(seed % 3);
    ids.push_back(*engine.submit(std::make_shared<TtsTask>(runner, make_tts_prompt(*model, input(seed)), sampling(seed),
                                                           256, heard[seed].listener(), Client{}, priority)));
    if (seed % 3 == 2) engine.step();
    if (seed % 7 == 6) engine.cancel(ids[seed - 3]);
  }
  for (int steps = 0; engine.step(); ++steps) ASSERT_LT(steps, 5000);
  for (uint32_t seed = 0; seed < 24; ++seed) {
    ASSERT_TRUE(heard[seed].reason) << seed;
    EXPECT_EQ(heard[seed].error, "");
    if (*heard[seed].reason == StopReason::kCancelled) {
      ASSERT_LE(heard[seed].codes.size(), right[seed].size());
      EXPECT_TRUE(std::equal(heard[seed].codes.begin(), heard[seed].codes.end(), right[seed].begin())) << seed;
    } else {
      EXPECT_EQ(heard[seed].codes, right[seed]) << seed;
    }
  }
  const EngineSnapshot snapshot = engine.snapshot();
  EXPECT_GT(snapshot.counters.preemptions, 0);
  EXPECT_EQ(snapshot.blocks_free + snapshot.blocks_cached, snapshot.blocks_total);
}

TEST(Qwen3Tts, SpeakerEncoderIsPyTorchs) {
  WICK_NEEDS_FIXTURE("qwen3_tts-speaker-encoder");
  const fs::path folder = family_folder("qwen3_tts-speaker-encoder");
  const WeightSource source(Checkpoint::open(folder));
  const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
  SpeakerEncoderConfig config;
  config.width = 32;
  config.squeezed = config.attention = 16;
  config.output = 64;
  config.mixed = 96;
  config.kernels = {5, 3, 3, 3, 1};
  config.dilations = {1, 2, 3, 4, 1};
  WeightLoader loader(source, {});
  const SpeakerEncoder encoder(config, loader);
  for (const std::string which : {"", "short_"}) {
    const std::vector<float> sound = reference.get(which + "audio").to_vector<float>();
    const Tensor mel = encoder.log_mel(sound);
    EXPECT_LT(relative_error(mel, reshape(reference.get(which + "mel"), mel.shape())), 1e-5) << which;
    EXPECT_LT(relative_error(encoder(sound), reshape(reference.get(which + "embedding"), {64})), 2e-5) << which;
  }
  EXPECT_ERROR(encoder(std::vector<float>(2000)), kInvalidArgument, "2000 samples is too short");
}

TEST(Qwen3Tts, CloneOfAClip) {
  WICK_NEEDS_FIXTURE("qwen3_tts-talker-base");
  const auto model = Qwen3Tts::load(family_folder("qwen3_tts-talker-base"));
  const Checkpoint reference = Checkpoint::open(family_folder("qwen3_tts-talker-base") / "reference.safetensors");
  ASSERT_NE(model->speaker_encoder(), nullptr);
  const Tensor voice = (*model->speaker_encoder())(reference.get("reference_audio").to_vector<float>());
  EXPECT_LT(relative_error(voice, reference.get("speaker_embedding")), 2e-5);
}

TEST(Qwen3Tts, WhatIsAskedForMustBeThere) {
  WICK_NEEDS_FIXTURE("qwen3_tts-talker");
  const auto model = Qwen3Tts::load(family_folder("qwen3_tts-talker"));
  const TtsConfig& config = model->config();
  EXPECT_EQ(tts_speaker(config, "VIVIAN"), "vivian");
  EXPECT_ERROR(tts_speaker(config, "bob"), kInvalidArgument, "there is no voice 'bob'; there are eric, vivian");
  EXPECT_ERROR(tts_language(config, "klingon", ""), kInvalidArgument, "chinese, english, german");
  EXPECT_EQ(tts_language(config, "Chinese", "eric"), config.languages.at("sichuan_dialect"));
  EXPECT_EQ(tts_language(config, "English", "eric"), config.languages.at("english"));
  EXPECT_EQ(tts_language(config, "", "vivian"), std::nullopt);
  EXPECT_ERROR(make_tts_prompt(*model, {}), kInvalidArgument, "no text to say");
  TtsInput input;
  input.role = {164, 166, 10};
  input.text = {5};
  TtsRunner runner(*model);
  EXPECT_ERROR(TtsTask(runner, make_tts_prompt(*model, input), {}, 10, {}), kInvalidArgument, "leaves no room");
  // The talker has no embeddings of its own: a position without a row is a mistake.
  const KvCache cache(model->talker().facts().kv_layers, 1, DType::kF32, Device::cpu());
  const std::vector<int32_t> blocks = {0};
  ForwardBatch batch;
  batch.tokens = {0};
  batch.logit_rows = {0};
  batch.sequences.push_back({1, 0, blocks});
  EXPECT_ERROR(model->talker().forward(batch, cache), kInvalidArgument, "brings 0 rows for 1 positions");
  const TempFolder folder;
  copy_model(family_folder("qwen3_tts-talker"), folder.path() / "a", "custom_voice", "singing");
  EXPECT_ERROR(Qwen3Tts::load(folder.path() / "a"), kIo, "speech_tokenizer");
  fs::copy(family_folder("qwen3_tts-talker") / "speech_tokenizer", folder.path() / "a" / "speech_tokenizer");
  EXPECT_ERROR(Qwen3Tts::load(folder.path() / "a"), kUnsupported, "tts_model_type 'singing'");
}

}  // namespace
}  // namespace wick
