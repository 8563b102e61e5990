#include "interp/path_patching.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "interp/patching.h"
#include "interp/run_with_cache.h"
#include "interp/sweep.h"

namespace wick {
namespace {

constexpr size_t kSenders = 32;  // whose receivers are held at a time

std::string name_of(const PathNode& node) { return hook_name(node.point, node.layer); }

void check_node(const InterpModel& model, const PathNode& node) {
  check_sweep_point(node.point);
  check_layer(model, node.layer);
  if (node.point == HookPoint::kAttnZ) {
    for (const int head : node.part.heads) check_head(model, head);
  }
}

class PathPatch {
 public:
  PathPatch(const InterpModel& model, std::span<const int32_t> clean, std::span<const int32_t> corrupted,
            std::span<const PathNode> senders, std::span<const PathNode> receivers, const PathOptions& options)
      : model_(model), clean_tokens_(clean), receivers_(receivers), options_(options) {
    if (receivers.empty()) throw Error(ErrorCode::kInvalidArgument, "path patching has no receivers");
    for (const PathNode& receiver : receivers) check_node(model, receiver);
    for (const PathNode& sender : senders) {
      check_node(model, sender);
      const HookPoint point = sender.point;
      if (point == HookPoint::kAttnZ || point == HookPoint::kAttnOut || point == HookPoint::kMlpOut) continue;
      throw Error(ErrorCode::kInvalidArgument, cat("'", name_of(sender), "' does not write to the residual stream"));
    }
    CaptureOptions capture;
    capture.points = {hook_name(HookPoint::kAttnOut, HookSite::kEveryLayer),
                      hook_name(HookPoint::kMlpOut, HookSite::kEveryLayer)};
    capture.may_lack = true;  // Mamba has no MLPs
    std::set<std::string> sending;
    for (const PathNode& sender : senders) sending.insert(name_of(sender));
    capture.points.insert(capture.points.end(), sending.begin(), sending.end());
    clean_ = run_with_cache(model, clean, capture);
    corrupted_ = run_with_cache(model, corrupted, capture).cache;
  }

  std::vector<float> clean_logits() const { return clean_.logits.front().to_vector<float>(); }

  // One spec per sender: the clean run with the receivers as they see the sender's change.
  std::vector<HookSpec> specs_of(std::span<const PathNode> senders) const {
    std::vector<HookSpec> frozen;
    for (const PathNode& sender : senders) frozen.push_back(frozen_but(sender));
    std::vector<InterpText> texts;
    for (const HookSpec& spec : frozen) texts.push_back({clean_tokens_, &spec});
    CaptureOptions capture;
    for (const PathNode& receiver : receivers_) capture.points.push_back(name_of(receiver));
    capture.logits = LogitRows::kNone;
    const ActivationCache seen = run_with_cache(model_, texts, capture).cache;
    std::vector<HookSpec> specs(senders.size());
    for (size_t i = 0; i < senders.size(); ++i) {
      for (const PathNode& receiver : receivers_) patch_from(specs[i], seen, name_of(receiver), receiver.part, i);
    }
    return specs;
  }

 private:
  // The clean values of every part that writes to the stream, with the corrupted ones of the sender.
  HookSpec frozen_but(const PathNode& sender) const {
    HookSpec spec;
    const bool is_head = sender.point == HookPoint::kAttnZ;
    for (int layer = 0; layer < model_.facts().layers; ++layer) {
      for (const HookPoint point : {HookPoint::kAttnOut, HookPoint::kMlpOut}) {
        const bool sends = layer == sender.layer && point == (is_head ? HookPoint::kAttnOut : sender.point);
        const std::string name = sends ? name_of(sender) : hook_name(point, layer);
        const bool stays = sends || point == HookPoint::kAttnOut || !options_.through_mlps;
        if (!stays || (!sends && !clean_.cache.has(name))) continue;
        patch_from(spec, clean_.cache, name);
        if (sends) patch_from(spec, corrupted_, name, sender.part);
      }
    }
    return spec;
  }

  const InterpModel& model_;
  std::span<const int32_t> clean_tokens_;
  std::span<const PathNode> receivers_;
  const PathOptions& options_;
  CachedRun clean_;
  ActivationCache corrupted_;
};

}  // namespace

std::vector<double> path_patch(const InterpModel& model, std::span<const int32_t> clean,
                               std::span<const int32_t> corrupted, std::span<const PathNode> senders,
                               std::span<const PathNode> receivers, const Metric& metric, const PathOptions& options) {
  check_same_length(clean, corrupted);
  check_metric(model, metric);
  clean = up_to_metric(clean, metric);
  corrupted = up_to_metric(corrupted, metric);
  const PathPatch paths(model, clean, corrupted, senders, receivers, options);
  const std::vector<float> logits = paths.clean_logits();
  std::vector<double> values;
  for (size_t begin = 0; begin < senders.size(); begin += kSenders) {
    const std::vector<HookSpec> specs =
        paths.specs_of(senders.subspan(begin, std::min(kSenders, senders.size() - begin)));
    const std::vector<double> some = sweep(
        model, clean, static_cast<int64_t>(specs.size()), [&](int64_t i) { return specs[static_cast<size_t>(i)]; },
        metric, logits);
    values.insert(values.end(), some.begin(), some.end());
    if (options.progress) options.progress(static_cast<int64_t>(values.size()), static_cast<int64_t>(senders.size()));
  }
  return values;
}

SweepMap path_patch_heads(const InterpModel& model, std::span<const int32_t> clean, std::span<const int32_t> corrupted,
                          std::span<const PathNode> receivers, const Metric& metric, const PathOptions& options) {
  if (model.facts().heads == 0) {
    throw Error(ErrorCode::kUnsupported, cat(model.facts().family, " models have no attention heads to patch"));
  }
  SweepMap map;
  map.point = HookPoint::kAttnZ;
  map.layers = model.facts().attention_layers;
  for (int head = 0; head < static_cast<int>(model.facts().heads); ++head) map.heads.push_back(head);
  std::vector<PathNode> senders;
  for (const int layer : map.layers) {
    for (const int head : map.heads) senders.push_back({HookPoint::kAttnZ, layer, {{}, {head}}});
  }
  map.values = path_patch(model, clean, corrupted, senders, receivers, metric, options);
  const std::vector<float> plain = last_logits(model, up_to_metric(clean, metric));
  map.clean = measure(metric, plain, plain);
  map.corrupted = measure(metric, last_logits(model, up_to_metric(corrupted, metric)), plain);
  return map;
}

}  // namespace wick
