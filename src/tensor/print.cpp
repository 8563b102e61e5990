#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "tensor/tensor.h"

namespace wick {
namespace {

constexpr int64_t kEdge = 3;            // rows or columns shown at each end of a long dimension
constexpr int64_t kShowAllUpTo = 1000;  // elements

struct Printer {
  const std::vector<double>& values;
  const Shape& shape;
  bool whole_numbers;
  bool shorten;
  size_t width = 0;  // of the widest number
  std::string out;

  void number(double value) {
    const std::string text = whole_numbers ? fmt::format("{:.0f}", value) : fmt::format("{:.5g}", value);
    width = std::max(width, text.size());
    out += fmt::format("{:>{}}", text, width);
  }

  void block(int dim, int64_t start, int64_t span) {
    if (dim == shape.rank()) return number(values[start]);
    const int64_t size = shape[dim], step = size ? span / size : 0;
    const bool leaf = dim + 1 == shape.rank();
    out += '[';
    for (int64_t i = 0; i < size; ++i) {
      if (i) out += leaf ? ", " : cat(",\n", std::string(dim + 1, ' '));
      if (shorten && size > 2 * kEdge && i == kEdge) {
        out += "...";
        i = size - kEdge - 1;
        continue;
      }
      block(dim + 1, start + i * step, step);
    }
    out += ']';
  }
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "tensor(empty)";
  std::string head = cat(tensor.dtype(), " ", tensor.shape(), " on ", tensor.device());
  if (is_packed(tensor.dtype())) return head;  // the values are the business of quant/
  const auto values = tensor.to_vector<double>();
  Printer printer{values, tensor.shape(), is_integer(tensor.dtype()), tensor.numel() > kShowAllUpTo, 0, {}};
  printer.block(0, 0, tensor.numel());  // finds the width
  printer.out.clear();
  printer.block(0, 0, tensor.numel());
  return cat(printer.out, "\n", head);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

}  // namespace wick
