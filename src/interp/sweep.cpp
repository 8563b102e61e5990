#include "interp/sweep.h"

#include <algorithm>

namespace wick {
namespace {

constexpr int64_t kSpecs = 256;  // made at a time; the model cuts them into passes

}  // namespace

std::vector<double> sweep(const InterpModel& model, std::span<const int32_t> tokens, int64_t count,
                          const std::function<HookSpec(int64_t)>& make, const Metric& metric,
                          std::span<const float> clean, const SweepProgress& progress) {
  std::vector<double> values(static_cast<size_t>(count));
  for (int64_t begin = 0; begin < count; begin += kSpecs) {
    if (progress) progress(begin, count);
    const int64_t end = std::min(begin + kSpecs, count);
    std::vector<HookSpec> specs;
    for (int64_t i = begin; i < end; ++i) specs.push_back(make(i));
    std::vector<InterpText> texts;
    for (const HookSpec& spec : specs) texts.push_back({tokens, &spec});
    model.forward(texts, LogitRows::kLast, [&](size_t text, const Tensor& logits) {
      const std::span row(logits.data<float>(), static_cast<size_t>(logits.dim(1)));
      const int64_t i = begin + static_cast<int64_t>(text);
      values[static_cast<size_t>(i)] = measure(metric, row, clean);
      if (progress) progress(i + 1, count);
    });
  }
  return values;
}

std::vector<float> last_logits(const InterpModel& model, std::span<const int32_t> tokens, const HookSpec& hooks) {
  return model.run(tokens, hooks, LogitRows::kLast).to_vector<float>();
}

}  // namespace wick
