#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "hooks/hook_point.h"
#include "tensor/tensor.h"

namespace wick {

// What a hook's function gets besides the values.
struct HookMoment {
  HookPoint point;
  int layer;                           // -1 outside layers
  std::span<const int64_t> positions;  // of the rows, within their sequence
};
// Returns what the pass goes on with, of the same shape and dtype.
using HookFunction = std::function<Tensor(const Tensor& values, const HookMoment& moment)>;

// Which part of a point's values an edit touches. Empty lists mean all.
struct HookPart {
  std::vector<int64_t> positions;  // within the sequence
  std::vector<int> heads;          // for the points that have heads
};

// One change of a forward pass.
struct HookEdit {
  enum class Kind : uint8_t { kZero, kReplace, kAdd, kScale, kKnockout, kFunction };

  HookSite site;
  Kind kind = Kind::kZero;
  HookPart part;
  Tensor value;                                    // kReplace, kAdd: see HookSpec
  float factor = 1;                                // kScale
  std::vector<std::pair<int64_t, int64_t>> edges;  // kKnockout: (query position, key position)
  HookFunction function;                           // kFunction
};

// What to record of a forward pass and what to change in it. Edits run in the order they were added, captures see the
// changed values. Names are those of HookSite::parse.
//
// The value of replace and add is one row's selected part (the same for every selected row), or one such part per
// listed position. A row's selected part is its whole row, or the selected heads of it.
class HookSpec {
 public:
  HookSpec& capture(std::string_view name);
  HookSpec& zero(std::string_view name, HookPart part = {});
  HookSpec& replace(std::string_view name, Tensor value, HookPart part = {});
  HookSpec& add(std::string_view name, Tensor value, HookPart part = {});
  HookSpec& scale(std::string_view name, float factor, HookPart part = {});
  // Hides keys from queries: their scores become -inf. `layer` may be HookSite::kEveryLayer.
  HookSpec& knockout(int layer, std::vector<std::pair<int64_t, int64_t>> edges, std::vector<int> heads = {});
  HookSpec& call(std::string_view name, HookFunction function);

  bool empty() const { return points_ == 0; }
  // Whether anything may happen at this point, in any layer: the first and cheapest question.
  bool touches(HookPoint point) const { return points_ >> static_cast<int>(point) & 1; }
  bool captures(HookPoint point, int layer, std::string_view custom = {}) const;
  bool edits(HookPoint point, int layer, std::string_view custom = {}) const;
  const std::vector<HookEdit>& all_edits() const { return edits_; }
  const std::vector<HookSite>& all_captures() const { return captures_; }

 private:
  HookSpec& add_edit(HookEdit edit);

  uint32_t points_ = 0;
  std::vector<HookSite> captures_;
  std::vector<HookEdit> edits_;
};
static_assert(kHookPointCount <= 32, "points are bits of a word");

}  // namespace wick
