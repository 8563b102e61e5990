#include "interp/patching.h"

#include "base/error.h"
#include "base/text.h"
#include "interp/hook_part.h"
#include "interp/run_with_cache.h"

namespace wick {

void check_same_length(std::span<const int32_t> clean, std::span<const int32_t> corrupted) {
  if (clean.size() == corrupted.size()) return;
  throw Error(ErrorCode::kInvalidArgument, cat("the clean text has ", clean.size(), " tokens and the corrupted one ",
                                               corrupted.size(), "; patching needs texts of the same length"));
}

HookSpec& patch_from(HookSpec& spec, const ActivationCache& run, std::string_view name, HookPart part, size_t text) {
  const Tensor values = run.at(name, text);
  const std::vector<int64_t>& rows = run.positions(text);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == static_cast<int64_t>(i)) continue;
    throw Error(ErrorCode::kInvalidArgument, cat("'", name, "' was captured for some positions only"));
  }
  part.positions = check_positions(part.positions, rows.size());
  const Tensor value = part_of(HookSite::parse(name).point, values, part);
  return spec.replace(name, value, std::move(part));
}

SweepMap patch_sweep(const InterpModel& model, std::span<const int32_t> clean, std::span<const int32_t> corrupted,
                     HookPoint point, const SweepCells& cells, const Metric& metric) {
  check_same_length(clean, corrupted);
  check_metric(model, metric);
  check_sweep_point(point);
  clean = up_to_metric(clean, metric);
  corrupted = up_to_metric(corrupted, metric);

  CaptureOptions options;
  if (cells.layers.empty()) options.points.push_back(hook_name(point, HookSite::kEveryLayer));
  for (const int layer : cells.layers) options.points.push_back(hook_name(point, layer));
  options.most_bytes = cells.most_bytes;
  const CachedRun run = run_with_cache(model, clean, options);
  std::vector<int64_t> heads;
  for (int layer = 0; layer < model.facts().layers; ++layer) {
    const std::string name = hook_name(point, layer);
    heads.push_back(run.cache.has(name) ? head_count(point, run.cache.at(name)) : 0);
  }
  SweepPlan plan(model, point, cells, heads, corrupted.size());
  const std::vector<float> clean_logits = run.logits.front().to_vector<float>();
  plan.map().clean = measure(metric, clean_logits, clean_logits);
  plan.map().corrupted = measure(metric, last_logits(model, corrupted), clean_logits);
  const auto spec_of = [&](int64_t cell) {
    HookSpec spec;
    return patch_from(spec, run.cache, hook_name(point, plan.layer(cell)), plan.part(cell));
  };
  plan.map().values = sweep(model, corrupted, plan.size(), spec_of, metric, clean_logits, cells.progress);
  return std::move(plan.map());
}

}  // namespace wick
