#include "models/input_embeddings.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "ops/index.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

// A piece of what a sequence brings, as far as its rows are in the batch.
struct PlacedPiece {
  const InputEmbeddings* given;
  int64_t first;  // of its rows
  int64_t count;
  int64_t row;  // in the batch
  int64_t sequence;
};

std::vector<PlacedPiece> placed(const ForwardBatch& batch) {
  std::vector<PlacedPiece> pieces;
  int64_t begin = 0, sequence = 0;
  for (const SequenceRows& rows : batch.sequences) {
    for (const InputEmbeddings& given : rows.embeddings) {
      const int64_t first = std::max(rows.position, given.position);
      const int64_t count = std::min(rows.position + rows.tokens, given.position + given.rows.dim(0)) - first;
      if (count > 0) pieces.push_back({&given, first - given.position, count, begin + first - rows.position, sequence});
    }
    begin += rows.tokens;
    ++sequence;
  }
  return pieces;
}

}  // namespace

Tensor place_embeddings(const ForwardBatch& batch, const Tensor& x) {
  const std::vector<PlacedPiece> pieces = placed(batch);
  if (pieces.empty()) return x;
  std::vector<Tensor> parts = {x};
  std::vector<int64_t> source(static_cast<size_t>(x.dim(0)));  // where in the parts each row comes from
  std::iota(source.begin(), source.end(), int64_t{0});
  int64_t behind = x.dim(0);
  for (const PlacedPiece& piece : pieces) {
    parts.push_back(narrow(piece.given->rows, 0, piece.first, piece.count));
    const auto place = source.begin() + piece.row;
    std::iota(place, place + piece.count, behind);
    behind += piece.count;
  }
  const Tensor index = from_vector(source, {x.dim(0)}).to_device(x.device());
  return index_select(concat(parts, 0), 0, index);
}

std::optional<DeepRows> deep_rows(const ForwardBatch& batch, size_t layer) {
  std::vector<Tensor> parts;
  std::vector<int64_t> rows;
  for (const PlacedPiece& piece : placed(batch)) {
    if (layer >= piece.given->deep.size()) continue;
    parts.push_back(narrow(piece.given->deep[layer], 0, piece.first, piece.count));
    for (int64_t i = 0; i < piece.count; ++i) rows.push_back(piece.row + i);
  }
  if (parts.empty()) return std::nullopt;
  return DeepRows{parts.size() == 1 ? parts.front() : concat(parts, 0), from_vector(rows, {std::ssize(rows)})};
}

size_t deep_layers(const ForwardBatch& batch) {
  size_t layers = 0;
  for (const SequenceRows& rows : batch.sequences) {
    for (const InputEmbeddings& given : rows.embeddings) layers = std::max(layers, given.deep.size());
  }
  return layers;
}

std::vector<WholeRows> whole_rows(const ForwardBatch& batch) {
  std::vector<WholeRows> whole;
  for (const PlacedPiece& piece : placed(batch)) {
    const InputEmbeddings& given = *piece.given;
    if (!given.is_whole) continue;
    whole.push_back(
        {piece.sequence, piece.row, given.position + piece.first, given.position, given.position + given.rows.dim(0)});
  }
  return whole;
}

RopePosition rope_position(std::span<const InputEmbeddings> embeddings, int64_t index) {
  int64_t ahead = 0;  // positions that grids before it have taken less than one for each of their rows
  for (const InputEmbeddings& given : embeddings) {
    if (!given.lies_in_grid() || given.position > index) continue;
    const auto [frames, rows, columns] = given.grid;
    const int64_t at = index - given.position, count = given.rows.dim(0);
    if (at < count) {
      const int64_t start = given.position - ahead;
      return {start + at / (rows * columns), start + at / columns % rows, start + at % columns};
    }
    ahead += count - std::max({frames, rows, columns});
  }
  return {index - ahead, index - ahead, index - ahead};
}

std::vector<RopePosition> rope_positions(const ForwardBatch& batch) {
  const auto lies_in_grid = [](const InputEmbeddings& given) { return given.lies_in_grid(); };
  const bool needed = std::any_of(batch.sequences.begin(), batch.sequences.end(), [&](const SequenceRows& rows) {
    return std::any_of(rows.embeddings.begin(), rows.embeddings.end(), lies_in_grid);
  });
  std::vector<RopePosition> positions;
  if (!needed) return positions;
  positions.reserve(batch.tokens.size());
  for (const SequenceRows& rows : batch.sequences) {
    for (int64_t i = 0; i < rows.tokens; ++i) positions.push_back(rope_position(rows.embeddings, rows.position + i));
  }
  return positions;
}

void check_all_given(const ForwardBatch& batch) {
  for (const SequenceRows& rows : batch.sequences) {
    int64_t given = 0;
    for (const InputEmbeddings& each : rows.embeddings) {
      const int64_t end = std::min(rows.position + rows.tokens, each.position + each.rows.dim(0));
      given += std::max<int64_t>(0, end - std::max(rows.position, each.position));
    }
    if (given == rows.tokens) continue;
    throw Error(ErrorCode::kInvalidArgument, cat("forward: a sequence brings ", given, " rows for ", rows.tokens,
                                                 " positions of a model that has no embeddings of its own"));
  }
}

}  // namespace wick
