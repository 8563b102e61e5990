#include "embed/encode_texts.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "engine/compute_mutex.h"

namespace wick {
namespace {

constexpr double kOperationsPerPass = 4e10;  // whoever waits for an engine waits for one pass
constexpr int64_t kLeastRows = 64, kMostRows = 4096;

int64_t rows_per_pass(const EncoderConfig& config) {
  const auto hidden = static_cast<double>(config.hidden), intermediate = static_cast<double>(config.intermediate);
  const double each = 2.0 * static_cast<double>(config.layers) * hidden * (4 * hidden + 3 * intermediate);
  return std::clamp(static_cast<int64_t>(kOperationsPerPass / each), kLeastRows, kMostRows);
}

}  // namespace

void encode_texts(const TextEncoder& encoder, std::span<const EncoderInput> texts,
                  FunctionRef<void(size_t text, std::span<const float> rows)> each,
                  const std::function<void(int64_t)>& done) {
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return texts[a].tokens.size() > texts[b].tokens.size(); });
  const int64_t most_rows = rows_per_pass(encoder.config());
  for (size_t begin = 0; begin < order.size();) {
    std::vector<EncoderText> batch;
    int64_t rows = 0;
    size_t end = begin;
    for (; end < order.size(); ++end) {
      const EncoderInput& text = texts[order[end]];
      if (end > begin && rows + std::ssize(text.tokens) > most_rows) break;
      rows += std::ssize(text.tokens);
      batch.push_back({text.tokens, text.types});
    }
    Tensor hidden;
    {
      std::unique_lock turn(compute_mutex());
      const auto next = [&turn] {  // a text of many tokens takes long: others compute between its layers
        turn.unlock();
        turn.lock();
      };
      hidden = encoder.encode(batch, next).to_device(Device::cpu());
    }
    const float* from = hidden.data<float>();
    for (; begin < end; ++begin) {
      const size_t values = texts[order[begin]].tokens.size() * static_cast<size_t>(hidden.dim(1));
      each(order[begin], {from, values});
      from += values;
    }
    if (done) done(static_cast<int64_t>(end));
  }
}

void check_finite(const Tensor& values, const std::string& model) {
  const float* const begin = values.data<float>();
  if (std::all_of(begin, begin + values.numel(), [](float x) { return std::isfinite(x); })) return;
  throw Error(ErrorCode::kBadFile, cat(model, " computes values that are no numbers: its weights are damaged"));
}

}  // namespace wick
