#include "engine/text/perplexity.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"

namespace wick {
namespace {

// -log of the probability that a row of logits gives to a token.
double surprise(std::span<const float> logits, int32_t token) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - most);
  return std::log(sum) + most - logits[static_cast<size_t>(token)];
}

}  // namespace

std::vector<ScoreWindow> score_windows(int64_t tokens, int64_t context, int64_t stride) {
  if (context < 2 || stride < 0 || stride > context) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("windows of ", context, " tokens every ", stride, " tokens are asked for"));
  }
  std::vector<ScoreWindow> windows;
  if (stride == 0) {
    for (int64_t begin = 0; begin + context <= tokens; begin += context) {
      windows.push_back({begin, context, std::min(context / 2 + 1, context - 1)});
    }
  } else {
    int64_t reached = 1;  // the first token is never predicted
    for (int64_t begin = 0; reached < tokens; begin += stride) {
      const int64_t count = std::min(context, tokens - begin);
      windows.push_back({begin, count, reached - begin});
      reached = begin + count;
    }
  }
  std::erase_if(windows, [](const ScoreWindow& window) { return window.scored >= window.count; });
  if (windows.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the text has ", tokens, " tokens, too few for windows of ", context, " tokens"));
  }
  return windows;
}

double Perplexity::value() const { return std::exp(mean()); }

double Perplexity::error() const {
  if (tokens < 2) return 0;
  const auto count = static_cast<double>(tokens);
  const double variance = std::max(0.0, squares / count - mean() * mean());
  return std::sqrt(variance / (count - 1)) * value();
}

Perplexity measure_perplexity(Generator& generator, std::span<const int32_t> tokens,
                              std::span<const ScoreWindow> windows, int32_t first,
                              FunctionRef<void(const Perplexity&)> each) {
  Perplexity result;
  result.total = static_cast<int64_t>(windows.size());
  std::vector<int32_t> text;
  std::vector<double> scores;
  for (const ScoreWindow& window : windows) {
    const auto part = tokens.subspan(static_cast<size_t>(window.begin), static_cast<size_t>(window.count));
    text.assign(part.begin(), part.end());
    if (first >= 0) text.front() = first;
    scores.assign(text.size(), 0);
    generator.score(text, [&](int64_t begin, std::span<const TokenLogits> rows) {
      parallel_for(std::ssize(rows), 1, [&](int64_t from, int64_t to) {
        for (int64_t row = from; row < to; ++row) {
          const int64_t next = begin + row + 1;  // the token that this row predicts
          if (next < window.scored || next >= window.count) continue;
          const std::span<const float> logits = rows[static_cast<size_t>(row)].logits;
          scores[static_cast<size_t>(next)] = surprise(logits, text[static_cast<size_t>(next)]);
        }
      });
    });
    for (int64_t i = window.scored; i < window.count; ++i) {
      const double score = scores[static_cast<size_t>(i)];
      result.sum += score;
      result.squares += score * score;
      ++result.tokens;
    }
    ++result.windows;
    each(result);
  }
  return result;
}

}  // namespace wick
