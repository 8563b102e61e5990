#include "vision/placeholder.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr std::string_view kIdeficsEdge = "<fake_token_around_image>", kIdeficsWhole = "<global-img>";
constexpr std::string_view kLfm2Whole = "<|img_thumbnail|>";

std::string spelled(const Tokenizer& tokenizer, int32_t token, const std::string& family) {
  if (!tokenizer.has(token) || !tokenizer.is_special(token)) {
    throw Error(ErrorCode::kBadFile, cat("token ", token, " stands for pictures of a ", family,
                                         ", but it is no control token of the tokenizer"));
  }
  return std::string(tokenizer.piece(token));
}

}  // namespace

Placeholder::Style Placeholder::style_of(const std::string& family) {
  if (family.starts_with("qwen")) return Style::kQwen;
  if (family == "gemma3") return Style::kGemma3;
  if (family == "smolvlm" || family == "idefics3") return Style::kIdefics3;
  if (family == "internvl") return Style::kInternVl;
  if (family == "lfm2_vl") return Style::kLfm2;
  return Style::kPlain;
}

Placeholder::Placeholder(const VisionFacts& facts, const Tokenizer& tokenizer)
    : family_(facts.family), style_(style_of(facts.family)) {
  row_ = spelled(tokenizer, facts.tokens.picture, family_);
  if (facts.tokens.begin) begin_ = spelled(tokenizer, *facts.tokens.begin, family_);
  if (facts.tokens.end) end_ = spelled(tokenizer, *facts.tokens.end, family_);
  const auto need = [&](std::string_view piece) {
    const auto id = tokenizer.id_of(piece);
    if (!id || !tokenizer.is_special(*id)) {
      throw Error(ErrorCode::kBadFile,
                  cat("the tokenizer has no control token '", piece, "', which pictures of a ", family_, " need"));
    }
    return std::string(piece);
  };
  picture_ = row_;
  if (style_ == Style::kQwen && facts.tokens.video) {
    video_row_ = spelled(tokenizer, *facts.tokens.video, family_);
    video_ = begin_ + video_row_ + end_;
  }
  if (style_ == Style::kGemma3) picture_ = begin_;
  if (style_ == Style::kInternVl) {
    begin_ = need("<img>");
    end_ = need("</img>");
  }
  if (style_ == Style::kLfm2) {
    begin_ = need("<|image_start|>");
    end_ = need("<|image_end|>");
  }
  if (style_ == Style::kIdefics3) {
    need(kIdeficsEdge);
    need(kIdeficsWhole);
  }
}

std::string Placeholder::repeated(int64_t count) const {
  std::string text;
  text.reserve(static_cast<size_t>(count) * row_.size());
  for (int64_t i = 0; i < count; ++i) text += row_;
  return text;
}

// Tiles row by row with the place of each, then the whole.
std::string Placeholder::tiles(std::span<const int64_t> rows, const PixelValues& pixels) const {
  const bool idefics = style_ == Style::kIdefics3;
  std::string text;
  size_t part = 0;
  for (int row = 1; row <= pixels.tile_rows; ++row) {
    for (int column = 1; column <= pixels.tile_columns; ++column) {
      text += idefics ? cat(kIdeficsEdge, "<row_", row, "_col_", column, ">")
                      : cat("<|img_row_", row, "_col_", column, "|>");
      text += repeated(rows[part++]);
    }
    if (idefics) text += "\n";
  }
  if (part < rows.size()) {
    if (idefics && part > 0) text += "\n";
    text += idefics ? cat(kIdeficsEdge, kIdeficsWhole) : part > 0 ? std::string(kLfm2Whole) : std::string();
    text += repeated(rows[part]);
  }
  if (idefics) text += kIdeficsEdge;
  return text;
}

std::string Placeholder::of_picture(std::span<const int64_t> rows, const PixelValues& pixels) const {
  int64_t all = 0;
  for (const int64_t count : rows) all += count;
  const auto expected = static_cast<size_t>(pixels.tile_rows) * static_cast<size_t>(pixels.tile_columns) +
                        (pixels.has_overview || pixels.tile_rows == 0 ? 1 : 0);
  const bool writes_tiles = style_ == Style::kIdefics3 || style_ == Style::kLfm2;
  if (writes_tiles ? rows.size() != expected : rows.size() > 1 && style_ != Style::kInternVl) {
    throw Error(ErrorCode::kUnsupported, cat("a picture in ", rows.size(), " parts is not supported for a ", family_));
  }
  switch (style_) {
    case Style::kPlain:
    case Style::kQwen: return repeated(all);
    case Style::kGemma3: return cat("\n\n", begin_, repeated(all), end_, "\n\n");
    case Style::kInternVl: return cat(begin_, repeated(all), end_);
    case Style::kIdefics3: return tiles(rows, pixels);
    case Style::kLfm2: return cat(begin_, tiles(rows, pixels), end_);
  }
  return {};
}

std::string Placeholder::of_video(std::span<const int64_t> rows, std::span<const double> seconds) const {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    text += fmt::format("<{:.1f} seconds>", seconds[i]);
    text += begin_;
    for (int64_t row = 0; row < rows[i]; ++row) text += video_row_;
    text += end_;
  }
  return text;
}

}  // namespace wick
