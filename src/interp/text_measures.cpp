#include "interp/text_measures.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "interp/probes/vocab_row.h"
#include "interp/run_with_cache.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kMostLogits = int64_t{1} << 23;  // held at a time

}  // namespace

Tensor residual_norms(const InterpModel& model, std::span<const int32_t> tokens, const HookSpec& hooks) {
  const int layers = model.facts().layers;
  const auto count = static_cast<int64_t>(tokens.size());
  const Tensor norms = empty({layers + 1, count});
  HookSpec spec = hooks;
  const auto measure_rows = [&](const Tensor& values, const HookMoment& moment) {
    const Tensor host = values.to_device(Device::cpu()).contiguous();
    const int64_t row = moment.layer + (moment.point == HookPoint::kResidPost ? 1 : 0), width = host.dim(1);
    for (size_t i = 0; i < moment.positions.size(); ++i) {
      const float* x = host.data<float>() + static_cast<int64_t>(i) * width;
      double sum = 0;
      for (int64_t j = 0; j < width; ++j) sum += static_cast<double>(x[j]) * x[j];
      norms.mutable_data<float>()[row * count + moment.positions[i]] = static_cast<float>(std::sqrt(sum));
    }
    return values;
  };
  spec.call(hook_name(HookPoint::kResidPre, HookSite::kEveryLayer), measure_rows);
  spec.call(hook_name(HookPoint::kResidPost, layers - 1), measure_rows);
  model.run(tokens, spec, LogitRows::kNone);
  return norms;
}

std::vector<double> token_losses(const InterpModel& model, std::span<const int32_t> tokens, const HookSpec& hooks) {
  if (tokens.size() < 2) {
    throw Error(ErrorCode::kInvalidArgument, cat("the text has ", tokens.size(), " tokens; a loss needs two"));
  }
  CaptureOptions capture;
  capture.points = {hook_name(HookPoint::kFinalNorm, -1)};
  capture.logits = LogitRows::kNone;
  capture.most_bytes = INT64_MAX;
  const InterpText text{tokens, &hooks};
  const Tensor rows = run_with_cache(model, std::span(&text, 1), capture).cache.at(capture.points.front());
  const auto count = static_cast<int64_t>(tokens.size()) - 1;
  const int64_t chunk = std::max<int64_t>(1, kMostLogits / model.facts().vocabulary);
  std::vector<double> losses(static_cast<size_t>(count));
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t some = std::min(chunk, count - begin);
    const Tensor logits = model.project_to_vocab(rows.with_layout(rows.layout().narrow(0, begin, some)), false);
    parallel_for(some, 1, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const std::span row(logits.data<float>() + i * logits.dim(1), static_cast<size_t>(logits.dim(1)));
        const auto at = static_cast<size_t>(begin + i);
        losses[at] = -VocabRow(row).log_probability(tokens[at + 1]);
      }
    });
  }
  return losses;
}

}  // namespace wick
