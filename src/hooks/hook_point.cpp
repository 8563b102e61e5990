#include "hooks/hook_point.h"

#include <charconv>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"

namespace wick {
namespace {

struct PointName {
  HookPoint point;
  std::string_view name;  // within a layer when per_layer
  bool per_layer = true;
};
constexpr PointName kNames[] = {
    {HookPoint::kEmbed, "hook_embed", false},
    {HookPoint::kResidPre, "hook_resid_pre"},
    {HookPoint::kAttnQ, "attn.hook_q"},
    {HookPoint::kAttnK, "attn.hook_k"},
    {HookPoint::kAttnV, "attn.hook_v"},
    {HookPoint::kAttnScores, "attn.hook_attn_scores"},
    {HookPoint::kAttnPattern, "attn.hook_pattern"},
    {HookPoint::kAttnZ, "attn.hook_z"},
    {HookPoint::kAttnOut, "hook_attn_out"},
    {HookPoint::kResidMid, "hook_resid_mid"},
    {HookPoint::kRouter, "mlp.hook_expert_weights"},
    {HookPoint::kMlpPre, "mlp.hook_pre"},
    {HookPoint::kMlpPost, "mlp.hook_post"},
    {HookPoint::kMlpOut, "hook_mlp_out"},
    {HookPoint::kResidPost, "hook_resid_post"},
    {HookPoint::kFinalNorm, "ln_final.hook_normalized", false},
    {HookPoint::kLogits, "hook_logits", false},
    {HookPoint::kMixerIn, "mixer.hook_in"},
    {HookPoint::kDecay, "mixer.hook_decay"},
    {HookPoint::kGate, "mixer.hook_gate"},
    {HookPoint::kState, "mixer.hook_state"},
};
static_assert(std::size(kNames) == kHookPointCount - 1, "every point but kCustom has a name");

constexpr std::string_view kBlocks = "blocks.";

const PointName& name_of(HookPoint point) { return kNames[static_cast<int>(point)]; }

}  // namespace

bool is_per_layer(HookPoint point) { return point != HookPoint::kCustom && name_of(point).per_layer; }

std::string hook_name(HookPoint point, int layer) {
  if (point == HookPoint::kCustom) return "custom";
  const PointName& row = name_of(point);
  if (!row.per_layer) return std::string(row.name);
  return cat(kBlocks, layer == HookSite::kEveryLayer ? std::string("*") : cat(layer), ".", row.name);
}

std::vector<std::string> hook_names() {
  std::vector<std::string> names;
  for (const PointName& row : kNames) names.push_back(hook_name(row.point, HookSite::kEveryLayer));
  return names;
}

HookSite HookSite::parse(std::string_view name) {
  HookSite site;
  std::string_view rest = name;
  bool in_layer = false;
  if (rest.starts_with(kBlocks)) {
    rest.remove_prefix(kBlocks.size());
    const size_t dot = rest.find('.');
    const std::string_view number = rest.substr(0, dot);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), site.layer);
    in_layer = number == "*" || (error == std::errc() && end == number.data() + number.size() && site.layer >= 0);
    if (number == "*") site.layer = kEveryLayer;
    if (!in_layer || dot == std::string_view::npos) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("'", name, "' is no hook: expected 'blocks.', a layer or '*', and a point"));
    }
    rest.remove_prefix(dot + 1);
  }
  for (const PointName& row : kNames) {
    if (row.name != rest || row.per_layer != in_layer) continue;
    site.point = row.point;
    return site;
  }
  if (!in_layer && rest.find("hook_") == std::string_view::npos) {
    site.custom = name;
    return site;
  }
  std::vector<std::string_view> candidates;
  for (const PointName& row : kNames) candidates.push_back(row.name);
  const std::string_view near = nearest(rest, candidates);
  throw Error(ErrorCode::kInvalidArgument,
              cat("there is no hook '", name, "'", near.empty() ? std::string() : cat("; did you mean '", near, "'?")));
}

bool HookSite::matches(HookPoint at, int at_layer, std::string_view at_custom) const {
  if (at != point) return false;
  if (point == HookPoint::kCustom) return custom == at_custom;
  return layer == kEveryLayer || layer == at_layer || !is_per_layer(point);
}

}  // namespace wick
