#include "formats/group_weights.h"

#include <algorithm>
#include <numeric>

namespace wick {

void check_part(std::string_view name, std::string_view part, const Tensor& tensor, DType dtype, const Shape& shape) {
  if (!tensor.defined()) throw Error(ErrorCode::kBadFile, cat(name, ".", part, " is missing"));
  if (tensor.dtype() != dtype || tensor.shape() != shape) {
    throw Error(ErrorCode::kBadFile,
                cat(name, ".", part, " is ", tensor.dtype(), " ", tensor.shape(), ", expected ", dtype, " ", shape));
  }
}

std::vector<uint16_t> scale_bits(std::string_view name, const Tensor& scales) {
  if (!is_float(scales.dtype())) {
    throw Error(ErrorCode::kBadFile, cat(name, ".scales is ", scales.dtype(), ", expected floats"));
  }
  std::vector<uint16_t> bits(scales.numel());
  visit_dtype(scales.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const T* from = scales.data<T>();
    for (size_t i = 0; i < bits.size(); ++i) {
      const auto value = convert<float>(from[i]);
      bits[i] = f32_to_f16_bits(value);
      if (f16_bits_to_f32(bits[i]) != value && value == value) {
        throw Error(ErrorCode::kUnsupported, cat(name, ".scales holds ", value, ", which f16 cannot hold exactly"));
      }
    }
  });
  return bits;
}

InputGroups group_inputs(std::string_view name, const Tensor& g_idx, int64_t in, int64_t groups, int64_t group_size) {
  InputGroups result;
  std::vector<int64_t> group_of(in);
  for (int64_t i = 0; i < in; ++i) group_of[i] = i / group_size;
  if (g_idx.defined()) {
    check_part(name, "g_idx", g_idx, DType::kI32, {in});
    const int32_t* given = g_idx.data<int32_t>();
    for (int64_t i = 0; i < in; ++i) {
      if (given[i] < 0 || given[i] >= groups) {
        throw Error(ErrorCode::kBadFile,
                    cat(name, ".g_idx[", i, "] is ", given[i], ", but there are ", groups, " groups"));
      }
      group_of[i] = given[i];
    }
    if (!std::is_sorted(group_of.begin(), group_of.end())) {
      result.order.resize(in);
      std::iota(result.order.begin(), result.order.end(), 0);
      std::stable_sort(result.order.begin(), result.order.end(),
                       [&](int64_t a, int64_t b) { return group_of[a] < group_of[b]; });
      std::sort(group_of.begin(), group_of.end());
    }
  }
  for (int64_t start = 0; start < in; start += kGroupBlock) {
    if (group_of[start] != group_of[start + kGroupBlock - 1]) {
      throw Error(ErrorCode::kUnsupported, cat(name, ".g_idx: group ", group_of[start],
                                               " does not fill whole blocks of ", kGroupBlock, " inputs"));
    }
    result.block_group.push_back(group_of[start]);
  }
  return result;
}

}  // namespace wick
