#include "quant/rows.h"

#include <cstring>
#include <vector>

#include "base/thread_pool.h"
#include "quant/format.h"

namespace wick {
namespace {

void check_convertible(DType dtype, bool write) {
  if (is_packed(dtype)) {
    if (write && !quant_format(dtype).encode) {
      throw Error(ErrorCode::kUnsupported, cat("quantize: ", dtype, " can be read but not written"));
    }
  } else if (!is_float(dtype)) {
    throw Error(ErrorCode::kDType, cat("quantize: ", dtype, " does not hold weights"));
  }
}

// Elements may lie at any address: tensors of files need not be aligned.
template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

void read_row(DType dtype, const std::byte* from, float* row, int64_t columns) {
  if (is_packed(dtype)) return quant_format(dtype).decode(from, row, columns);
  if (dtype == DType::kF32) {
    std::memcpy(row, from, columns * sizeof(float));
    return;
  }
  visit_dtype(dtype, [&](auto kind) {
    using T = decltype(kind);
    for (int64_t i = 0; i < columns; ++i) row[i] = convert<float>(load<T>(from + i * static_cast<int64_t>(sizeof(T))));
  });
}

void write_row(DType dtype, const float* row, std::byte* to, int64_t columns, const float* importance) {
  if (is_packed(dtype)) return quant_format(dtype).encode(row, to, columns, importance);
  visit_dtype(dtype, [&](auto kind) {
    using T = decltype(kind);
    for (int64_t i = 0; i < columns; ++i) {
      const T value = convert<T>(row[i]);
      std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
    }
  });
}

}  // namespace

void convert_rows(const RowConversion& job) {
  check_convertible(job.from, false);
  check_convertible(job.to, true);
  const int64_t from_bytes = bytes_of(job.from, job.columns), to_bytes = bytes_of(job.to, job.columns);
  parallel_for(job.rows, 8, [&](int64_t begin, int64_t end) {
    std::vector<float> row(job.columns);
    for (int64_t r = begin; r < end; ++r) {
      const std::byte* source = job.source + r * from_bytes;
      std::byte* target = job.target + r * to_bytes;
      if (job.from == job.to) {
        std::memcpy(target, source, from_bytes);
        continue;
      }
      read_row(job.from, source, row.data(), job.columns);
      write_row(job.to, row.data(), target, job.columns, job.importance);
    }
  });
}

}  // namespace wick
