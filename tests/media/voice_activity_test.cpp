#include "media/voice_activity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>

#include "media/audio_files.h"
#include "media/energy_scorer.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kSecond = 16000;

// Hands out scores that were written down; windows of 160 samples.
class Script : public VoiceScorer {
 public:
  explicit Script(std::vector<float> scores) : scores_(std::move(scores)) {}
  int64_t window() const override { return 160; }
  float score(std::span<const float>) override { return scores_.at(at_++); }
  void reset() override { at_ = 0; }

 private:
  std::vector<float> scores_;
  size_t at_ = 0;
};

// Scores by runs: {{0.1f, 30}, {0.9f, 50}} is 30 windows of 0.1, then 50 of 0.9.
std::vector<SpeechSegment> segments_of(const std::vector<std::pair<float, int>>& runs, const SegmentOptions& options) {
  std::vector<float> scores;
  for (const auto& [score, count] : runs) scores.insert(scores.end(), static_cast<size_t>(count), score);
  return find_speech(std::vector<float>(scores.size() * 160), std::make_unique<Script>(scores), options);
}

std::vector<SpeechSegment> in_windows(std::vector<SpeechSegment> segments) {
  for (SpeechSegment& segment : segments) segment = {segment.begin / 160, segment.end / 160};
  return segments;
}

TEST(VoiceActivity, HysteresisAndDurations) {
  using Segments = std::vector<SpeechSegment>;
  const SegmentOptions options;  // 10 windows of silence, 25 of speech, 3 of padding
  EXPECT_EQ(in_windows(segments_of({{0.1f, 100}}, options)), Segments{});
  EXPECT_EQ(in_windows(segments_of({{0.1f, 30}, {0.9f, 50}, {0.1f, 50}}, options)), (Segments{{27, 83}}));
  // Between the two marks speech goes on, but does not begin.
  EXPECT_EQ(in_windows(segments_of({{0.1f, 30}, {0.9f, 30}, {0.4f, 50}, {0.1f, 50}}, options)), (Segments{{27, 113}}));
  EXPECT_EQ(in_windows(segments_of({{0.4f, 100}}, options)), Segments{});
  // A pause that is too short, one that is just long enough, and a pause that is interrupted.
  EXPECT_EQ(in_windows(segments_of({{0.9f, 30}, {0.1f, 9}, {0.9f, 30}}, options)), (Segments{{0, 69}}));
  EXPECT_EQ(in_windows(segments_of({{0.9f, 30}, {0.1f, 10}, {0.9f, 30}}, options)), (Segments{{0, 33}, {37, 70}}));
  EXPECT_EQ(in_windows(segments_of({{0.9f, 30}, {0.1f, 9}, {0.9f, 1}, {0.1f, 9}, {0.9f, 1}}, options)),
            (Segments{{0, 50}}));
  // Speech that is too short, and just long enough; the pause behind it does not count.
  EXPECT_EQ(in_windows(segments_of({{0.9f, 24}, {0.1f, 60}}, options)), Segments{});
  EXPECT_EQ(in_windows(segments_of({{0.9f, 25}, {0.1f, 60}}, options)), (Segments{{0, 28}}));
  EXPECT_EQ(in_windows(segments_of({{0.9f, 24}, {0.1f, 5}}, options)), Segments{});
  // Padding that would overlap does not, and does not leave the sound.
  const SegmentOptions wide{.min_silence = 50, .padding = 100};
  EXPECT_EQ(in_windows(segments_of({{0.9f, 30}, {0.1f, 6}, {0.9f, 30}}, wide)), (Segments{{0, 35}, {35, 66}}));
}

TEST(VoiceActivity, TellsWhoIsSpeakingNow) {
  std::vector<float> scores(20, 0.0f);
  scores.insert(scores.end(), 40, 1.0f);
  scores.insert(scores.end(), 40, 0.0f);
  VoiceActivity activity(std::make_unique<Script>(scores), {});
  const std::vector<float> window(160);
  for (int i = 0; i < 100; ++i) {
    const auto ended = activity.push(window);
    const bool is_speaking = i >= 20 + 25 - 1 && i < 60 + 10 - 1;
    EXPECT_EQ(activity.speaking_since(), is_speaking ? std::optional<int64_t>(17 * 160) : std::nullopt) << i;
    EXPECT_EQ(ended.size(), i == 69 ? 1u : 0u) << i;
  }
  EXPECT_TRUE(activity.finish().empty());
}

TEST(VoiceActivity, RefusesWhatMakesNoSense) {
  const auto with = [](const SegmentOptions& options) { VoiceActivity(std::make_unique<EnergyScorer>(), options); };
  EXPECT_ERROR(with({.start = 0.3f, .stop = 0.4f}), kInvalidArgument, "starts at a score of 0.3 and stops at 0.4");
  EXPECT_ERROR(with({.start = std::numeric_limits<float>::quiet_NaN()}), kInvalidArgument, "nan");
  EXPECT_ERROR(with({.padding = -1}), kInvalidArgument, "negative");
  VoiceActivity activity(std::make_unique<EnergyScorer>(), {});
  const std::vector<float> bad = {0, std::numeric_limits<float>::infinity()};
  EXPECT_ERROR(activity.push(bad), kBadFile, "voice activity: sample 1");
}

// ---- the energy detector ----

std::vector<float> noise(double seconds, double decibels, uint64_t seed) {
  auto samples = randn({static_cast<int64_t>(seconds * kSecond)}, seed).to_vector<float>();
  for (float& sample : samples) sample *= static_cast<float>(std::pow(10, decibels / 20));
  return samples;
}

// Adds something like speech: a buzz of 140 Hz in syllables, four a second.
void add_syllables(std::vector<float>& to, double from, double seconds, double decibels) {
  const double loudness = std::pow(10, decibels / 20) * 2;
  for (int64_t i = 0; i < static_cast<int64_t>(seconds * kSecond); ++i) {
    const double time = static_cast<double>(i) / kSecond;
    double buzz = 0;
    for (int harmonic = 1; harmonic < 12; ++harmonic)
      buzz += std::sin(2 * std::numbers::pi * 140 * harmonic * time) / harmonic;
    const double shape = std::pow(std::sin(std::numbers::pi * 4 * time), 2);
    to.at(static_cast<size_t>(from * kSecond) + static_cast<size_t>(i)) += static_cast<float>(loudness * buzz * shape);
  }
}

std::vector<SpeechSegment> find_by_energy(const std::vector<float>& samples) {
  return find_speech(samples, std::make_unique<EnergyScorer>(), SegmentOptions::for_energy());
}

double seconds_in(const std::vector<SpeechSegment>& segments) {
  int64_t total = 0;
  for (const SpeechSegment& segment : segments) total += segment.end - segment.begin;
  return static_cast<double>(total) / kSecond;
}

TEST(EnergyDetector, FindsSpeechInNoiseOfAnyLoudness) {
  for (const double floor : {-200.0, -70.0, -50.0, -35.0}) {
    auto sound = noise(8, floor, 5);
    add_syllables(sound, 2, 1.5, -14);
    add_syllables(sound, 5, 1, -14);
    const auto found = find_by_energy(sound);
    ASSERT_EQ(found.size(), 2u) << floor << " dB";
    EXPECT_NEAR(static_cast<double>(found[0].begin) / kSecond, 2, 0.15) << floor;
    EXPECT_NEAR(static_cast<double>(found[0].end) / kSecond, 3.5, 0.15) << floor;
    EXPECT_NEAR(static_cast<double>(found[1].begin) / kSecond, 5, 0.15) << floor;
    EXPECT_NEAR(static_cast<double>(found[1].end) / kSecond, 6, 0.15) << floor;
  }
}

TEST(EnergyDetector, SpeechFromTheFirstSampleOn) {
  auto sound = noise(4, -60, 9);
  add_syllables(sound, 0, 2, -14);
  const auto found = find_by_energy(sound);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].begin, 0);
  EXPECT_NEAR(static_cast<double>(found[0].end) / kSecond, 2, 0.15);
}

TEST(EnergyDetector, SteadySoundIsNoSpeech) {
  for (const double level : {-200.0, -80.0, -50.0, -30.0, -10.0}) {
    EXPECT_TRUE(find_by_energy(noise(10, level, 3)).empty()) << level << " dB of noise";
  }
  EXPECT_TRUE(find_by_energy(sine(50, 5, 0.8)).empty());
  EXPECT_TRUE(find_by_energy(sine(1000, 5, 0.5)).empty());
  EXPECT_TRUE(find_by_energy(std::vector<float>(80000, 0.7f)).empty());  // a constant
  EXPECT_TRUE(find_by_energy({}).empty());
  EXPECT_TRUE(find_by_energy(std::vector<float>(160, 0.5f)).empty());
  // A fan that starts is taken for speech for a moment, and then is the floor.
  auto sound = noise(3, -70, 1);
  const auto fan = noise(10, -30, 2);
  sound.insert(sound.end(), fan.begin(), fan.end());
  EXPECT_LT(seconds_in(find_by_energy(sound)), 1);
}

TEST(EnergyDetector, PiecesChangeNothing) {
  auto sound = noise(6, -50, 5);
  add_syllables(sound, 1, 1.5, -20);
  add_syllables(sound, 4, 2, -20);
  // The second ends speech before all of its padding is there.
  for (const auto& options : {SegmentOptions::for_energy(), SegmentOptions{.min_silence = 50, .padding = 100}}) {
    const auto whole = find_speech(sound, std::make_unique<EnergyScorer>(), options);
    ASSERT_GE(whole.size(), 2u);
    VoiceActivity activity(std::make_unique<EnergyScorer>(), options);
    for (const size_t piece : {1u, 77u, 512u, 30000u}) {  // the same object again: finish() starts anew
      std::vector<SpeechSegment> found;
      for (size_t at = 0; at < sound.size(); at += piece) {
        for (const auto& segment : activity.push(std::span(sound).subspan(at, std::min(piece, sound.size() - at)))) {
          found.push_back(segment);
        }
      }
      for (const auto& segment : activity.finish()) found.push_back(segment);
      EXPECT_EQ(found, whole) << piece;
    }
  }
}

TEST(EnergyDetector, FindsSpokenSentences) {
  const TempFolder folder;
  const std::string path = (folder.path() / "speech.wav").string();
  const std::string command =
      "espeak-ng -v en -w " + path + " 'The quick brown fox jumps over the lazy dog.' 2>/dev/null";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "espeak-ng is not installed (tools/install-deps speech)";
  const auto speech = read_all(*open_audio(path), 1 << 20);
  const auto length = static_cast<double>(speech.size()) / kSecond;
  auto sound = noise(2 * length + 6, -55, 4);
  const size_t places[] = {2 * kSecond, static_cast<size_t>((4 + length) * kSecond)};
  for (const size_t place : places) {
    for (size_t i = 0; i < speech.size(); ++i) sound[place + i] += speech[i];
  }
  const auto found = find_by_energy(sound);
  int64_t covered = 0, outside = 0;
  for (const SpeechSegment& segment : found) {
    for (int64_t i = segment.begin; i < segment.end; ++i) {
      bool inside = false;
      for (const size_t place : places)
        inside |= i >= static_cast<int64_t>(place) && i < static_cast<int64_t>(place + speech.size());
      (inside ? covered : outside) += 1;
    }
  }
  EXPECT_GT(static_cast<double>(covered), 0.8 * 2 * static_cast<double>(speech.size()));
  EXPECT_LT(outside, 4 * kSecond / 4);
}

}  // namespace
}  // namespace wick
