#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/check.h"
#include "ops/index.h"
#include "ops/rearrange.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

void copy_into(const Tensor& from, const Tensor& to) {
  if (from.numel() > 0) find_kernel("copy", from.device(), &KernelTable::copy)(from, to);
}

void identity_op(OpRun& run) { run.set(0, run.in(0)); }

void shape_op(OpRun& run) {
  const Value& x = run.in(0);
  if (x.kind() != Value::Kind::kStrings) run.tensor(0);
  const int64_t rank = x.shape().rank();
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = place(run.get("start", int64_t{0})), end = place(run.get("end", rank));
  std::vector<int64_t> sizes;
  for (int64_t d = start; d < end; ++d) sizes.push_back(x.shape()[static_cast<int>(d)]);
  run.set(0, longs(sizes));
}

void size_op(OpRun& run) {
  if (run.in(0).kind() != Value::Kind::kStrings) run.tensor(0);
  run.set(0, scalar(static_cast<double>(run.in(0).shape().numel()), DType::kI64));
}

const Shape& shape_in(OpRun& run) {
  if (run.in(0).kind() != Value::Kind::kStrings) run.tensor(0);
  return run.in(0).shape();
}

void reshape_op(OpRun& run) {
  const Shape& from = shape_in(run);
  std::vector<int64_t> sizes = run.has(1) ? run.ints(1) : run.ints("shape");
  const bool keeps_zero = run.get("allowzero", int64_t{0}) != 0;
  for (size_t d = 0; d < sizes.size() && !keeps_zero; ++d) {
    if (sizes[d] != 0) continue;
    if (static_cast<int>(d) >= from.rank()) throw Error(ErrorCode::kShape, cat("size ", d, " is to be that of ", from));
    sizes[d] = from[static_cast<int>(d)];
  }
  // wick::reshape does not work a size out beside one of 0.
  const auto unknown = std::find(sizes.begin(), sizes.end(), -1);
  if (unknown != sizes.end() && from.numel() == 0) {
    std::vector<int64_t> rest = sizes;
    rest[static_cast<size_t>(unknown - sizes.begin())] = 1;
    if (shape_of(rest).numel() > 0) *unknown = 0;
  }
  run.set(0, moved(run.in(0), [&](const Tensor& x) { return reshape(x, std::span<const int64_t>(sizes)); }));
}

void flatten_op(OpRun& run) {
  const Shape& from = shape_in(run);
  const int64_t given = run.get("axis", int64_t{1});
  const int axis = given == from.rank() ? from.rank() : axis_of(given, from.rank());
  int64_t rows = 1, columns = 1;
  for (int d = 0; d < from.rank(); ++d) (d < axis ? rows : columns) *= from[d];
  run.set(0, moved(run.in(0), [&](const Tensor& x) { return reshape(x, Shape{rows, columns}); }));
}

void squeeze_op(OpRun& run) {
  const Shape& from = shape_in(run);
  std::vector<bool> goes(static_cast<size_t>(from.rank()));
  const std::vector<int64_t> axes = run.has(1) ? run.ints(1) : run.ints("axes");
  for (const int64_t axis : axes) {
    const int d = axis_of(axis, from.rank());
    if (from[d] != 1) throw Error(ErrorCode::kShape, cat("dimension ", d, " of ", from, " is not 1"));
    goes[d] = true;
  }
  std::vector<int64_t> sizes;
  const bool all = axes.empty() && !run.has(1);
  for (int d = 0; d < from.rank(); ++d) {
    if (all ? from[d] != 1 : !goes[d]) sizes.push_back(from[d]);
  }
  run.set(0, moved(run.in(0), [&](const Tensor& x) { return reshape(x, shape_of(sizes)); }));
}

void unsqueeze_op(OpRun& run) {
  const Shape& from = shape_in(run);
  const std::vector<int64_t> axes = run.has(1) ? run.ints(1) : run.ints("axes");
  const int64_t rank = from.rank() + std::ssize(axes);
  if (rank > kMaxRank) throw Error(ErrorCode::kShape, cat("rank ", rank, "; the most is ", kMaxRank));
  std::vector<bool> is_new(static_cast<size_t>(rank));
  for (const int64_t axis : axes) {
    const int d = axis_of(axis, static_cast<int>(rank));
    if (is_new[d]) throw bad_input(cat("axis ", d, " is given twice"));
    is_new[d] = true;
  }
  std::vector<int64_t> sizes;
  for (int d = 0, next = 0; d < rank; ++d) sizes.push_back(is_new[d] ? 1 : from[next++]);
  run.set(0, moved(run.in(0), [&](const Tensor& x) { return reshape(x, shape_of(sizes)); }));
}

void transpose_op(OpRun& run) {
  const Shape& from = shape_in(run);
  std::vector<int64_t> order = run.ints("perm");
  if (!run.has("perm")) {
    for (int d = from.rank(); d-- > 0;) order.push_back(d);
  }
  run.set(0, moved(run.in(0), [&](const Tensor& x) { return permute(x, order); }));
}

void expand_op(OpRun& run) {
  const Shape target = shape_of(run.ints(1));
  const Shape shape = broadcast_shapes("broadcast", shape_in(run), target);
  run.set(0, moved(run.in(0), [&](const Tensor& x) { return broadcast_as(x, shape); }));
}

void tile_op(OpRun& run) {
  const Shape& from = shape_in(run);
  std::vector<int64_t> repeats;
  if (run.input_count() == 3 && run.opset() < 6) {  // tiles and axis
    repeats.assign(static_cast<size_t>(from.rank()), 1);
    repeats[axis_of(run.int_at(2), from.rank())] = run.int_at(1);
  } else {
    repeats = run.ints(1);
  }
  if (std::ssize(repeats) != from.rank()) throw Error(ErrorCode::kShape, cat(repeats.size(), " repeats for ", from));
  std::vector<int64_t> sizes;
  for (int d = 0; d < from.rank(); ++d) {
    const auto size = checked_mul(from[d], repeats[d]);
    if (!size || repeats[d] < 0)
      throw Error(ErrorCode::kShape, cat(repeats[d], " repeats of dimension ", d, " of ", from));
    sizes.push_back(*size);
  }
  static_cast<void>(shape_of(sizes));  // throws when it is too large to count
  run.set(0, moved(run.in(0), [&](const Tensor& x) {
            Tensor out = x;
            for (int d = 0; d < from.rank(); ++d) {
              if (repeats[d] == 1) continue;
              if (repeats[d] == 0) {
                out = narrow(out, d, 0, 0);
              } else if (out.rank() < kMaxRank) {
                const Tensor view = unsqueeze(out, d);
                out = reshape(broadcast_as(view, view.shape().with(d, repeats[d])), out.shape().with(d, sizes[d]));
              } else {
                if (repeats[d] > 1 << 16) throw not_offered(cat(repeats[d], " repeats of a tensor of rank ", kMaxRank));
                out = concat(std::vector<Tensor>(static_cast<size_t>(repeats[d]), out), d);
              }
            }
            return out;
          }));
}

void concat_op(OpRun& run) {
  const int rank = shape_in(run).rank();
  const int axis = axis_of(run.get("axis", int64_t{1}), rank);
  for (int i = 1; i < run.input_count(); ++i) {
    if (run.type(i) != run.type(0))
      throw Error(ErrorCode::kDType, cat("inputs are ", describe(run.in(0)), " and ", describe(run.in(i))));
  }
  if (run.in(0).kind() == Value::Kind::kStrings) {
    // The places of all texts, one input after the other.
    std::vector<Tensor> places;
    std::vector<const std::string*> texts;
    for (int i = 0; i < run.input_count(); ++i) {
      const Strings& part = run.strings(i);
      const auto first = static_cast<double>(texts.size());
      for (const std::string& text : part.values) texts.push_back(&text);
      places.push_back(reshape(arange(first, static_cast<double>(texts.size()), 1, DType::kI64), part.shape));
    }
    const Longs from(concat(places, axis));
    Strings out{from.shape(), {}};
    for (int64_t i = 0; i < from.size(); ++i) out.values.push_back(*texts[from[i]]);
    return run.set(0, Value(std::move(out)));
  }
  std::vector<Tensor> parts;
  for (int i = 0; i < run.input_count(); ++i) parts.push_back(run.tensor(i));
  run.set(0, concat(parts, axis), run.type(0));
}

void split_op(OpRun& run) {
  const Shape& from = shape_in(run);
  const int axis = axis_of(run.get("axis", int64_t{0}), from.rank());
  std::vector<int64_t> sizes = run.has(1) ? run.ints(1) : run.ints("split");
  if (sizes.empty()) {
    const int64_t parts = run.get("num_outputs", int64_t{run.output_count()});
    if (parts != run.output_count() || parts < 1)
      throw bad_input(cat(parts, " parts for ", run.output_count(), " outputs"));
    const int64_t size = ceil_div(from[axis], parts);
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<int64_t>(from[axis] - i * size, 0, size));
  }
  if (std::ssize(sizes) != run.output_count())
    throw bad_input(cat(sizes.size(), " parts for ", run.output_count(), " outputs"));
  int64_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t start = at, size = sizes[i];
    if (size < 0 || size > from[axis] - start)
      throw Error(ErrorCode::kShape, cat("part ", i, " of ", size, " elements at ", start, " of ", from));
    run.set(static_cast<int>(i), moved(run.in(0), [&](const Tensor& x) { return narrow(x, axis, start, size); }));
    at += size;
  }
  if (at != from[axis])
    throw Error(ErrorCode::kShape, cat("parts of ", at, " elements in all for dimension ", axis, " of ", from));
}

void slice_op(OpRun& run) {
  const Shape from = shape_in(run);
  const bool by_input = run.has(1);
  const std::vector<int64_t> starts = by_input ? run.ints(1) : run.ints("starts"),
                             ends = by_input ? run.ints(2) : run.ints("ends");
  std::vector<int64_t> axes = run.has(3) ? run.ints(3) : run.ints("axes"), steps;
  if (run.has(4)) steps = run.ints(4);
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    throw bad_input(
        cat(starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes, ", steps.size(), " steps"));
  }
  run.set(0, moved(run.in(0), [&](const Tensor& x) {
            Layout layout = x.layout();
            for (size_t i = 0; i < starts.size(); ++i) {
              const int d = axis_of(axes[i], from.rank());
              const int64_t size = from[d], step = steps[i];
              if (step == 0) throw bad_input("a step is 0");
              if (step == INT64_MIN) throw bad_input("a step is too large");
              const auto place = [&](int64_t at) { return at < 0 ? at + size : at; };
              const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
              const int64_t start =
                                std::clamp(place(starts[i]), step > 0 ? low : int64_t{0}, std::max<int64_t>(high, 0)),
                            end = std::clamp(place(ends[i]), low, std::max(high, low));
              const int64_t distance = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
              const int64_t count = distance <= 0 || size == 0 ? 0 : (distance - 1) / stride + 1;
              layout.shape = layout.shape.with(d, count);
              if (count > 0) layout.offset += start * layout.strides[d];
              layout.strides[d] = count > 1 ? layout.strides[d] * step : layout.strides[d];
            }
            return x.with_layout(layout);
          }));
}

// Which element of a dimension stands at `at`, beyond its ends.
int64_t padded_place(int64_t at, int64_t size, const std::string& mode) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap") return ((at % size) + size) % size;
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1), place = ((at % period) + period) % period;
  return place < size ? place : period - place;
}

void pad_op(OpRun& run) {
  Tensor x = run.tensor(0);
  const ElementType type = run.type(0);
  const std::string mode = run.get("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "wrap" && mode != "reflect")
    throw bad_input(cat("mode is '", mode, "'"));
  const std::vector<int64_t> pads = run.has(1)        ? run.ints(1)
                                    : run.has("pads") ? run.ints("pads")
                                                      : run.ints("paddings");
  double value = run.get("value", 0.0f);
  if (run.has(2)) value = run.number_at(2);
  std::vector<int64_t> axes;
  if (run.has(3)) {
    for (const int64_t axis : run.ints(3)) axes.push_back(axis_of(axis, x.rank()));
  } else {
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  }
  if (pads.size() != 2 * axes.size())
    throw Error(ErrorCode::kShape, cat(pads.size(), " pads for ", axes.size(), " axes"));
  std::vector<int64_t> before(static_cast<size_t>(x.rank())), sizes(x.shape().begin(), x.shape().end());
  for (size_t i = 0; i < axes.size(); ++i) {
    const int d = static_cast<int>(axes[i]);
    const int64_t left = pads[i], right = pads[i + axes.size()], cut_left = std::max<int64_t>(-left, 0),
                  cut_right = std::max<int64_t>(-right, 0);
    if (left == INT64_MIN || right == INT64_MIN || cut_left > x.dim(d) || cut_right > x.dim(d) - cut_left) {
      throw Error(ErrorCode::kShape, cat("pads ", left, " and ", right, " of dimension ", d, " of ", x.shape()));
    }
    x = narrow(x, d, cut_left, x.dim(d) - cut_left - cut_right);
    before[d] = std::max<int64_t>(left, 0);
    const auto size = checked_add(x.dim(d), before[d]);
    const auto whole = size ? checked_add(*size, std::max<int64_t>(right, 0)) : std::nullopt;
    if (!whole) throw Error(ErrorCode::kShape, cat("pads ", left, " and ", right, " are too large"));
    sizes[d] = *whole;
  }
  const Shape shape = shape_of(sizes);
  if (mode == "constant") {
    const Tensor out = full(shape, value, x.dtype());
    Tensor inside = out;
    for (int d = 0; d < x.rank(); ++d) inside = narrow(inside, d, before[d], x.dim(d));
    copy_into(x, inside);
    return run.set(0, out, type);
  }
  for (int d = 0; d < x.rank(); ++d) {
    if (sizes[d] == x.dim(d)) continue;
    if (x.dim(d) == 0)
      throw Error(ErrorCode::kShape, cat("dimension ", d, " is empty and cannot be padded with its elements"));
    Longs places(Shape{sizes[d]});
    for (int64_t i = 0; i < sizes[d]; ++i) places.out()[i] = padded_place(i - before[d], x.dim(d), mode);
    x = index_select(x, d, places.tensor());
  }
  run.set(0, x, type);
}

void depth_to_space_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const int64_t block = run.needed("blocksize");
  if (x.rank() != 4 || block < 1 || x.dim(1) % (block * block) != 0)
    throw Error(ErrorCode::kShape, cat("blocks of ", block, " from ", x.shape()));
  const int64_t n = x.dim(0), c = x.dim(1) / (block * block), h = x.dim(2), w = x.dim(3);
  const bool columns_first = run.get("mode", "DCR") == "CRD";
  const Tensor parts = columns_first ? permute(reshape(x, {n, c, block, block, h, w}), {0, 1, 4, 2, 5, 3})
                                     : permute(reshape(x, {n, block, block, c, h, w}), {0, 3, 4, 1, 5, 2});
  run.set(0, reshape(parts, {n, c, h * block, w * block}), run.type(0));
}
void space_to_depth_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const int64_t block = run.needed("blocksize");
  if (x.rank() != 4 || block < 1 || x.dim(2) % block != 0 || x.dim(3) % block != 0) {
    throw Error(ErrorCode::kShape, cat("blocks of ", block, " from ", x.shape()));
  }
  const int64_t n = x.dim(0), c = x.dim(1), h = x.dim(2) / block, w = x.dim(3) / block;
  run.set(0, reshape(permute(reshape(x, {n, c, h, block, w, block}), {0, 3, 5, 1, 2, 4}), {n, c * block * block, h, w}),
          run.type(0));
}

void constant_op(OpRun& run) {
  const auto* value = run.node().find("value");
  if (!value) value = run.node().find("sparse_value");
  if (value) return run.set(0, value->value);
  if (const auto* f = run.node().find("value_float")) return run.set(0, scalar(f->f.value_or(0)));
  if (const auto* fs = run.node().find("value_floats"))
    return run.set(0, from_vector(fs->floats, {std::ssize(fs->floats)}));
  if (const auto* i = run.node().find("value_int")) {
    return run.set(0, reshape(longs({i->i.value_or(0)}), Shape{}));
  }
  if (const auto* is = run.node().find("value_ints")) return run.set(0, longs(is->ints));
  if (const auto* s = run.node().find("value_string")) return run.set(0, Value(Strings{{}, {s->s.value_or("")}}));
  if (const auto* ss = run.node().find("value_strings"))
    return run.set(0, Value(Strings{{std::ssize(ss->strings)}, ss->strings}));
  throw Error(ErrorCode::kBadFile, "it has no value");
}

void constant_of_shape_op(OpRun& run) {
  const Shape shape = shape_of(run.ints(0));
  const auto* value = run.node().find("value");
  if (!value) return run.set(0, zeros(shape));
  if (value->value.kind() == Value::Kind::kNothing || value->value.shape().numel() != 1)
    throw bad_input("its value is not one element");
  run.set(0, moved(value->value, [&](const Tensor& x) {
            const Tensor one = reshape(x, Shape{});
            return broadcast_as(one, shape).contiguous();
          }));
}

void range_op(OpRun& run) {
  const ElementType type = run.type(0);
  if (run.type(1) != type || run.type(2) != type)
    throw Error(ErrorCode::kDType, "start, limit and delta are of different types");
  if (is_float(type)) {
    const double start = run.number_at(0), limit = run.number_at(1), delta = run.number_at(2);
    const double count = std::max(std::ceil((limit - start) / delta), 0.0);
    if (!(count < 0x1p53)) throw bad_input(cat("from ", start, " to ", limit, " by ", delta, " there are too many"));
    Doubles out(Shape{static_cast<int64_t>(count)});
    for (int64_t i = 0; i < out.size(); ++i) out.out()[i] = start + static_cast<double>(i) * delta;
    return run.set(0, store(out.tensor(), type));
  }
  const int64_t start = run.int_at(0), limit = run.int_at(1), delta = run.int_at(2);
  if (delta == 0) throw bad_input("delta is 0");
  const bool empty = delta > 0 ? limit <= start : limit >= start;
  const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                      : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit),
                 step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
  const uint64_t count = empty ? 0 : (distance - 1) / step + 1;
  if (count >> 60 != 0) throw bad_input(cat("from ", start, " to ", limit, " by ", delta, " there are too many"));
  Longs out(Shape{static_cast<int64_t>(count)});
  for (int64_t i = 0; i < out.size(); ++i) {
    out.out()[i] =
        static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
  }
  run.set(0, store(out.tensor(), type));
}

void eye_like_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  if (x.rank() != 2) throw Error(ErrorCode::kShape, cat("the input is ", x.shape(), ", expected a matrix"));
  const ElementType type = run.has("dtype") ? element_type(run.needed("dtype")) : run.type(0);
  if (type == ElementType::kNone) throw not_offered("dtype is none that Wick has");
  const int64_t k = run.get("k", int64_t{0});
  const Tensor out = zeros(x.shape(), DType::kI64);
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const auto column = checked_add(row, k);
    if (column && *column >= 0 && *column < x.dim(1)) out.mutable_data<int64_t>()[row * x.dim(1) + *column] = 1;
  }
  run.set(0, store(out, type));
}

void trilu_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  if (x.rank() < 2) throw Error(ErrorCode::kShape, cat("the input is ", x.shape(), ", expected matrices"));
  const int64_t most = std::max(x.dim(-1), x.dim(-2)) + 1, k = std::clamp(run.has(1) ? run.int_at(1) : 0, -most, most);
  run.set(0, run.get("upper", int64_t{1}) ? triu(x, k) : tril(x, k), run.type(0));
}

void center_crop_pad_op(OpRun& run) {
  Tensor x = run.tensor(0);
  const std::vector<int64_t> sizes = run.ints(1);
  std::vector<int64_t> axes = run.ints("axes");
  if (!run.has("axes")) {
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  }
  if (sizes.size() != axes.size())
    throw Error(ErrorCode::kShape, cat(sizes.size(), " sizes for ", axes.size(), " axes"));
  for (size_t i = 0; i < axes.size(); ++i) {
    const int d = axis_of(axes[i], x.rank());
    const int64_t size = sizes[i], now = x.dim(d);
    if (size < 0) throw Error(ErrorCode::kShape, cat("the size ", size));
    if (size <= now) {
      x = narrow(x, d, (now - size) / 2, size);
    } else {
      const Tensor out = zeros(x.shape().with(d, size), x.dtype());
      copy_into(x, narrow(out, d, (size - now) / 2, now));
      x = out;
    }
  }
  run.set(0, x, run.type(0));
}

constexpr Operator kOperators[] = {
    {"CenterCropPad", center_crop_pad_op, "axes"},
    {"Concat", concat_op, "axis"},
    {"Constant", constant_op,
     "value sparse_value value_float value_floats value_int value_ints value_string value_strings"},
    {"ConstantOfShape", constant_of_shape_op, "value"},
    {"DepthToSpace", depth_to_space_op, "blocksize mode"},
    {"Expand", expand_op},
    {"EyeLike", eye_like_op, "dtype k"},
    {"Flatten", flatten_op, "axis"},
    {"Identity", identity_op, "consumed_inputs"},
    {"Pad", pad_op, "mode pads paddings value"},
    {"Range", range_op},
    {"Reshape", reshape_op, "allowzero shape consumed_inputs"},
    {"Shape", shape_op, "start end"},
    {"Size", size_op},
    {"Slice", slice_op, "starts ends axes"},
    {"SpaceToDepth", space_to_depth_op, "blocksize"},
    {"Split", split_op, "axis split num_outputs"},
    {"Squeeze", squeeze_op, "axes"},
    {"Tile", tile_op},
    {"Transpose", transpose_op, "perm"},
    {"Trilu", trilu_op, "upper"},
    {"Unsqueeze", unsqueeze_op, "axes"},
};

}  // namespace

Operators shape_operators() { return kOperators; }

}  // namespace wick::graph
