// LFM2-Audio against what PyTorch computes: features, encoder, prompts, and greedy answers of text and sound.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "speech/lfm2_audio/lfm2_audio_task.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

class Lfm2AudioTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    WICK_NEEDS_FIXTURE(GetParam());
    model_ = Lfm2Audio::load(family_folder(GetParam()));
    reference_.emplace(Checkpoint::open(family_folder(GetParam()) / "reference.safetensors"));
  }
  Tensor get(const std::string& name) const { return reference_->get(name); }
  // [1, rows, ...] or [1, channels, rows] as rows.
  static Tensor rows(const Tensor& x) { return reshape(x, {x.dim(1), x.dim(2)}); }

  // The rows of a prompt: tokens, clips and earlier frames in the order of the flags.
  Tensor prompt(const std::string& run) const {
    const std::vector<int32_t> text = get(run + ".text").to_vector<int32_t>();
    const std::vector<int64_t> flags = get(run + ".modality_flag").to_vector<int64_t>();
    std::vector<Tensor> heard, parts;
    if (reference_->find(run + ".audio_in")) {
      const Tensor mels = transpose(get(run + ".audio_in"), 0, 1).contiguous();
      int64_t at = 0;
      for (const int64_t frames : get(run + ".audio_in_lens").to_vector<int64_t>()) {
        heard.push_back(model_->adapt(model_->encoder()(narrow(mels, 0, at, frames).contiguous())));
        at += frames;
      }
    }
    std::vector<int32_t> said;
    if (reference_->find(run + ".audio_out")) said = transpose(get(run + ".audio_out"), 0, 1).to_vector<int32_t>();
    const Tensor all_heard = heard.empty() ? Tensor() : concat(heard, 0);
    const auto books = static_cast<size_t>(model_->config().codebooks);
    int64_t token = 0, row = 0, frame = 0;
    for (const int64_t flag : flags) {
      if (flag == 1) parts.push_back(model_->text_rows(std::span(text).subspan(static_cast<size_t>(token++), 1)));
      if (flag == 2) parts.push_back(narrow(all_heard, 0, row++, 1));
      if (flag == 3)
        parts.push_back(model_->frame_rows(std::span(said).subspan(static_cast<size_t>(frame++) * books, books)));
    }
    return concat(parts, 0);
  }

  std::unique_ptr<Lfm2Audio> model_;
  std::optional<Checkpoint> reference_;
};

TEST_P(Lfm2AudioTest, FeaturesAndEncoderArePyTorchs) {
  for (const std::string clip : {"0", "1"}) {
    const Tensor mel = nemo_log_mel(get("audio_" + clip).to_vector<float>(), 128);
    const Tensor expected = transpose(rows(get("mel_" + clip)), 0, 1).contiguous();
    EXPECT_LT(relative_error(mel, expected), 2e-5) << clip;
  }
  const Tensor both = get("conformer_in");  // [2, bins, frames]
  const std::vector<int64_t> lengths = get("conformer_in_lens").to_vector<int64_t>();
  const auto clip = [&](int64_t i) {
    return transpose(narrow(rows(narrow(both, 0, i, 1).contiguous()), 1, 0, lengths[static_cast<size_t>(i)]), 0, 1)
        .contiguous();
  };
  const Tensor first = model_->encoder()(clip(0));
  EXPECT_EQ(first.dim(0), FastConformer::rows_of(lengths[0]));
  const Tensor out = get("conformer_out");  // [2, width, rows]
  EXPECT_LT(relative_error(first, transpose(rows(narrow(out, 0, 0, 1).contiguous()), 0, 1).contiguous()), 1e-5);
  EXPECT_LT(
      relative_error(model_->encoder()(clip(1)), transpose(rows(get("conformer_out_1_alone")), 0, 1).contiguous()),
      1e-5);
  EXPECT_LT(relative_error(model_->adapt(first), get("audio_adapter")), 1e-5);
  EXPECT_ERROR(nemo_log_mel(std::vector<float>(319), 128), kInvalidArgument, "319 samples is too short");
}

TEST_P(Lfm2AudioTest, AnswersArePyTorchs) {
  struct Run {
    const char* name;
    AudioTurns turns;
    int64_t steps;
  };
  constexpr Run kRuns[] = {{"interleaved", AudioTurns::kInterleaved, 34},
                           {"tts", AudioTurns::kSequential, 26},
                           {"asr", AudioTurns::kSequential, 14},
                           {"two_clips_and_history", AudioTurns::kInterleaved, 18}};
  for (const Run& run : kRuns) {
    const std::string name = run.name;
    const Tensor rows = prompt(name);
    EXPECT_LT(relative_error(rows, reshape(get(name + ".in_emb"), rows.shape())), 1e-5) << name;
    Lfm2AudioOptions options;
    options.turns = run.turns;
    options.text.temperature = options.audio.temperature = 0;
    options.most_steps = run.steps;
    std::vector<int32_t> text, modality, codes;
    std::optional<StopReason> reason;
    Lfm2AudioListener listener;
    listener.text = [&](int32_t token) {
      text.push_back(token);
      modality.push_back(1);
    };
    listener.frame = [&](std::span<const int32_t> frame) {
      codes.insert(codes.end(), frame.begin(), frame.end());
      modality.push_back(3);
    };
    listener.over = [&](StopReason why, const Error* error) {
      reason = why;
      EXPECT_EQ(error, nullptr) << error->what();
    };
    EngineOptions engine_options{.context = 128, .kv_dtype = DType::kF32};
    engine_options.kv_bytes = 32 * KvCache::bytes_per_block(model_->backbone().facts().kv_layers, DType::kF32);
    engine_options.max_batch_tokens = 7;  // prompts are read in pieces
    Engine engine(model_->backbone(), engine_options, 128);
    Lfm2AudioRunner runner(*model_);
    runner.use(engine.cache());
    engine.submit(std::make_shared<Lfm2AudioTask>(runner, rows, options, 128, listener));
    engine.run_until([&] { return reason.has_value(); });
    EXPECT_EQ(text, get(name + ".out_text").to_vector<int32_t>()) << name;
    EXPECT_EQ(modality, get(name + ".out_modality").to_vector<int32_t>()) << name;
    const std::vector<int32_t> expected = reference_->find(name + ".out_audio")
                                              ? transpose(get(name + ".out_audio"), 0, 1).to_vector<int32_t>()
                                              : std::vector<int32_t>();
    EXPECT_EQ(codes, expected) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Lfm2AudioTest, testing::Values("lfm2_audio", "lfm2_audio-8codebooks"),
                         [](const auto& test) { return std::string(test.param) == "lfm2_audio" ? "three" : "eight"; });

TEST(Lfm2Audio, SettingsThatAreNotUnderstoodAreRefused) {
  WICK_NEEDS_FIXTURE("lfm2_audio");
  const TempFolder folder;
  const auto changed = [&](const char* from, const char* to) {
    copy_model(family_folder("lfm2_audio"), folder.path() / "a", from, to);
    return folder.path() / "a";
  };
  EXPECT_ERROR(Lfm2Audio::load(changed("dw_striding", "striding")), kUnsupported, "subsampling = 'striding'");
  EXPECT_ERROR(Lfm2Audio::load(changed("rel_pos", "abs_pos")), kUnsupported, "self_attention_model");
  EXPECT_ERROR(Lfm2Audio::load(changed("\"codebooks\": 3", "\"codebooks\": 4")), kBadFile,
               "depth_embeddings.3.embedding.weight");
}

}  // namespace
}  // namespace wick
