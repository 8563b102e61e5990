#include "media/piece_cutter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "media/energy_scorer.h"
#include "support/errors.h"

namespace wick {
namespace {

constexpr int64_t kRate = 16000;

// Something like speech: noise whose level moves, in a quiet room.
class Room {
 public:
  void pause(double seconds) {
    add(seconds, [](int64_t) { return 0.0; });
  }
  void speech(double seconds) {
    add(seconds, [](int64_t at) { return 0.1 * (1.2 + std::sin(static_cast<double>(at) * 2 * M_PI / 4000)); });
  }
  std::vector<float> sound;

 private:
  template <typename Level>
  void add(double seconds, Level level) {
    for (int64_t i = 0; i < static_cast<int64_t>(seconds * kRate); ++i) {
      sound.push_back(static_cast<float>((level(i) + 1e-4) * noise_(random_)));
    }
  }
  std::mt19937 random_{3};
  std::normal_distribution<double> noise_;
};

std::vector<SoundPiece> cut(const std::vector<float>& sound, const PieceOptions& options, size_t portion) {
  PieceCutter cutter(options);
  std::vector<SoundPiece> pieces;
  const auto take = [&](std::vector<SoundPiece> more) { pieces.insert(pieces.end(), more.begin(), more.end()); };
  for (size_t at = 0; at < sound.size(); at += portion) {
    take(cutter.push(std::span(sound).subspan(at, std::min(portion, sound.size() - at))));
    if (const auto since = cutter.open_since()) {
      EXPECT_EQ(std::ssize(cutter.open_samples()), cutter.samples() - *since);
    }
  }
  take(cutter.finish());
  EXPECT_EQ(cutter.samples(), std::ssize(sound));
  return pieces;
}

TEST(PieceCutter, EndsPiecesAtPauses) {
  Room room;
  room.pause(2);
  room.speech(3);
  room.pause(0.6);  // too short to end a piece
  room.speech(2);
  room.pause(5);
  room.speech(1);
  room.pause(0.5);
  const auto pieces = cut(room.sound, {}, 1600);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_NEAR(static_cast<double>(pieces[0].begin) / kRate, 1.6, 0.1);
  EXPECT_NEAR(static_cast<double>(pieces[0].end()) / kRate, 8.0, 0.1);
  EXPECT_NEAR(static_cast<double>(pieces[1].begin) / kRate, 12.2, 0.1);
  EXPECT_EQ(pieces[1].end(), std::ssize(room.sound));  // a short pause at the end stays
}

TEST(PieceCutter, APauseIsWhatTheOptionsSay) {
  Room room;
  room.speech(2);
  room.pause(0.6);
  room.speech(2);
  room.pause(1.5);
  room.speech(2);
  const auto pieces = [&](const PauseOptions& pauses) { return cut(room.sound, {.pauses = pauses}, 1000); };
  EXPECT_EQ(pieces({}).size(), 2u);
  EXPECT_EQ(pieces({.least = 2000}).size(), 1u);
  const std::vector<SoundPiece> three = pieces({.least = 400, .kept = 100});
  ASSERT_EQ(three.size(), 3u);
  EXPECT_NEAR(static_cast<double>(three[0].end()) / kRate, 2.1, 0.15);
  EXPECT_NEAR(static_cast<double>(three[1].begin) / kRate, 2.5, 0.15);
  // More than the pause itself is not kept, and pieces never overlap.
  const std::vector<SoundPiece> close = pieces({.least = 400, .kept = 5000});
  ASSERT_EQ(close.size(), 3u);
  EXPECT_LE(close[0].end(), close[1].begin);
  EXPECT_LE(close[1].end(), close[2].begin);
  EXPECT_ERROR(pieces({.least = -1}), kInvalidArgument, "a duration is negative");
  EXPECT_ERROR(pieces({.threshold = 2}), kInvalidArgument, "speech starts at a score of 2");
}

TEST(PieceCutter, KeepsShortSoundWhole) {
  Room room;
  room.pause(0.7);
  room.speech(2);
  room.pause(0.7);
  const auto pieces = cut(room.sound, {}, 999);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].begin, 0);
  EXPECT_EQ(pieces[0].samples, room.sound);
}

TEST(PieceCutter, CutsLongSpeechAtItsQuietestMoment) {
  Room room;
  room.speech(8.5);
  room.pause(0.2);
  room.speech(8);
  room.pause(0.2);
  room.speech(4);
  const auto pieces = cut(room.sound, {.longest = 10}, 4000);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_NEAR(static_cast<double>(pieces[0].end()) / kRate, 8.6, 0.1);
  EXPECT_NEAR(static_cast<double>(pieces[1].end()) / kRate, 16.8, 0.1);
  for (size_t i = 1; i < pieces.size(); ++i) EXPECT_EQ(pieces[i].begin, pieces[i - 1].end());
  EXPECT_EQ(pieces[2].end(), std::ssize(room.sound));
}

TEST(PieceCutter, KeepsEverythingWhenAskedTo) {
  Room room;
  room.pause(3);
  room.speech(4);
  room.pause(7.77);
  std::vector<float> all;
  for (const SoundPiece& piece : cut(room.sound, {.longest = 5, .skips_silence = false}, 1234)) {
    EXPECT_EQ(piece.begin, std::ssize(all));
    EXPECT_LE(std::ssize(piece.samples), 5 * kRate);
    all.insert(all.end(), piece.samples.begin(), piece.samples.end());
  }
  EXPECT_EQ(all, room.sound);
}

TEST(PieceCutter, PiecesDoNotDependOnPortions) {
  Room room;
  for (const double seconds : {0.3, 2.0, 11.0, 0.05, 4.0}) {
    room.speech(seconds);
    room.pause(1.5);
  }
  for (const bool skips : {true, false}) {
    const auto expected = cut(room.sound, {.longest = 6, .skips_silence = skips}, room.sound.size());
    EXPECT_GE(expected.size(), 4u);
    for (const size_t portion : {1, 159, 160, 161, 16001}) {
      const auto pieces = cut(room.sound, {.longest = 6, .skips_silence = skips}, portion);
      ASSERT_EQ(pieces.size(), expected.size()) << portion;
      for (size_t i = 0; i < pieces.size(); ++i) {
        EXPECT_EQ(pieces[i].begin, expected[i].begin);
        EXPECT_EQ(pieces[i].samples, expected[i].samples);
      }
    }
  }
}

TEST(PieceCutter, NothingComesOfNothing) {
  EXPECT_TRUE(cut(std::vector<float>(20 * kRate), {}, 1600).empty());
  EXPECT_TRUE(cut({}, {}, 1).empty());
  EXPECT_ERROR(PieceCutter({.longest = 0.5}), kInvalidArgument,
               "pieces of at most 0.5 s are asked for; they can be 1 to 86,400 s long");
  struct TelephoneScorer : EnergyScorer {
    int sample_rate() const override { return 8000; }
  };
  EXPECT_ERROR(PieceCutter({}, std::make_unique<TelephoneScorer>()), kInvalidArgument,
               "pieces are cut at 16000 Hz; the voice detector hears 8000");
}

}  // namespace
}  // namespace wick
