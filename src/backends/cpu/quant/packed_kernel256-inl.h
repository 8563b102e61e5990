// Matmul with weights that come in blocks of 256 with integer scales inside. Included once per target.
//
// Every path computes an element of the result as
//   acc = 0; for each block b: acc = fma(float(sum_b), w_scale_b * x_scale_b, acc)
// with sum_b the exact integer sum of group scale * (weight byte - offset) * activation byte, so all give the same
// bits. With mins, acc = fma(-float(min_sum_b), w_min_scale_b * x_scale_b, acc) follows.
#if defined(WICK_BACKENDS_CPU_PACKED_KERNEL256_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_KERNEL256_INL_H
#undef WICK_BACKENDS_CPU_PACKED_KERNEL256_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_KERNEL256_INL_H
#endif

#include "backends/cpu/quant/packed_columns-inl.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
#if WICK_PACKED_SIMD

// The 16-bit factors of one part of a chunk.
HWY_INLINE hn::Vec<DPairs> ChunkScale(const hn::Vec<DPairs>* HWY_RESTRICT scales, int chunk, size_t part) {
  return hn::TableLookupBytes(scales[part], hn::Set(DPairs(), static_cast<int16_t>(2 * chunk | (2 * chunk + 1) << 8)));
}

// The lanes add up to the sum of factors[g] * x_sums[g] over the 16 groups.
HWY_INLINE hn::Vec<DSums> DotGroups(const hn::Vec<DPairs>* HWY_RESTRICT factors, const int16_t* HWY_RESTRICT x_sums) {
  const DPairs d16;
  const DSums d32;
  auto sum = MulPairs(d32, factors[0], hn::LoadU(d16, x_sums));
  for (size_t p = 1; p < kParts; ++p) {
    sum = hn::Add(sum, MulPairs(d32, factors[p], hn::LoadU(d16, x_sums + p * hn::Lanes(d16))));
  }
  return sum;
}

template <class Format, class Block = typename Format::Block>
HWY_INLINE hn::Vec<DScales> MinScales(const Block* const* rows, int64_t block) {
  if constexpr (Format::kMins) {
    return HalvesOfTile([&](size_t i) HWY_ATTR { return rows[i][block].min_scale; });
  } else {
    return hn::Zero(DScales());
  }
}

template <class Format, class DF, class VF = hn::Vec<DF>, class VI>
HWY_INLINE VF AddBlock256(DF df, VF acc, VI sum, VI min_sum, VF scale, VF min_scale, float x_scale) {
  const auto x = hn::Set(df, x_scale);
  acc = hn::MulAdd(hn::ConvertTo(df, sum), hn::Mul(scale, x), acc);
  if constexpr (Format::kMins) acc = hn::NegMulAdd(hn::ConvertTo(df, min_sum), hn::Mul(min_scale, x), acc);
  return acc;
}

// kTile columns of kRows rows, straight from the packed weights.
template <class Format, int kRows>
void FewTile256(const PackedJob& job, int64_t first_row, int64_t column, int64_t end) {
  const DSums di;
  const DScales df;
  const PackedActivations& x = job.x;
  const int64_t blocks = x.k / 256;
  const TileRows<typename Format::Block> tile(job, column, end);
  const int8_t* q = x.q + first_row * x.k;
  const int16_t* x_sums = x.sums + first_row * blocks * 16;
  const float* x_scale = x.scale + first_row * blocks;

  hn::Vec<DScales> acc[kRows];
  for (int r = 0; r < kRows; ++r) acc[r] = hn::Zero(df);
  for (int64_t block = 0; block < blocks; ++block) {
    Prefetch(job, tile.row[0], kTile, block);
    hn::Vec<DSums> sums[kRows][kTile], mins[kRows][kTile];
    for (size_t i = 0; i < kTile; ++i) {
      const auto& w = tile.row[i][block];
      typename Format::State scales;
      Format::Scales(w, scales);
      hn::Vec<DSums> sum[kRows], odd[kRows];  // apart from the array, so that they stay in registers
      for (int r = 0; r < kRows; ++r) {
        const int16_t* row_sums = x_sums + (r * blocks + block) * 16;
        sum[r] = odd[r] = hn::Zero(di);
        if constexpr (Format::kMins) mins[r][i] = DotGroups(scales.mins, row_sums);
        if constexpr (Format::kOffset != 0) {
          sum[r] = hn::Mul(DotGroups(scales.scales, row_sums), hn::Set(di, -Format::kOffset));
        }
      }
      Unroll<8>([&](auto chunk) WICK_PACKED_INLINE {
        for (size_t p = 0; p < kParts; ++p) {
          const auto values = Format::template Values<chunk()>(w, scales, p);
          const auto scale = ChunkScale(scales.scales, chunk(), p);
          for (int r = 0; r < kRows; ++r) {
            const auto* bytes = reinterpret_cast<const uint8_t*>(q + r * x.k + block * 256 + chunk() * 32);
            auto& to = chunk() % 2 == 0 ? sum[r] : odd[r];  // two chains of additions run side by side
            to = ScaledDot4<Format::kBits>(di, to, values, LoadPart(bytes, p), scale);
          }
        }
      });
      for (int r = 0; r < kRows; ++r) sums[r][i] = hn::Add(sum[r], odd[r]);
    }
    const auto scale = Format::BlockScale(tile.row, block);
    const auto min_scale = MinScales<Format>(tile.row, block);
    for (int r = 0; r < kRows; ++r) {
      auto min_sum = hn::Zero(di);
      if constexpr (Format::kMins) min_sum = SumEach(di, mins[r]);
      acc[r] =
          AddBlock256<Format>(df, acc[r], SumEach(di, sums[r]), min_sum, scale, min_scale, x_scale[r * blocks + block]);
    }
  }
  HWY_ALIGN float results[kTile];
  for (int r = 0; r < kRows; ++r) {
    hn::Store(acc[r], df, results);
    StoreResults(job, first_row + r, column, results, std::min<int64_t>(kTile, end - column));
  }
}

template <class Format>
void Few256(const PackedJob& job, int64_t begin, int64_t end) {
  for (int64_t column = begin; column < end; column += kTile) {
    int64_t row = 0;
    for (; row + kFewRows <= job.x.rows; row += kFewRows) FewTile256<Format, kFewRows>(job, row, column, end);
    for (; row + 2 <= job.x.rows; row += 2) FewTile256<Format, 2>(job, row, column, end);
    for (; row < job.x.rows; ++row) FewTile256<Format, 1>(job, row, column, end);
  }
}

HWY_INLINE hn::Vec<DSums> WidenHalf(hn::Vec<DPairs> v, size_t half) {
  const hn::Half<DPairs> d;
  return hn::PromoteTo(DSums(), half == 0 ? hn::LowerHalf(d, v) : hn::UpperHalf(d, v));
}

// As Unpack256 does, 16 rows at a time.
template <class Format>
void UnpackColumns(const PackedJob& job, int64_t column, int64_t end, const Panel256& panel) {
  using Block = typename Format::Block;
  const Block* rows[kPanel];
  for (int64_t i = 0; i < kPanel; ++i) {
    rows[i] = reinterpret_cast<const Block*>(job.w + std::min(column + i, end - 1) * job.row_bytes);
  }
  for (int64_t block = 0; block < job.x.k / 256; ++block) {
    Prefetch(job, rows[0], kPanel, block);
    Columns<Format>::Unpack(rows, block, panel);
  }
}

template <class Format>
void Unpack256(const PackedJob& job, int64_t column, int64_t end, const Panel256& panel) {
  if constexpr (Columns<Format>::kAvailable) return UnpackColumns<Format>(job, column, end, panel);
  constexpr int kGroups = 256 / Format::kGroup;
  const DSums di;
  const DPairs d16;
  const DScales df;
  const int64_t blocks = job.x.k / 256;
  for (size_t first = 0; first < static_cast<size_t>(kPanel); first += kTile) {
    const TileRows<typename Format::Block> tile(job, std::min<int64_t>(column + first, end - 1), end);
    for (int64_t block = 0; block < blocks; ++block) {
      Prefetch(job, tile.row[0], kTile, block);
      typename Format::State scales[kTile];
      for (size_t i = 0; i < kTile; ++i) Format::Scales(tile.row[i][block], scales[i]);
      for (size_t h = 0; h < kGroups / kTile; ++h) {
        hn::Vec<DSums> numbers[kTile];
        for (size_t i = 0; i < kTile; ++i) numbers[i] = WidenHalf(scales[i].scales[h / 2], h % 2);
        StoreGroups(numbers, panel.scales + (block * kGroups + h * kTile) * kPanel + first);
      }
      for (size_t p = 0; p < kParts; ++p) {
        hn::Vec<DSums> pairs[kTile];
        for (size_t i = 0; i < kTile; ++i) {
          pairs[i] = hn::BitCast(
              di, Format::kMins ? scales[i].mins[p] : hn::Mul(scales[i].scales[p], hn::Set(d16, Format::kOffset)));
        }
        StoreGroups(pairs, panel.mins + (block * 8 + p * kTile) * kPanel + first);
      }
      Unroll<8>([&](auto chunk) WICK_PACKED_INLINE {
        for (size_t p = 0; p < kParts; ++p) {
          hn::Vec<DSums> groups[kTile];
          for (size_t i = 0; i < kTile; ++i) {
            groups[i] = hn::BitCast(di, Format::template Values<chunk()>(tile.row[i][block], scales[i], p));
          }
          StoreGroups(groups, panel.values + (block * 64 + chunk() * 8 + p * kTile) * kPanel + first);
        }
      });
      hn::StoreU(Format::BlockScale(tile.row, block), df, panel.scale + block * kPanel + first);
      hn::StoreU(MinScales<Format>(tile.row, block), df, panel.min_scale + block * kPanel + first);
    }
  }
}

// Two 16-bit numbers, for every lane.
HWY_INLINE hn::Vec<hn::Repartition<int16_t, DPanelBytes>> BroadcastPair(const int16_t* HWY_RESTRICT pair) {
  int32_t both;
  std::memcpy(&both, pair, sizeof(both));
  return hn::BitCast(hn::Repartition<int16_t, DPanelBytes>(), hn::Set(DPanelSums(), both));
}

// kPanelRows rows of one vector's width of a panel; rows past the end repeat the last one.
template <class Format>
void PanelTile256(const PackedJob& job, int64_t first_row, int64_t column, int64_t end, const Panel256& panel,
                  size_t v) {
  constexpr int kGroups = 256 / Format::kGroup;
  const DPanelSums di;
  const DPanelScales df;
  const DPanelBytes d8;
  const hn::Repartition<int16_t, DPanelBytes> d16;
  const PackedActivations& x = job.x;
  const int64_t blocks = x.k / 256, rows = std::min(kPanelRows, x.rows - first_row);
  int64_t row_at[kPanelRows];
  for (int64_t r = 0; r < kPanelRows; ++r) row_at[r] = first_row + std::min(r, rows - 1);

  hn::Vec<DPanelScales> acc[kPanelRows];
  for (auto& a : acc) a = hn::Zero(df);
  for (int64_t block = 0; block < blocks; ++block) {
    hn::Vec<DPanelSums> total[kPanelRows];
    for (auto& t : total) t = hn::Zero(di);
    const auto* values = reinterpret_cast<const uint8_t*>(panel.values + block * 64 * kPanel + v * kPanelLanes);
    for (int g = 0; g < kGroups; ++g) {
      hn::Vec<DPanelSums> sums[kPanelRows];
      for (auto& s : sums) s = hn::Zero(di);
      for (int step = 0; step < Format::kGroup / 4; ++step) {
        const int at = g * (Format::kGroup / 4) + step;
        const auto w = hn::Load(d8, values + at * 4 * kPanel);
        for (int64_t r = 0; r < kPanelRows; ++r) {
          const auto four = BroadcastFour(x.q + row_at[r] * x.k + block * 256 + at * 4);
          sums[r] = Dot4<Format::kBits>(di, sums[r], w, four);
        }
      }
      const int place = Format::kGroup == 16 ? PlaceOfGroup(g) : g;
      const auto scale = hn::Load(di, panel.scales + (block * kGroups + place) * kPanel + v * kPanelLanes);
      for (int64_t r = 0; r < kPanelRows; ++r) total[r] = hn::Add(total[r], hn::Mul(sums[r], scale));
    }
    const auto scale = hn::Load(df, panel.scale + block * kPanel + v * kPanelLanes);
    const auto min_scale = hn::Load(df, panel.min_scale + block * kPanel + v * kPanelLanes);
    for (int64_t r = 0; r < kPanelRows; ++r) {
      auto min_sum = hn::Zero(di);
      if constexpr (Format::kMins || Format::kOffset != 0) {
        for (int g = 0; g < 8; ++g) {
          const auto* mins = reinterpret_cast<const int16_t*>(panel.mins + (block * 8 + g) * kPanel + v * kPanelLanes);
          const auto* pair = x.sums + (row_at[r] * blocks + block) * 16 + 2 * g;
          min_sum = hn::Add(min_sum, MulPairs(di, hn::Load(d16, mins), BroadcastPair(pair)));
        }
      }
      if constexpr (!Format::kMins) total[r] = hn::Sub(total[r], min_sum);
      acc[r] =
          AddBlock256<Format>(df, acc[r], total[r], min_sum, scale, min_scale, x.scale[row_at[r] * blocks + block]);
    }
  }
  HWY_ALIGN float results[kPanelLanes];
  const int64_t at = column + static_cast<int64_t>(v * kPanelLanes);
  for (int64_t r = 0; r < rows && at < end; ++r) {
    hn::Store(acc[r], df, results);
    StoreResults(job, first_row + r, at, results, std::min<int64_t>(kPanelLanes, end - at));
  }
}

template <class Format>
void Many256(const PackedJob& job, int64_t begin, int64_t end) {
  const int64_t blocks = job.x.k / 256, at_once = cpu::panels_at_once(job.x.k, job.x.rows),
                integers = blocks * (64 + 16 + 8) * kPanel;
  struct Integers;
  struct Scales;
  auto* numbers = cpu::scratch<int32_t, Integers>(at_once * integers);
  auto* scales = cpu::scratch<float, Scales>(at_once * 2 * blocks * kPanel);
  const auto panel = [&](int64_t i) {
    int32_t* values = numbers + i * integers;
    float* scale = scales + 2 * i * blocks * kPanel;
    return Panel256{values, values + blocks * 64 * kPanel, values + blocks * 80 * kPanel, scale,
                    scale + blocks * kPanel};
  };
  for (int64_t first = begin; first < end; first += at_once * kPanel) {
    const int64_t panels = std::min(at_once, (end - first + kPanel - 1) / kPanel);
    for (int64_t i = 0; i < panels; ++i) Unpack256<Format>(job, first + i * kPanel, end, panel(i));
    for (int64_t row = 0; row < job.x.rows; row += kPanelRows) {
      for (int64_t i = 0; i < panels; ++i) {
        for (size_t v = 0; v < kPanelVectors; ++v) {
          PanelTile256<Format>(job, row, first + i * kPanel, end, panel(i), v);
        }
      }
    }
  }
}

#endif  // WICK_PACKED_SIMD
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
