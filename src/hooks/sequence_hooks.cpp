#include "hooks/sequence_hooks.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

bool is_attention_map(HookPoint point) { return point == HookPoint::kAttnScores || point == HookPoint::kAttnPattern; }

// The values of a point as rows x heads x a run of numbers; points without heads have one.
struct HookGrid {
  float* data;
  int64_t rows, heads, length;
  int64_t row_stride, head_stride;
  bool has_heads;

  HookGrid(HookPoint point, const Tensor& values) : data(values.mutable_data<float>()) {
    const bool map = is_attention_map(point);
    const bool per_head = point == HookPoint::kAttnQ || point == HookPoint::kAttnK || point == HookPoint::kAttnV ||
                          point == HookPoint::kAttnZ;
    has_heads = map || per_head;
    rows = values.dim(map ? 1 : 0);
    heads = map ? values.dim(0) : per_head ? values.dim(1) : 1;
    length = rows * heads == 0 ? 0 : values.numel() / (rows * heads);
    row_stride = map ? length : heads * length;
    head_stride = map ? rows * length : length;
  }
  std::span<float> at(int64_t row, int64_t head) const {
    return {data + row * row_stride + head * head_stride, static_cast<size_t>(length)};
  }
};

class Editor {
 public:
  Editor(const HookEdit& edit, std::string name, const HookGrid& grid, std::span<const int64_t> positions)
      : edit_(edit), name_(std::move(name)), grid_(grid), positions_(positions) {
    heads_ = edit.part.heads;
    if (!heads_.empty() && !grid.has_heads) throw error(cat("has no heads"));
    for (const int head : heads_) {
      if (head < 0 || head >= grid.heads)
        throw error(cat("has ", grid.heads, " heads, and head ", head, " is asked for"));
    }
    if (heads_.empty()) {
      for (int head = 0; head < grid.heads; ++head) heads_.push_back(head);
    }
  }

  void run() {
    if (edit_.kind == HookEdit::Kind::kKnockout) return knock_out();
    const bool needs_value = edit_.kind == HookEdit::Kind::kReplace || edit_.kind == HookEdit::Kind::kAdd;
    if (needs_value) read_value();
    const std::vector<int64_t>& wanted = edit_.part.positions;
    for (int64_t row = 0; row < grid_.rows; ++row) {
      const auto found = std::find(wanted.begin(), wanted.end(), positions_[row]);
      if (!wanted.empty() && found == wanted.end()) continue;
      change_row(row, value_per_position_ ? found - wanted.begin() : 0);
    }
  }

 private:
  Error error(const std::string& what) const {
    return {ErrorCode::kInvalidArgument, cat("the edit of '", name_, "' does not fit: it ", what)};
  }

  void read_value() {
    const int64_t part = static_cast<int64_t>(heads_.size()) * grid_.length;
    const int64_t listed = static_cast<int64_t>(edit_.part.positions.size());
    value_ = edit_.value.to_vector<float>();
    const auto count = static_cast<int64_t>(value_.size());
    value_per_position_ = count != part && listed > 0 && count == listed * part;
    if (count != part && !value_per_position_) {
      throw error(cat("has ", part, " numbers per position, and the value has ", count));
    }
  }

  void change_row(int64_t row, int64_t value_row) {
    size_t at = static_cast<size_t>(value_row * static_cast<int64_t>(heads_.size()) * grid_.length);  // within value_
    for (const int head : heads_) {
      const std::span<float> run = grid_.at(row, head);
      switch (edit_.kind) {
        case HookEdit::Kind::kZero: std::fill(run.begin(), run.end(), 0.f); break;
        case HookEdit::Kind::kScale:
          for (float& x : run) x *= edit_.factor;
          break;
        case HookEdit::Kind::kReplace: std::copy_n(&value_[at], run.size(), run.begin()); break;
        case HookEdit::Kind::kAdd:
          for (size_t i = 0; i < run.size(); ++i) run[i] += value_[at + i];
          break;
        default: break;
      }
      at += static_cast<size_t>(grid_.length);
    }
  }

  void knock_out() {
    for (const auto& [query, key] : edit_.edges) {
      const auto found = std::find(positions_.begin(), positions_.end(), query);
      if (found == positions_.end() || key < 0 || key >= grid_.length) continue;
      for (const int head : heads_) {
        grid_.at(found - positions_.begin(), head)[static_cast<size_t>(key)] = -std::numeric_limits<float>::infinity();
      }
    }
  }

  const HookEdit& edit_;
  std::string name_;
  const HookGrid& grid_;
  std::span<const int64_t> positions_;
  std::vector<int> heads_;
  std::vector<float> value_;
  bool value_per_position_ = false;
};

Tensor call(const HookEdit& edit, const std::string& name, const Tensor& values, const HookMoment& moment) {
  const Tensor result = edit.function(values, moment);
  if (!result.defined() || !(result.shape() == values.shape()) || result.dtype() != values.dtype()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("the function for '", name, "' gave ",
                    result.defined() ? cat(result.dtype(), " ", result.shape()) : "nothing", ", expected ",
                    values.dtype(), " ", values.shape()));
  }
  return result.to_device(values.device()).contiguous();
}

}  // namespace

Tensor SequenceHooks::run(HookPoint point, int layer, const Tensor& values, std::span<const int64_t> positions,
                          std::string_view custom) const {
  if (!touches(point)) return values;
  if (!failure) return apply(point, layer, values, positions, custom);
  if (*failure) return values;
  try {
    return apply(point, layer, values, positions, custom);
  } catch (const Error& error) {
    *failure = error;
  } catch (const std::bad_alloc&) {
    *failure = Error(ErrorCode::kOutOfMemory, "there was no memory for the hooks of a pass");
  }
  return values;
}

Tensor SequenceHooks::apply(HookPoint point, int layer, const Tensor& values, std::span<const int64_t> positions,
                            std::string_view custom) const {
  const std::string name = point == HookPoint::kCustom ? std::string(custom) : hook_name(point, layer);
  Tensor current = values;
  for (const HookEdit& edit : spec->all_edits()) {
    if (!edit.site.matches(point, layer, custom)) continue;
    if (edit.kind == HookEdit::Kind::kFunction) {
      current = call(edit, name, current, {point, layer, positions});
      continue;
    }
    // Edits are made on the host, in a copy: the pass may still need the values as they were.
    Tensor host = current.device() == Device::cpu() ? current.clone() : current.to_device(Device::cpu()).clone();
    const HookGrid grid(point, host);
    Editor(edit, name, grid, positions).run();
    current = host.to_device(values.device());
  }
  if (cache && spec->captures(point, layer, custom)) cache->add(name, point, current);
  return current;
}

}  // namespace wick
