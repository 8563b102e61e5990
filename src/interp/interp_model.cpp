#include "interp/interp_model.h"

#include <memory>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

Error bad(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

std::string name_of(const HookSite& site) {
  return site.point == HookPoint::kCustom ? site.custom : hook_name(site.point, site.layer);
}

}  // namespace

Tensor InterpModel::run(std::span<const int32_t> tokens, const HookSpec& hooks, LogitRows rows,
                        HookCache* cache) const {
  const InterpText text{tokens, &hooks, cache};
  Tensor result;
  forward(std::span(&text, 1), rows, [&](size_t, const Tensor& logits) { result = logits; });
  return result;
}

void check_layer(const InterpModel& model, int layer) {
  const InterpFacts& facts = model.facts();
  if (layer < 0 || layer >= facts.layers) {
    throw bad(cat("layer ", layer, " is asked for, this ", facts.family, " has layers 0 to ", facts.layers - 1));
  }
}

void check_head(const InterpModel& model, int head) {
  const InterpFacts& facts = model.facts();
  if (facts.heads == 0) throw bad(cat("head ", head, " is asked for, this ", facts.family, " has no attention"));
  if (head < 0 || head >= facts.heads) {
    throw bad(cat("head ", head, " is asked for, this ", facts.family, " has heads 0 to ", facts.heads - 1));
  }
}

int64_t check_position(int64_t position, size_t tokens) {
  const auto count = static_cast<int64_t>(tokens);
  if (position < -count || position >= count) {
    throw bad(cat("position ", position, " is asked for, the text has ", count, " tokens"));
  }
  return position < 0 ? position + count : position;
}

void check_token(const InterpModel& model, int32_t token) {
  if (token < 0 || token >= model.facts().vocabulary) {
    throw bad(cat("token ", token, " is outside the vocabulary of ", model.facts().vocabulary));
  }
}

void check_hooks(const InterpModel& model, const HookSpec& hooks) {
  const auto check = [&](const HookSite& site) {
    if (is_per_layer(site.point) && site.layer != HookSite::kEveryLayer) check_layer(model, site.layer);
  };
  for (const HookSite& site : hooks.all_captures()) check(site);
  for (const HookEdit& edit : hooks.all_edits()) check(edit.site);
}

void require_points(const InterpModel& model, HookSpec& hooks) {
  const auto missing = std::make_shared<std::set<std::string>>();
  for (const HookEdit& edit : hooks.all_edits()) {
    // The logits come behind the last norm, in all models.
    if (edit.site.point != HookPoint::kLogits) missing->insert(name_of(edit.site));
  }
  const std::set<std::string> names = *missing;
  for (const std::string& name : names) {
    hooks.call(name, [missing, name](const Tensor& values, const HookMoment&) {
      missing->erase(name);
      return values;
    });
  }
  if (names.empty()) return;
  hooks.call(hook_name(HookPoint::kFinalNorm, -1),
             [missing, family = model.facts().family](const Tensor& values, const HookMoment&) {
               if (missing->empty()) return values;
               throw bad(cat("this ", family, " has no '", *missing->begin(), "'"));
             });
}

std::vector<int64_t> check_positions(std::span<const int64_t> positions, size_t tokens) {
  std::vector<int64_t> checked(positions.empty() ? tokens : positions.size());
  if (positions.empty()) {
    std::iota(checked.begin(), checked.end(), 0);
  } else {
    for (size_t i = 0; i < positions.size(); ++i) checked[i] = check_position(positions[i], tokens);
  }
  return checked;
}

}  // namespace wick
