#include "hooks/hook_spec.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

uint32_t bit(HookPoint point) { return uint32_t{1} << static_cast<int>(point); }

Tensor needs_value(std::string_view name, Tensor value) {
  if (!value.defined()) throw Error(ErrorCode::kInvalidArgument, cat("the edit of '", name, "' has no value"));
  return value;
}

}  // namespace

HookSpec& HookSpec::capture(std::string_view name) {
  captures_.push_back(HookSite::parse(name));
  points_ |= bit(captures_.back().point);
  return *this;
}

HookSpec& HookSpec::add_edit(HookEdit edit) {
  points_ |= bit(edit.site.point);
  edits_.push_back(std::move(edit));
  return *this;
}

HookSpec& HookSpec::zero(std::string_view name, HookPart part) {
  return add_edit({HookSite::parse(name), HookEdit::Kind::kZero, std::move(part), {}, 1, {}, {}});
}

HookSpec& HookSpec::replace(std::string_view name, Tensor value, HookPart part) {
  return add_edit({HookSite::parse(name),
                   HookEdit::Kind::kReplace,
                   std::move(part),
                   needs_value(name, std::move(value)),
                   1,
                   {},
                   {}});
}

HookSpec& HookSpec::add(std::string_view name, Tensor value, HookPart part) {
  return add_edit(
      {HookSite::parse(name), HookEdit::Kind::kAdd, std::move(part), needs_value(name, std::move(value)), 1, {}, {}});
}

HookSpec& HookSpec::scale(std::string_view name, float factor, HookPart part) {
  return add_edit({HookSite::parse(name), HookEdit::Kind::kScale, std::move(part), {}, factor, {}, {}});
}

HookSpec& HookSpec::knockout(int layer, std::vector<std::pair<int64_t, int64_t>> edges, std::vector<int> heads) {
  HookSite site;
  site.point = HookPoint::kAttnScores;
  site.layer = layer;
  HookPart part;
  part.heads = std::move(heads);
  return add_edit({site, HookEdit::Kind::kKnockout, std::move(part), {}, 1, std::move(edges), {}});
}

HookSpec& HookSpec::call(std::string_view name, HookFunction function) {
  if (!function) throw Error(ErrorCode::kInvalidArgument, cat("the function for '", name, "' is empty"));
  return add_edit({HookSite::parse(name), HookEdit::Kind::kFunction, {}, {}, 1, {}, std::move(function)});
}

bool HookSpec::captures(HookPoint point, int layer, std::string_view custom) const {
  return std::any_of(captures_.begin(), captures_.end(),
                     [&](const HookSite& site) { return site.matches(point, layer, custom); });
}

bool HookSpec::edits(HookPoint point, int layer, std::string_view custom) const {
  return std::any_of(edits_.begin(), edits_.end(),
                     [&](const HookEdit& edit) { return edit.site.matches(point, layer, custom); });
}

}  // namespace wick
