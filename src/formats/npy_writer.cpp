#include "formats/npy_writer.h"

#include "base/error.h"
#include "base/text.h"

namespace wick {

std::string npy_bytes(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF32) {
    throw Error(ErrorCode::kInvalidArgument, cat("a .npy file of ", tensor.dtype(), " is asked for, expected f32"));
  }
  const Tensor rows = tensor.contiguous();
  return npy_bytes("<f4", tensor.shape(), {rows.raw(), static_cast<size_t>(rows.numel()) * sizeof(float)});
}

std::string npy_bytes(std::string_view type, const Shape& dims, std::span<const std::byte> elements) {
  std::string shape;
  for (const int64_t size : dims) shape += cat(size, ",");
  std::string header = cat("{'descr': '", type, "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kBefore = 10, kAlignment = 64;
  header.append(kAlignment - (kBefore + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  return bytes.append(reinterpret_cast<const char*>(elements.data()), elements.size());
}

}  // namespace wick
