// Matmul with weights that have one scale per 32. Included once per target.
//
// Every path computes an element of the result as
//   acc = 0; for each block b of 32: acc = fma(float(sum_b), w_scale_b * x_scale_b, acc)
// with sum_b the exact integer sum of (weight byte - offset) * activation byte, so all give the same bits. With a min,
// acc = fma(float(x_sum_b), w_min_b * x_scale_b, acc) follows.
#if defined(WICK_BACKENDS_CPU_PACKED_KERNEL32_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PACKED_KERNEL32_INL_H
#undef WICK_BACKENDS_CPU_PACKED_KERNEL32_INL_H
#else
#define WICK_BACKENDS_CPU_PACKED_KERNEL32_INL_H
#endif

#include "backends/cpu/quant/packed_tiles-inl.h"

WICK_BEFORE_PACKED();
namespace wick::HWY_NAMESPACE {
#if WICK_PACKED_SIMD

// acc + the contribution of one block; Extra holds zeros or mins.
template <class Format, class DF, class VF = hn::Vec<DF>, class VI>
HWY_INLINE VF AddBlock(DF df, VF acc, VI sum, VF scale, VF extra, float x_scale, int32_t x_sum) {
  const hn::RebindToSigned<DF> di;
  if constexpr (Format::kShift == Shift::kOffset && Format::kOffset != 0) {
    sum = hn::Sub(sum, hn::Set(di, Format::kOffset * x_sum));
  } else if constexpr (Format::kShift == Shift::kZero) {
    sum = hn::Sub(sum, hn::Mul(hn::ConvertTo(di, extra), hn::Set(di, x_sum)));
  }
  acc = hn::MulAdd(hn::ConvertTo(df, sum), hn::Mul(scale, hn::Set(df, x_scale)), acc);
  if constexpr (Format::kShift == Shift::kMin) {
    acc = hn::MulAdd(hn::Set(df, static_cast<float>(x_sum)), hn::Mul(extra, hn::Set(df, x_scale)), acc);
  }
  return acc;
}

// kTile columns of kRows rows, straight from the packed weights.
template <class Format, int kRows>
void FewTile32(const PackedJob& job, int64_t first_row, int64_t column, int64_t end) {
  const DSums di;
  const DScales df;
  const PackedActivations& x = job.x;
  const int64_t units = x.k / 32;
  const TileRows<typename Format::Block> tile(job, column, end);
  const int8_t* q = x.q + first_row * x.k;
  const float* x_scale = x.scale + first_row * units;
  const int16_t* x_sum = x.sums + first_row * units;

  hn::Vec<DScales> acc[kRows];
  for (int r = 0; r < kRows; ++r) acc[r] = hn::Zero(df);
  for (int64_t unit = 0; unit < units; ++unit) {
    Prefetch(job, tile.row[0], kTile, unit);
    hn::Vec<DSums> sums[kRows][kTile];
    for (size_t i = 0; i < kTile; ++i) {
      hn::Vec<DBytes> values[kParts];
      for (size_t p = 0; p < kParts; ++p) values[p] = Format::Values(tile.row[i], unit, p);
      for (int r = 0; r < kRows; ++r) {
        sums[r][i] = hn::Zero(di);
        for (size_t p = 0; p < kParts; ++p) {
          const auto four = LoadPart(reinterpret_cast<const uint8_t*>(q + r * x.k + unit * 32), p);
          sums[r][i] = Dot4<Format::kBits>(di, sums[r][i], values[p], four);
        }
      }
    }
    const auto scale = Format::Scales(tile.row, unit);
    auto extra = hn::Zero(df);
    if constexpr (Format::kShift != Shift::kOffset) extra = Format::Extras(tile.row, unit);
    for (int r = 0; r < kRows; ++r) {
      acc[r] = AddBlock<Format>(df, acc[r], SumEach(di, sums[r]), scale, extra, x_scale[r * units + unit],
                                x_sum[r * units + unit]);
    }
  }
  HWY_ALIGN float results[kTile];
  for (int r = 0; r < kRows; ++r) {
    hn::Store(acc[r], df, results);
    StoreResults(job, first_row + r, column, results, std::min<int64_t>(kTile, end - column));
  }
}

template <class Format>
void Few32(const PackedJob& job, int64_t begin, int64_t end) {
  for (int64_t column = begin; column < end; column += kTile) {
    int64_t row = 0;
    for (; row + kFewRows <= job.x.rows; row += kFewRows) FewTile32<Format, kFewRows>(job, row, column, end);
    for (; row + 2 <= job.x.rows; row += 2) FewTile32<Format, 2>(job, row, column, end);
    for (; row < job.x.rows; ++row) FewTile32<Format, 1>(job, row, column, end);
  }
}

// kPanel weight rows with their bytes interleaved: groups of 4 neighbouring weights of 16 rows make 64 bytes.
struct Panel32 {
  int32_t* values;  // [units * 8, kPanel], four bytes each
  float* scales;    // [units, kPanel]
  float* extras;    // [units, kPanel]
};

template <class Format>
void Unpack32(const PackedJob& job, int64_t column, int64_t end, const Panel32& panel) {
  const DSums di;
  const DScales df;
  const int64_t units = job.x.k / 32;
  for (size_t first = 0; first < static_cast<size_t>(kPanel); first += kTile) {
    const TileRows<typename Format::Block> tile(job, std::min<int64_t>(column + first, end - 1), end);
    for (int64_t unit = 0; unit < units; ++unit) {
      Prefetch(job, tile.row[0], kTile, unit);
      for (size_t p = 0; p < kParts; ++p) {
        hn::Vec<DSums> groups[kTile];
        for (size_t i = 0; i < kTile; ++i) groups[i] = hn::BitCast(di, Format::Values(tile.row[i], unit, p));
        StoreGroups(groups, panel.values + (unit * 8 + p * kTile) * kPanel + first);
      }
      hn::StoreU(Format::Scales(tile.row, unit), df, panel.scales + unit * kPanel + first);
      if constexpr (Format::kShift != Shift::kOffset) {
        hn::StoreU(Format::Extras(tile.row, unit), df, panel.extras + unit * kPanel + first);
      }
    }
  }
}

// kPanelRows rows of one panel; rows past the end repeat the last one.
template <class Format>
void PanelTile32(const PackedJob& job, int64_t first_row, int64_t column, int64_t end, const Panel32& panel) {
  const DPanelSums di;
  const DPanelScales df;
  const DPanelBytes d8;
  const PackedActivations& x = job.x;
  const int64_t units = x.k / 32, rows = std::min(kPanelRows, x.rows - first_row);
  int64_t row_at[kPanelRows];
  for (int64_t r = 0; r < kPanelRows; ++r) row_at[r] = first_row + std::min(r, rows - 1);

  hn::Vec<DPanelScales> acc[kPanelRows][kPanelVectors];
  for (auto& row : acc) {
    for (auto& v : row) v = hn::Zero(df);
  }
  for (int64_t unit = 0; unit < units; ++unit) {
    hn::Vec<DPanelSums> sums[kPanelRows][kPanelVectors];
    for (auto& row : sums) {
      for (auto& v : row) v = hn::Zero(di);
    }
    const auto* values = reinterpret_cast<const uint8_t*>(panel.values + unit * 8 * kPanel);
    for (int g = 0; g < 8; ++g) {
      for (size_t v = 0; v < kPanelVectors; ++v) {
        const auto w = hn::Load(d8, values + g * 4 * kPanel + v * 4 * kPanelLanes);
        for (int64_t r = 0; r < kPanelRows; ++r) {
          const auto four = BroadcastFour(x.q + row_at[r] * x.k + unit * 32 + g * 4);
          sums[r][v] = Dot4<Format::kBits>(di, sums[r][v], w, four);
        }
      }
    }
    for (size_t v = 0; v < kPanelVectors; ++v) {
      const auto scale = hn::Load(df, panel.scales + unit * kPanel + v * kPanelLanes);
      auto extra = hn::Zero(df);
      if constexpr (Format::kShift != Shift::kOffset) {
        extra = hn::Load(df, panel.extras + unit * kPanel + v * kPanelLanes);
      }
      for (int64_t r = 0; r < kPanelRows; ++r) {
        const int64_t at = row_at[r] * units + unit;
        acc[r][v] = AddBlock<Format>(df, acc[r][v], sums[r][v], scale, extra, x.scale[at], x.sums[at]);
      }
    }
  }
  HWY_ALIGN float results[kPanel];
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t v = 0; v < kPanelVectors; ++v) hn::Store(acc[r][v], df, results + v * kPanelLanes);
    StoreResults(job, first_row + r, column, results, std::min(kPanel, end - column));
  }
}

template <class Format>
void Many32(const PackedJob& job, int64_t begin, int64_t end) {
  const int64_t units = job.x.k / 32, at_once = cpu::panels_at_once(job.x.k, job.x.rows);
  struct Values;
  struct Scales;
  auto* values = cpu::scratch<int32_t, Values>(at_once * units * 8 * kPanel);
  auto* scales = cpu::scratch<float, Scales>(at_once * 2 * units * kPanel);
  const auto panel = [&](int64_t i) {
    return Panel32{values + i * units * 8 * kPanel, scales + 2 * i * units * kPanel,
                   scales + (2 * i + 1) * units * kPanel};
  };
  for (int64_t first = begin; first < end; first += at_once * kPanel) {
    const int64_t panels = std::min(at_once, (end - first + kPanel - 1) / kPanel);
    for (int64_t i = 0; i < panels; ++i) Unpack32<Format>(job, first + i * kPanel, end, panel(i));
    for (int64_t row = 0; row < job.x.rows; row += kPanelRows) {
      for (int64_t i = 0; i < panels; ++i) PanelTile32<Format>(job, row, first + i * kPanel, end, panel(i));
    }
  }
}

#endif  // WICK_PACKED_SIMD
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
