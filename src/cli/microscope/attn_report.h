#pragma once

#include "cli/microscope/microscope.h"
#include "interp/head_scores.h"

namespace wick {

// Attention of one layer.
struct AttentionOfLayer {
  int layer = 0;
  Tensor pattern;             // f32 [heads, rows, tokens] on the host
  std::vector<int64_t> rows;  // of each position, its row; -1: it has none

  float at(int64_t head, int64_t query, int64_t key) const {
    return pattern.data<float>()[(head * pattern.dim(1) + rows[static_cast<size_t>(query)]) * pattern.dim(2) + key];
  }
};

struct AttentionEdge {
  int layer = 0, head = 0;
  int64_t query = 0, key = 0;
  float weight = 0;
};

// The strongest edges, at most `top`, strongest first. Without the first token, which heads that have nothing to do
// look at, where `skip_first`.
std::vector<AttentionEdge> strongest_edges(std::span<const AttentionOfLayer> layers, std::span<const int> heads,
                                           std::span<const int64_t> queries, int64_t top, bool skip_first);

// The parts of what `wick attn` tells.
// Where each head of the layers looks from one position: its strongest token.
void add_overview(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                  std::span<const AttentionOfLayer> layers, std::span<const int> heads, int64_t query, bool skip_first);
// A head's matrix, or the mean of several.
void add_matrix(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                const AttentionOfLayer& layer, std::span<const int> heads, std::span<const int64_t> positions);
void add_edges(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
               std::span<const AttentionEdge> edges);
void add_scores(MicroscopeReport& report, const Microscope& microscope, const HeadScores& scores, int64_t top);

}  // namespace wick
