// Passes of an encoder that several requests share.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "embed/encode_texts.h"
#include "engine/compute_mutex.h"
#include "support/errors.h"
#include "support/model_fixtures.h"

namespace wick {
namespace {

using Rows = std::vector<std::vector<float>>;

std::unique_ptr<TextEncoder> bert() { return TextEncoder::load(WeightSource(Checkpoint::open(family_folder("bert")))); }

std::vector<EncoderInput> texts_of(size_t request) {
  std::vector<EncoderInput> texts(request % 3 + 1);
  for (size_t i = 0; i < texts.size(); ++i) texts[i].tokens = some_tokens(3 + 7 * ((request + i) % 5), 5, 190);
  return texts;
}

Rows encode(const EncoderPasses& passes, const std::vector<EncoderInput>& texts) {
  Rows rows(texts.size());
  passes.encode(texts,
                [&](size_t text, std::span<const float> values) { rows[text].assign(values.begin(), values.end()); });
  return rows;
}

TEST(EncoderPasses, RequestsThatWaitShareOne) {
  const auto encoder = bert();
  const EncoderPasses passes(*encoder), alone(*encoder);
  constexpr size_t kRequests = 12;
  std::vector<Rows> got(kRequests);
  std::vector<std::thread> threads;
  {
    const std::lock_guard busy(compute_mutex());  // an engine computes while they come
    for (size_t i = 0; i < kRequests; ++i) {
      threads.emplace_back([&, i] { got[i] = encode(passes, texts_of(i)); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (std::thread& thread : threads) thread.join();
  // The first one may have begun alone; what came meanwhile fits one pass.
  EXPECT_LT(passes.count(), static_cast<int64_t>(kRequests));
  for (size_t i = 0; i < kRequests; ++i) EXPECT_EQ(got[i], encode(alone, texts_of(i))) << i;
}

TEST(EncoderPasses, WhoLeavesOrIsWrongDisturbsNobody) {
  const auto encoder = bert();
  const EncoderPasses passes(*encoder);
  std::vector<EncoderInput> many;
  for (int i = 0; i < 400; ++i) many.push_back({some_tokens(40, static_cast<uint32_t>(i), 190)});
  std::atomic<int> heard = 0;
  std::thread leaves([&] {
    EXPECT_ANY_THROW(passes.encode(
        many, [](size_t, std::span<const float>) {},
        [&](int64_t) {
          ++heard;
          throw Error(ErrorCode::kInternal, "gone");
        }));
  });
  std::thread wrong([&] {
    const std::vector<EncoderInput> bad = {{{2, 9, 3}}, {{2, 999, 3}}};
    EXPECT_ERROR(encode(passes, bad), kInvalidArgument, "text 1: token 999");
  });
  const EncoderPasses alone(*encoder);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(encode(passes, texts_of(i)), encode(alone, texts_of(i)));
  leaves.join();
  wrong.join();
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(encode(passes, texts_of(1)), encode(alone, texts_of(1)));
}

// A long request does not keep a short one waiting: each pass takes some of both.
TEST(EncoderPasses, AShortRequestOvertakesALongOne) {
  const auto encoder = bert();
  const EncoderPasses passes(*encoder);
  std::vector<EncoderInput> many;
  for (int i = 0; i < 2000; ++i) many.push_back({some_tokens(60, static_cast<uint32_t>(i), 190)});
  std::atomic<int64_t> done = 0;
  std::atomic<bool> begun = false;
  std::thread all([&] {
    passes.encode(
        many, [&](size_t, std::span<const float>) { ++done; }, [&](int64_t) { begun = true; });
  });
  while (!begun) std::this_thread::yield();
  encode(passes, texts_of(1));
  const int64_t before = done;
  all.join();
  EXPECT_LT(before, 2000);
  EXPECT_EQ(done, 2000);
}

}  // namespace
}  // namespace wick
