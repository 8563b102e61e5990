#include "speech/ctc/ctc_decode.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Tokens of a way through the frames: one id per frame.
std::vector<CtcToken> joined(const CtcFrames& frames, std::span<const int32_t> way) {
  std::vector<CtcToken> tokens;
  int32_t last = frames.blank;
  double sum = 0;
  for (int64_t at = 0; at < std::ssize(way); ++at) {
    const int32_t id = way[static_cast<size_t>(at)];
    if (id != frames.blank) {
      if (id != last) {
        tokens.push_back({id, at, at, 0});
        sum = 0;
      }
      CtcToken& token = tokens.back();
      token.end = at + 1;
      sum += frames.row(at)[id];
      token.logprob = static_cast<float>(sum / static_cast<double>(token.end - token.begin));
    }
    last = id;
  }
  return tokens;
}

}  // namespace

void check_frames(const CtcFrames& frames) {
  const auto values = static_cast<int64_t>(frames.logprobs.size());
  if (frames.vocabulary < 1 || values % frames.vocabulary != 0 || frames.blank < 0 ||
      frames.blank >= frames.vocabulary) {
    throw Error(ErrorCode::kInvalidArgument, cat("CTC: ", values, " log-probabilities of ", frames.vocabulary,
                                                 " tokens with ", frames.blank, " as the blank"));
  }
  if (std::any_of(frames.logprobs.begin(), frames.logprobs.end(), [](float p) { return std::isnan(p); })) {
    throw Error(ErrorCode::kInvalidArgument, "CTC: a log-probability is not a number");
  }
}

CtcText ctc_greedy(const CtcFrames& frames) {
  check_frames(frames);
  CtcText text;
  std::vector<int32_t> way;
  for (int64_t at = 0; at < frames.count(); ++at) {
    const float* row = frames.row(at);
    const float* best = std::max_element(row, row + frames.vocabulary);
    way.push_back(static_cast<int32_t>(best - row));
    text.logprob += *best;
  }
  text.tokens = joined(frames, way);
  return text;
}

// Viterbi over the states blank, t1, blank, t2, ..., blank: a state is kept, left for the next, or, between different
// tokens, the blank between them is skipped.
std::optional<CtcText> ctc_align(const CtcFrames& frames, std::span<const int32_t> text) {
  check_frames(frames);
  for (const int32_t id : text) {
    if (id < 0 || id >= frames.vocabulary || id == frames.blank) {
      throw Error(ErrorCode::kInvalidArgument, cat("CTC: a text with the token ", id));
    }
  }
  const int64_t count = frames.count(), states = 2 * std::ssize(text) + 1;
  if (count < std::ssize(text)) return std::nullopt;
  const auto token_of = [&](int64_t state) { return state % 2 ? text[static_cast<size_t>(state / 2)] : frames.blank; };
  std::vector<double> now(static_cast<size_t>(states), kNever), next(now);
  std::vector<uint8_t> steps(static_cast<size_t>(count * states));  // how far the state before lies back
  for (int64_t at = 0; at < count; ++at) {
    const float* row = frames.row(at);
    for (int64_t state = 0; state < states; ++state) {
      double best = at == 0 ? (state < 2 ? 0 : kNever) : now[static_cast<size_t>(state)];
      uint8_t step = 0;
      for (uint8_t back = 1; at > 0 && back <= 2 && back <= state; ++back) {
        const bool may_skip = state % 2 && token_of(state) != token_of(state - 2);
        if (back == 2 && !may_skip) continue;
        if (now[static_cast<size_t>(state - back)] > best) {
          best = now[static_cast<size_t>(state - back)];
          step = back;
        }
      }
      next[static_cast<size_t>(state)] = best + row[token_of(state)];
      steps[static_cast<size_t>(at * states + state)] = step;
    }
    std::swap(now, next);
  }
  if (count == 0) return CtcText{};
  int64_t state = states - 1;
  if (states > 1 && now[static_cast<size_t>(states - 2)] > now.back()) state = states - 2;
  CtcText aligned;
  aligned.logprob = now[static_cast<size_t>(state)];
  if (aligned.logprob == kNever) return std::nullopt;
  std::vector<int32_t> way(static_cast<size_t>(count));
  for (int64_t at = count - 1; at >= 0; --at) {
    way[static_cast<size_t>(at)] = token_of(state);
    state -= steps[static_cast<size_t>(at * states + state)];
  }
  aligned.tokens = joined(frames, way);
  return aligned;
}

}  // namespace wick
