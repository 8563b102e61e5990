#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interp/interp_model.h"
#include "interp/sweep_map.h"

namespace wick {

// Which row stands for a text.
enum class TextRow : uint8_t { kLast, kMean };
std::string to_string(TextRow row);  // "last", "mean"
std::optional<TextRow> text_row_named(std::string_view name);

// One row per text, f32 [texts, values], of what each point gives: "blocks.5.hook_resid_post". Texts run once, batched.
// Points with heads give all of them in one row. Throws Error(kInvalidArgument) for points without rows, of every layer
// or that the model does not have.
std::vector<Tensor> text_rows(const InterpModel& model, std::span<const std::vector<int32_t>> texts,
                              std::span<const std::string> points, TextRow row, const SweepProgress& progress = {});
// Of one point.
Tensor text_rows(const InterpModel& model, std::span<const std::vector<int32_t>> texts, const std::string& point,
                 TextRow row = TextRow::kLast);

// One row per token of a text, f32 [tokens, values] on the host, after the edits of `hooks`. Throws as text_rows.
Tensor token_rows(const InterpModel& model, std::span<const int32_t> tokens, const std::string& point,
                  const HookSpec& hooks = {});

}  // namespace wick
