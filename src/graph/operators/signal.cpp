#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/rearrange.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

// The transform of `length` complex numbers of stride 1, straight from its definition.
void transform(const double* real, const double* imaginary, double* out, int64_t length, int64_t count, bool inverse) {
  if (length > 1 << 16) throw not_offered(cat("a transform of ", length));
  std::vector<double> cosines(static_cast<size_t>(length)), sines(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length);
    cosines[i] = std::cos(angle), sines[i] = inverse ? std::sin(angle) : -std::sin(angle);
  }
  for (int64_t k = 0; k < count; ++k) {
    double re = 0, im = 0;
    for (int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<int64_t>((static_cast<unsigned __int128>(k) * static_cast<unsigned __int128>(i)) %
                                           static_cast<unsigned __int128>(length));
      re += real[i] * cosines[at] - imaginary[i] * sines[at];
      im += real[i] * sines[at] + imaginary[i] * cosines[at];
    }
    out[2 * k] = inverse ? re / static_cast<double>(length) : re;
    out[2 * k + 1] = inverse ? im / static_cast<double>(length) : im;
  }
}

void dft_op(OpRun& run) {
  Tensor x = run.tensor(0);
  if (x.rank() < 2 || (x.dim(-1) != 1 && x.dim(-1) != 2))
    throw Error(ErrorCode::kShape,
                cat("the input is ", x.shape(), ", expected one or two numbers in the last dimension"));
  const bool inverse = run.get("inverse", int64_t{0}) != 0, one_sided = run.get("onesided", int64_t{0}) != 0;
  int64_t given = run.opset() < 20 ? run.get("axis", int64_t{1}) : run.has(2) ? run.int_at(2) : -2;
  const int axis = axis_of(given, x.rank());
  if (axis == x.rank() - 1) throw bad_input("the last dimension cannot be transformed");
  const int64_t length = run.has(1) ? run.int_at(1) : 0;
  if (inverse && one_sided) {  // from half of the spectrum, real numbers
    const int64_t half = x.dim(axis), whole = length > 0 ? length : 2 * (half - 1);
    const Doubles from(x);
    if (whole < 1) throw bad_input("nothing to transform");
    Shape shape = x.shape().with(axis, whole).with(x.rank() - 1, 1);
    Doubles out(shape);
    const int64_t inner = inner_size(x.shape(), axis) / x.dim(-1), outer = outer_size(x.shape(), axis);
    std::vector<double> re(static_cast<size_t>(whole)), im(re), made(2 * re.size());
    for (int64_t row = 0; row < outer * inner; ++row) {
      for (int64_t i = 0; i < whole; ++i) {
        const int64_t at = i < half ? i : whole - i;
        const bool known = at >= 0 && at < half;
        const int64_t place = ((row / inner * half + at) * inner + row % inner) * x.dim(-1);
        re[i] = known ? from[place] : 0;
        im[i] = known && x.dim(-1) == 2 ? (i < half ? from[place + 1] : -from[place + 1]) : 0;
      }
      transform(re.data(), im.data(), made.data(), whole, whole, true);
      for (int64_t i = 0; i < whole; ++i) out.out()[(row / inner * whole + i) * inner + row % inner] = made[2 * i];
    }
    return run.set(0, store(out.tensor(), run.type(0)));
  }
  if (length < 0) throw bad_input(cat("a transform of ", length));
  if (length > 0 && length != x.dim(axis))
    x = length < x.dim(axis) ? narrow(x, axis, 0, length) : pad(x, axis, 0, length - x.dim(axis));
  const int64_t size = x.dim(axis), count = one_sided ? size / 2 + 1 : size;
  if (size < 1) throw bad_input("nothing to transform");
  const Doubles from(x);
  const int64_t parts = x.dim(-1), inner = inner_size(x.shape(), axis) / parts, outer = outer_size(x.shape(), axis);
  Doubles out(x.shape().with(axis, count).with(x.rank() - 1, 2));
  std::vector<double> re(static_cast<size_t>(size)), im(re), made(2 * static_cast<size_t>(count));
  for (int64_t row = 0; row < outer * inner; ++row) {
    for (int64_t i = 0; i < size; ++i) {
      const int64_t place = ((row / inner * size + i) * inner + row % inner) * parts;
      re[i] = from[place], im[i] = parts == 2 ? from[place + 1] : 0;
    }
    transform(re.data(), im.data(), made.data(), size, count, inverse);
    for (int64_t i = 0; i < count; ++i) {
      double* to = out.out() + ((row / inner * count + i) * inner + row % inner) * 2;
      to[0] = made[2 * i], to[1] = made[2 * i + 1];
    }
  }
  run.set(0, store(out.tensor(), run.type(0)));
}

void stft_op(OpRun& run) {
  const Tensor& signal = run.tensor(0);
  const int64_t step = run.int_at(1);
  const bool one_sided = run.get("onesided", int64_t{1}) != 0;
  if (signal.rank() != 2 && signal.rank() != 3) throw Error(ErrorCode::kShape, cat("the signal is ", signal.shape()));
  const int64_t parts = signal.rank() == 3 ? signal.dim(2) : 1, batch = signal.dim(0), samples = signal.dim(1);
  const Doubles window(run.has(2) ? run.tensor(2) : ones({run.has(3) ? run.int_at(3) : 0}));
  const int64_t length = run.has(3) ? run.int_at(3) : window.size();
  if (step < 1 || length < 1 || length > samples || window.size() != length || parts < 1 || parts > 2)
    throw bad_input(cat("frames of ", length, " every ", step, " of ", samples, " samples"));
  const int64_t frames = (samples - length) / step + 1, count = one_sided ? length / 2 + 1 : length;
  const Doubles from(signal);
  Doubles out(Shape{batch, frames, count, 2});
  std::vector<double> re(static_cast<size_t>(length)), im(re);
  for (int64_t row = 0; row < batch * frames; ++row) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t place = (row / frames * samples + row % frames * step + i) * parts;
      re[i] = from[place] * window[i], im[i] = parts == 2 ? from[place + 1] * window[i] : 0;
    }
    transform(re.data(), im.data(), out.out() + row * count * 2, length, count, false);
  }
  run.set(0, store(out.tensor(), run.type(0)));
}

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n)
template <int kKind>
void window_op(OpRun& run) {
  constexpr double kHann[] = {0.5, 0.5, 0}, kHamming[] = {25.0 / 46, 21.0 / 46, 0}, kBlackman[] = {0.42, 0.5, 0.08};
  const double* a = kKind == 0 ? kHann : kKind == 1 ? kHamming : kBlackman;
  const int64_t size = run.int_at(0);
  if (size < 0) throw bad_input(cat("a window of ", size));
  const bool periodic = run.get("periodic", int64_t{1}) != 0;
  const ElementType type = element_type(run.get("output_datatype", int64_t{1}));
  if (type == ElementType::kNone) throw not_offered("output_datatype is none that Wick has");
  Doubles out(Shape{size});
  const auto period = static_cast<double>(periodic ? size : std::max<int64_t>(size - 1, 1));
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    out.out()[i] = a[0] - a[1] * std::cos(angle) + a[2] * std::cos(2 * angle);
  }
  run.set(0, store(out.tensor(), type));
}

void mel_weight_matrix_op(OpRun& run) {
  const int64_t bins = run.int_at(0), length = run.int_at(1);
  const double rate = run.number_at(2), low = run.number_at(3), high = run.number_at(4);
  if (bins < 1 || length < 1 || !(rate > 0) || bins > (1 << 20))
    throw bad_input(cat(bins, " bins of a transform of ", length, " at ", rate));
  const ElementType type = element_type(run.get("output_datatype", int64_t{1}));
  if (type == ElementType::kNone) throw not_offered("output_datatype is none that Wick has");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double first = mel(low), step = (mel(high) - first) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10.0, (first + static_cast<double>(i) * step) / 2595) - 1);
    const double place = std::floor(static_cast<double>(length + 1) * hertz / rate);
    edges.push_back(place > 0x1p40 || place < 0 ? -1 : static_cast<int64_t>(place));
  }
  const int64_t rows = length / 2 + 1;
  const Tensor out = zeros({rows, bins}, DType::kF64);
  double* to = out.mutable_data<double>();
  const auto put = [&](int64_t row, int64_t column, double value) {
    if (row >= 0 && row < rows) to[row * bins + column] = value;
  };
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t left = edges[i], middle = edges[i + 1], right = edges[i + 2];
    if (middle == left) {
      put(middle, i, 1);
    } else {
      for (int64_t j = std::max<int64_t>(left, 0); j <= std::min(middle, rows - 1); ++j)
        put(j, i, static_cast<double>(j - left) / static_cast<double>(middle - left));
    }
    for (int64_t j = std::max<int64_t>(middle, 0); j < std::min(right, rows); ++j) {
      put(j, i, static_cast<double>(right - j) / static_cast<double>(right - middle));
    }
  }
  run.set(0, store(out, type));
}

constexpr Operator kOperators[] = {
    {"BlackmanWindow", window_op<2>, "output_datatype periodic"},
    {"DFT", dft_op, "axis inverse onesided"},
    {"HammingWindow", window_op<1>, "output_datatype periodic"},
    {"HannWindow", window_op<0>, "output_datatype periodic"},
    {"MelWeightMatrix", mel_weight_matrix_op, "output_datatype"},
    {"STFT", stft_op, "onesided"},
};

}  // namespace

Operators signal_operators() { return kOperators; }

}  // namespace wick::graph
