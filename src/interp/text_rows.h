#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "interp/interp_model.h"

namespace wick {

// Which row stands for a text.
enum class TextRow : uint8_t { kLast, kMean };

// One row per text, f32 [texts, values], of what a point gives: "blocks.5.hook_resid_post". Texts run batched. Points
// with heads give all of them in one row. Throws Error(kInvalidArgument) for points without rows or of every layer.
Tensor text_rows(const InterpModel& model, std::span<const std::vector<int32_t>> texts, std::string_view point,
                 TextRow row = TextRow::kLast);

}  // namespace wick
