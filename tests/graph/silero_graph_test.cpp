// Silero's voice detector as the graph that it is, beside the scorer that is written for it.
#include <gtest/gtest.h>

#include "graph/graph_model.h"
#include "media/audio_reader.h"
#include "ops/rearrange.h"
#include "speech/silero_file.h"
#include "support/fixtures.h"
#include "tensor/create.h"

namespace wick::graph {
namespace {

TEST(SileroGraph, ScoresAsTheScorerDoes) {
  if (fixture_folders("silero-vad").empty())
    GTEST_SKIP() << "WICK_EXTRA_FIXTURES names no folder with silero-vad in it";
  const auto path = fixture_folders("silero-vad").front() / "silero_vad.onnx";
  const auto model = GraphModel::open(path);
  for (const int rate : {16000, 8000}) {
    SCOPED_TRACE(rate);
    AudioOptions options;
    options.sample_rate = rate;
    const auto sound = read_all(*open_audio(fixture_folders("silero").at(0) / "speech.wav", options), rate * 60);
    SileroScorer scorer(load_silero(path, rate));
    const int64_t window = scorer.window();
    Tensor context = zeros({1, window / 8}), state = zeros({2, 1, 128});
    float most = 0, least = 1;
    for (int64_t at = 0; at + window <= std::ssize(sound); at += window) {
      const auto samples = std::span(sound).subspan(static_cast<size_t>(at), static_cast<size_t>(window));
      const Tensor piece = from_span(samples, {1, window});
      const auto outputs =
          model->run({{"input", concat({context, piece}, 1)}, {"state", state}, {"sr", scalar(rate, DType::kI64)}});
      const float score = static_cast<float>(outputs.at("output").tensor().item());
      EXPECT_NEAR(score, scorer.score(samples), 1e-4) << at;
      most = std::max(most, score), least = std::min(least, score);
      state = outputs.at("stateN").tensor();
      context = from_span(samples.last(static_cast<size_t>(window / 8)), {1, window / 8});
    }
    EXPECT_GT(most, 0.9);
    EXPECT_LT(least, 0.3);
  }
}

}  // namespace
}  // namespace wick::graph
