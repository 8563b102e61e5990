#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "engine/text/generator.h"

namespace wick {

// A piece of a text that a model reads with nothing before it. Tokens of the piece from `scored` on count.
struct ScoreWindow {
  int64_t begin = 0, count = 0, scored = 0;
};

// How a long text is cut. Without stride, as llama.cpp does: windows of `context` tokens side by side, of which the
// second half counts; what is left at the end is not read. With stride, as is usual with Hugging Face models: a window
// begins every `stride` tokens, and what the windows before have not reached counts, so that every token but the first
// does. Throws Error(kInvalidArgument) for a text that has no whole window and for sizes out of range.
std::vector<ScoreWindow> score_windows(int64_t tokens, int64_t context, int64_t stride = 0);

// How well a model predicts a text: exp of the mean negative log-likelihood of its tokens.
struct Perplexity {
  int64_t tokens = 0;              // that were scored
  double sum = 0, squares = 0;     // of negative log-likelihoods
  int64_t windows = 0, total = 0;  // read, and to be read

  double mean() const { return tokens > 0 ? sum / static_cast<double>(tokens) : 0; }
  double value() const;
  double error() const;  // one standard error of value()
};

// Reads the windows one after the other; `each` is called after every one of them. `first` (-1: none) stands in for the
// first token of each window, which is not scored: the token that begins texts, for models that want one.
Perplexity measure_perplexity(Generator& generator, std::span<const int32_t> tokens,
                              std::span<const ScoreWindow> windows, int32_t first,
                              FunctionRef<void(const Perplexity&)> each);

}  // namespace wick
