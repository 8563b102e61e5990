#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

enum class RopeKind : uint8_t { kDefault, kLinear, kDynamic, kLlama3, kYarn, kLongRope, kProportional };

// Rotary positions as config.json describes them.
struct RopeConfig {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000;
  int64_t dim = 0;           // how many components of a head turn
  bool interleaved = false;  // pairs are (2i, 2i + 1) instead of (i, i + dim / 2)
  bool backwards = false;    // they turn the other way round

  double factor = 1;
  int64_t max_positions = 0;                                       // the model's context
  int64_t original_positions = 0;                                  // the context it was trained on before scaling
  double low_freq_factor = 1, high_freq_factor = 4;                // kLlama3
  double beta_fast = 32, beta_slow = 1;                            // kYarn
  bool truncate = true;                                            // kYarn: borders of the ramp are whole dimensions
  std::optional<double> attention_factor, mscale, mscale_all_dim;  // kYarn, kLongRope
  std::vector<double> short_factor, long_factor;                   // kLongRope: one per pair
  int64_t turned_pairs = 0;  // kProportional: of the dim / 2, those that turn at all
  // How many pairs turn by the time, the row and the column of what is seen; empty: all turn by one position.
  std::vector<int64_t> axes;
  bool axes_interleaved =
      false;  // pairs 1, 4, 7, ... by rows and 2, 5, 8, ... by columns, up to three times their count
};

// Where a row stands: in time, in rows and in columns. Of a token all three are one.
using RopePosition = std::array<int64_t, 3>;

// cos and sin of some rows, f32 [rows, dim / 2].
struct RopeRows {
  Tensor cos, sin;
};

// Heads [tokens, heads, head_dim] turned by the rows' angles.
Tensor rotate_heads(const Tensor& heads, const RopeRows& rows, bool interleaved);

// The angles of a model. Scalings that depend on the length of a text (dynamic, longrope) are settled by the context
// the model was loaded with, so that a token's angle never depends on how much text came in one piece.
class RopeTable {
 public:
  RopeTable(const RopeConfig& config, int64_t context);

  RopeRows rows(std::span<const int64_t> positions) const;
  RopeRows rows(std::span<const RopePosition> positions) const;
  int64_t pairs() const { return static_cast<int64_t>(frequencies_.size()); }
  bool interleaved() const { return interleaved_; }

 private:
  template <typename Place>
  RopeRows rows_at(int64_t count, const Place& place) const;

  std::vector<double> frequencies_;  // radians per position
  std::vector<uint8_t> axes_;        // by which each pair turns
  double magnitude_ = 1;             // cos and sin are multiplied by this
  bool interleaved_ = false;
};

}  // namespace wick
