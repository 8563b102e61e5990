#include "media/resampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/text.h"
#include "support/errors.h"
#include "support/targets.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int kLessThanExact[] = {44099, 767'999};  // rates without a common divisor with 16,000: weights are mixed

std::vector<float> tone(double hz, int rate, int64_t count) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) {
    const double cycles = std::fmod(hz * static_cast<double>(i), rate) / rate;
    out.push_back(static_cast<float>(std::sin(2 * std::numbers::pi * cycles)));
  }
  return out;
}

// Enough input for the result to have 400 samples behind and before the edges' influence.
int64_t enough(int from, int to) {
  const double lower = std::min(from, to);
  return static_cast<int64_t>((160 / lower + 400.0 / to) * from) + 2;
}

struct Response {
  double worst_error = 0, loudest = 0;
  int64_t compared = 0;
};

// How a tone comes out, away from the edges, against the same tone computed at the new rate in f64.
Response respond(double hz, int from, int to) {
  const auto out = resample(tone(hz, from, enough(from, to)), from, to);
  const auto edge = static_cast<int64_t>(std::ceil(66.0 * to / std::min(from, to)));
  Response response;
  for (int64_t i = edge; i + edge < std::ssize(out); ++i) {
    const double ideal = std::sin(2 * std::numbers::pi * std::fmod(hz * static_cast<double>(i) / to, 1.0));
    const double got = out[static_cast<size_t>(i)];
    response.worst_error = std::max(response.worst_error, std::abs(got - ideal));
    response.loudest = std::max(response.loudest, std::abs(got));
    ++response.compared;
  }
  return response;
}

// Ripple and delay at once: a wrong gain or a shift by 1e-4 of a sample would show.
TEST(Resampler, PassesWhatBothRatesCanHold) {
  for (const int from : {8000, 11025, 12000, 22050, 24000, 32000, 44100, 48000, 96000, 192000, 44099, 1000}) {
    const double lower = std::min(from, 16000);
    for (const double share : {0.0013, 0.1, 0.25, 0.37, 0.45}) {
      const Response response = respond(share * lower, from, 16000);
      EXPECT_GT(response.compared, 100) << from;
      EXPECT_LT(response.worst_error, 2e-5) << from << " Hz, tone at " << share * lower;  // -94 dB
    }
  }
  EXPECT_LT(respond(400, 1000, 768'000).worst_error, 2e-5);
  for (const int to : {8000, 24000, 48000}) EXPECT_LT(respond(3000, 16000, to).worst_error, 2e-5) << to;
}

TEST(Resampler, StopsWhatTheLowerRateCannotHold) {
  const double least = std::pow(10, -90.0 / 20);
  for (const int from : {22050, 44100, 48000, 96000, 192000, kLessThanExact[0], kLessThanExact[1], 768'000}) {
    for (const double hz : {8000.0, 8100.0, 10900.0, 0.37 * from, 0.49 * from}) {
      if (hz < 8000 || hz > 0.5 * from) continue;
      const Response response = respond(hz, from, 16000);
      EXPECT_GT(response.compared, 100);
      EXPECT_LT(response.loudest, least) << from << " Hz, tone at " << hz;
    }
  }
}

TEST(Resampler, KeepsAConstantToItsEdges) {
  for (const int from : {8000, 44100, 44099, 48000}) {
    const auto out = resample(std::vector<float>(5000, 0.25f), from, 16000);
    for (size_t i = 300; i + 300 < out.size(); ++i) ASSERT_NEAR(out[i], 0.25f, 1e-6) << from << " at " << i;
  }
}

TEST(Resampler, AnImpulseComesOutWhereItWas) {
  std::vector<float> impulse(4800);
  impulse[1500] = 1;  // at 1/32 s
  const auto out = resample(impulse, 48000, 16000);
  EXPECT_EQ(std::max_element(out.begin(), out.end()) - out.begin(), 500);
  for (size_t i = 1; i < 64; ++i) EXPECT_NEAR(out[500 - i], out[500 + i], 1e-7) << i;  // linear phase
}

TEST(Resampler, CountsAreThoseOfTheTimeCovered) {
  struct Row {
    int64_t count;
    int from, to;
    int64_t expected;
  };
  for (const Row& row : {Row{0, 48000, 16000, 0}, Row{1, 48000, 16000, 1}, Row{3, 48000, 16000, 1},
                         Row{4, 48000, 16000, 2}, Row{441, 44100, 16000, 160}, Row{442, 44100, 16000, 161},
                         Row{10, 1000, 16000, 160}, Row{241, 768000, 3200, 2}, Row{100, 16000, 16000, 100}}) {
    EXPECT_EQ(std::ssize(resample(std::vector<float>(static_cast<size_t>(row.count)), row.from, row.to)), row.expected)
        << row.count << " from " << row.from;
  }
}

TEST(Resampler, EqualRatesChangeNothing) {
  const auto samples = randn({1000}, 5).to_vector<float>();
  EXPECT_EQ(resample(samples, 16000, 16000), samples);
}

TEST(Resampler, PiecesChangeNoBit) {
  const auto samples = randn({20000}, 3).to_vector<float>();
  on_every_target([&](const std::string&) {
    for (const int from : {8000, 16000, 44100, 44099}) {
      const auto whole = resample(samples, from, 16000);
      uint64_t random = 1;
      for (const size_t most : {1u, 700u, 17000u}) {
        Resampler resampler(from, 16000);
        std::vector<float> out, piece(777);
        const auto drain = [&] {
          while (const int64_t got = resampler.read(piece)) out.insert(out.end(), piece.begin(), piece.begin() + got);
        };
        for (size_t at = 0; at < samples.size();) {
          random = random * 6364136223846793005u + 1442695040888963407u;
          const size_t count = std::min<size_t>(1 + (random >> 33) % most, samples.size() - at);
          resampler.push(std::span(samples).subspan(at, count));
          if (random >> 62) drain();
          at += count;
        }
        resampler.finish();
        resampler.finish();  // twice is once
        drain();
        ASSERT_EQ(out, whole) << from << " in pieces of up to " << most;
      }
    }
  });
}

TEST(Resampler, RefusesRatesThatAreNone) {
  EXPECT_ERROR(Resampler(0, 16000), kInvalidArgument, "0 Hz is outside 1000 to 768000");
  EXPECT_ERROR(Resampler(999, 16000), kInvalidArgument, "999 Hz");
  EXPECT_ERROR(Resampler(-5, 16000), kInvalidArgument, "-5 Hz");
  EXPECT_ERROR(Resampler(768000, 2900), kInvalidArgument, "768000 Hz to 2900 Hz is more than 256 times less");
  EXPECT_ERROR(Resampler(16000, 768001), kInvalidArgument, "768001 Hz");
}

}  // namespace
}  // namespace wick
