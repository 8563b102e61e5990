#include <algorithm>
#include <cmath>
#include <map>

#include "base/thread_pool.h"
#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/index.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

const Shape& shape_in(OpRun& run, int input = 0) {
  if (run.in(input).kind() != Value::Kind::kStrings) run.tensor(input);
  return run.in(input).shape();
}

int64_t place_in(int64_t index, int64_t size) {
  const int64_t place = index < 0 ? index + size : index;
  if (place < 0 || place >= size) throw bad_input(cat("index ", index, " for a dimension of size ", size));
  return place;
}

// Indices counted from the front, i64 and row-major.
Tensor places_in(OpRun& run, int input, int64_t size) {
  if (!is_integer(run.type(input))) throw Error(ErrorCode::kDType, cat("indices are ", describe(run.in(input))));
  const Longs given(run.tensor(input));
  bool is_plain = true;
  for (int64_t i = 0; i < given.size() && is_plain; ++i) is_plain = given[i] >= 0 && given[i] < size;
  if (is_plain) return given.tensor();
  Longs out(given.shape());
  for (int64_t i = 0; i < given.size(); ++i) out.out()[i] = place_in(given[i], size);
  return out.tensor();
}

void gather_op(OpRun& run) {
  const Shape& from = shape_in(run);
  const int axis = axis_of(run.get("axis", int64_t{0}), from.rank());
  const Tensor places = places_in(run, 1, from[axis]);
  std::vector<int64_t> sizes(from.begin(), from.begin() + axis);
  sizes.insert(sizes.end(), places.shape().begin(), places.shape().end());
  sizes.insert(sizes.end(), from.begin() + axis + 1, from.end());
  const Shape shape = shape_of(sizes);
  if (places.numel() == 1 && run.in(0).kind() == Value::Kind::kTensor) {
    return run.set(0, reshape(narrow(run.tensor(0), axis, places.data<int64_t>()[0], 1), shape), run.type(0));
  }
  run.set(0, moved(run.in(0),
                   [&](const Tensor& x) { return reshape(index_select(x, axis, reshape(places, {-1})), shape); }));
}

void gather_elements_op(OpRun& run) {
  const Shape& from = shape_in(run);
  const int axis = axis_of(run.get("axis", int64_t{0}), from.rank());
  const Tensor places = places_in(run, 1, from[axis]);
  run.set(0, moved(run.in(0), [&](const Tensor& x) { return gather(x, axis, places); }));
}

// Where slices lie that lists of indices name: offsets in elements of a row-major tensor of `shape`, whose dimensions
// from `first` on the lists are about. One per list.
std::vector<int64_t> slice_offsets(const Longs& lists, const Shape& shape, int first) {
  const int64_t length = lists.shape().back(), count = length ? lists.size() / length : 0;
  if (length < 1 || first + length > shape.rank()) {
    throw Error(ErrorCode::kShape, cat("indices ", lists.shape(), " for a tensor ", shape));
  }
  const auto strides = row_strides(shape);
  std::vector<int64_t> offsets(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t d = 0; d < length; ++d) {
      offsets[i] += place_in(lists[i * length + d], shape[static_cast<int>(first + d)]) * strides[first + d];
    }
  }
  return offsets;
}

void gather_nd_op(OpRun& run) {
  const Shape& from = shape_in(run);
  const Longs lists(run.tensor(1));
  const auto batch_dims = run.get("batch_dims", int64_t{0});
  if (lists.shape().rank() < 1 || batch_dims < 0 || batch_dims >= std::min(from.rank(), lists.shape().rank())) {
    throw Error(ErrorCode::kShape,
                cat("indices ", lists.shape(), " for ", from, " with ", batch_dims, " batch dimensions"));
  }
  const int first = static_cast<int>(batch_dims);
  const auto offsets = slice_offsets(lists, from, first);
  const int64_t length = lists.shape().back();
  std::vector<int64_t> sizes(lists.shape().begin(), lists.shape().end() - 1);
  sizes.insert(sizes.end(), from.begin() + first + length, from.end());
  int64_t batches = 1, slice = 1;
  for (int d = 0; d < first; ++d) {
    if (lists.shape()[d] != from[d]) throw Error(ErrorCode::kShape, cat("indices ", lists.shape(), " for ", from));
    batches *= from[d];
  }
  for (int d = static_cast<int>(first + length); d < from.rank(); ++d) slice *= from[d];
  const Shape shape = shape_of(sizes);
  run.set(0, moved(run.in(0), [&](const Tensor& x) {
            const Tensor source = x.contiguous(), out = empty(shape, x.dtype());
            const int64_t unit = size_of(x.dtype()), per_batch = batches ? std::ssize(offsets) / batches : 0,
                          batch_size = batches ? from.numel() / batches : 0;
            for (int64_t i = 0; i < std::ssize(offsets); ++i) {
              const int64_t at = i / per_batch * batch_size + offsets[i];
              std::copy_n(source.raw() + at * unit, slice * unit, out.raw() + i * slice * unit);
            }
            return out;
          }));
}

enum class Meeting : uint8_t { kReplace, kAdd, kMul, kMax, kMin };
Meeting meeting_of(OpRun& run) {
  const std::string name = run.get("reduction", "none");
  if (name == "none") return Meeting::kReplace;
  if (name == "add") return Meeting::kAdd;
  if (name == "mul") return Meeting::kMul;
  if (name == "max") return Meeting::kMax;
  if (name == "min") return Meeting::kMin;
  throw bad_input(cat("reduction is '", name, "'"));
}

template <typename T>
T meet(T old, T added, Meeting how) {
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<uint64_t>(old), b = static_cast<uint64_t>(added);
    if (how == Meeting::kAdd) return static_cast<T>(a + b);
    if (how == Meeting::kMul) return static_cast<T>(a * b);
  } else {
    if (how == Meeting::kAdd) return old + added;
    if (how == Meeting::kMul) return old * added;
    if (added != added) return added;
  }
  if (how == Meeting::kMax) return std::max(old, added);
  if (how == Meeting::kMin) return std::min(old, added);
  return added;
}

// Slices of `updates` put to places of a copy of x, one after the other.
Value put_slices(const Value& x, const Value& updates, const std::vector<int64_t>& places, int64_t slice, Meeting how) {
  if (x.type() != updates.type())
    throw Error(ErrorCode::kDType, cat("updates are ", describe(updates), " for ", describe(x)));
  if (x.kind() == Value::Kind::kStrings) {
    if (how != Meeting::kReplace) throw bad_input("texts cannot be reduced");
    Strings out = x.strings();
    for (size_t i = 0; i < places.size(); ++i) {
      for (int64_t j = 0; j < slice; ++j) out.values[places[i] + j] = updates.strings().values[i * slice + j];
    }
    return Value(std::move(out));
  }
  const auto put = [&](auto zero) {
    using T = decltype(zero);
    const Flat<T> from(updates.tensor());
    const Tensor out = x.tensor().to_dtype(dtype_of<T>()).clone();
    T* to = out.mutable_data<T>();
    for (size_t i = 0; i < places.size(); ++i) {
      for (int64_t j = 0; j < slice; ++j) to[places[i] + j] = meet(to[places[i] + j], from[i * slice + j], how);
    }
    return store(out, x.type());
  };
  if (x.tensor().dtype() == DType::kF32) return put(float{});
  return is_float(x.type()) ? put(double{}) : put(int64_t{});
}

void scatter_elements_op(OpRun& run) {
  const Shape& from = shape_in(run);
  const int axis = axis_of(run.get("axis", int64_t{0}), from.rank());
  const Longs places(places_in(run, 1, from[axis]));
  const Shape& shape = shape_in(run, 2);
  if (places.shape() != shape || shape.rank() != from.rank()) {
    throw Error(ErrorCode::kShape, cat("indices ", places.shape(), " and updates ", shape, " for ", from));
  }
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != axis && shape[d] > from[d]) throw Error(ErrorCode::kShape, cat("updates ", shape, " for ", from));
  }
  const auto strides = row_strides(from), steps = row_strides(shape);
  std::vector<int64_t> offsets(static_cast<size_t>(places.size()));
  for (int64_t i = 0; i < places.size(); ++i) {
    int64_t rest = i;
    for (int d = 0; d < shape.rank(); ++d) {
      const int64_t index = rest / steps[d];
      rest %= steps[d];
      offsets[i] += (d == axis ? places[i] : index) * strides[d];
    }
  }
  run.set(0, put_slices(run.in(0), run.in(2), offsets, 1, meeting_of(run)));
}

void scatter_nd_op(OpRun& run) {
  const Shape& from = shape_in(run);
  const Longs lists(run.tensor(1));
  if (lists.shape().rank() < 1) throw Error(ErrorCode::kShape, cat("indices ", lists.shape()));
  const auto offsets = slice_offsets(lists, from, 0);
  int64_t slice = 1;
  for (int d = static_cast<int>(lists.shape().back()); d < from.rank(); ++d) slice *= from[d];
  if (shape_in(run, 2).numel() != std::ssize(offsets) * slice) {
    throw Error(ErrorCode::kShape, cat("updates ", shape_in(run, 2), " for ", offsets.size(), " slices of ", slice));
  }
  run.set(0, put_slices(run.in(0), run.in(2), offsets, slice, meeting_of(run)));
}

void one_hot_op(OpRun& run) {
  const Longs indices(run.tensor(0).to_dtype(DType::kI64));
  const auto depth = static_cast<int64_t>(run.number_at(1));
  if (depth < 1) throw bad_input(cat("the depth is ", depth));
  if (run.tensor(2).numel() != 2)
    throw Error(ErrorCode::kShape, cat("the values are ", run.tensor(2).shape(), ", expected two"));
  const int rank = indices.shape().rank() + 1, axis = axis_of(run.get("axis", int64_t{-1}), rank);
  const Shape shape = indices.shape().inserted(axis, depth);
  const Tensor pick = zeros(shape, DType::kI64);
  const int64_t inner = inner_size(shape, axis);
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t place = indices[i] < 0 ? indices[i] + depth : indices[i];
    if (place < 0 || place >= depth) continue;
    pick.mutable_data<int64_t>()[(i / inner * depth + place) * inner + i % inner] = 1;
  }
  run.set(0, reshape(index_select(reshape(run.tensor(2), {2}), 0, reshape(pick, {-1})), shape), run.type(2));
}

void non_zero_op(OpRun& run) {
  const Tensor x = run.tensor(0);
  const Longs marks(is_float(x.dtype()) ? map_float(run.in(0), [](double v) { return v != 0 ? 1.0 : 0.0; }).tensor()
                                        : x);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < marks.size(); ++i) {
    if (marks[i]) found.push_back(i);
  }
  const auto strides = row_strides(x.shape());
  const auto count = std::ssize(found);
  Longs out(Shape{x.rank(), count});
  for (int d = 0; d < x.rank(); ++d) {
    for (int64_t i = 0; i < count; ++i) out.out()[d * count + i] = found[i] / strides[d] % x.dim(d);
  }
  run.set(0, out.tensor());
}

void compress_op(OpRun& run) {
  const Shape& from = shape_in(run);
  const Longs condition(run.tensor(1));
  const bool flat = !run.has("axis");
  const int axis = flat ? 0 : axis_of(run.needed("axis"), from.rank());
  const int64_t size = flat ? from.numel() : from[axis];
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < std::min(size, condition.size()); ++i) {
    if (condition[i]) kept.push_back(i);
  }
  run.set(0, moved(run.in(0),
                   [&](const Tensor& x) { return index_select(flat ? reshape(x, {-1}) : x, axis, longs(kept)); }));
}

void reverse_sequence_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const Longs lengths(run.tensor(1));
  const int time = axis_of(run.get("time_axis", int64_t{0}), x.rank()),
            batch = axis_of(run.get("batch_axis", int64_t{1}), x.rank());
  if (lengths.size() != x.dim(batch) || time == batch)
    throw Error(ErrorCode::kShape, cat("lengths ", lengths.shape(), " for ", x.shape()));
  Longs index(x.shape());
  const auto strides = row_strides(x.shape());
  for (int64_t i = 0; i < index.size(); ++i) {
    const int64_t t = i / strides[time] % x.dim(time), length = lengths[i / strides[batch] % x.dim(batch)];
    if (length < 0 || length > x.dim(time))
      throw bad_input(cat("a length of ", length, " for ", x.dim(time), " steps"));
    index.out()[i] = t < length ? length - 1 - t : t;
  }
  run.set(0, gather(x, time, index.tensor()), run.type(0));
}

// Slices of x along a dimension as keys that compare as the values do.
template <typename T>
void unique_slices(OpRun& run, const Flat<T>& rows, int64_t count, FunctionRef<Tensor(const Tensor&)> pick) {
  const int64_t length = count ? rows.size() / count : 0;
  if (count > 1 << 24) throw not_offered(cat(count, " values"));
  const bool sorted = run.get("sorted", int64_t{1}) != 0;
  const auto less = [&](int64_t a, int64_t b) {
    return std::lexicographical_compare(rows.data() + a * length, rows.data() + (a + 1) * length,
                                        rows.data() + b * length, rows.data() + (b + 1) * length);
  };
  std::map<int64_t, int64_t, decltype(less)> groups(less);  // first of its kind -> its number
  std::vector<int64_t> firsts, counts, inverse;
  for (int64_t i = 0; i < count; ++i) {
    const auto [group, is_new] = groups.emplace(i, std::ssize(firsts));
    if (is_new) firsts.push_back(i), counts.push_back(0);
    ++counts[group->second];
    inverse.push_back(group->second);
  }
  if (sorted) {
    std::vector<int64_t> rank(firsts.size()), new_firsts, new_counts;
    for (const auto& group : groups) {
      rank[group.second] = std::ssize(new_firsts);
      new_firsts.push_back(firsts[group.second]), new_counts.push_back(counts[group.second]);
    }
    for (int64_t& number : inverse) number = rank[number];
    firsts = new_firsts, counts = new_counts;
  }
  run.set(0, pick(longs(firsts)), run.type(0));
  run.set(1, longs(firsts));
  run.set(2, longs(inverse));
  run.set(3, longs(counts));
}

void unique_op(OpRun& run) {
  const Tensor x = run.has("axis") ? run.tensor(0) : reshape(run.tensor(0), {-1});
  const int axis = run.has("axis") ? axis_of(run.needed("axis"), x.rank()) : 0;
  const Tensor rows = transpose(x, 0, axis);
  const auto pick = [&](const Tensor& places) { return index_select(x, axis, places); };
  if (is_float(run.type(0))) {
    unique_slices(run, Doubles(rows), x.dim(axis), pick);
  } else {
    unique_slices(run, Longs(rows), x.dim(axis), pick);
  }
}

// A cache written at a place per sequence: TensorScatter.
void tensor_scatter_op(OpRun& run) {
  const Tensor &cache = run.tensor(0), &update = run.tensor(1);
  const int axis = axis_of(run.get("axis", int64_t{-2}), cache.rank());
  const std::string mode = run.get("mode", "linear");
  if (axis == 0 || cache.rank() != update.rank())
    throw Error(ErrorCode::kShape, cat("update ", update.shape(), " for ", cache.shape()));
  std::vector<int64_t> starts(static_cast<size_t>(cache.dim(0)));
  if (run.has(2)) starts = run.ints(2);
  if (std::ssize(starts) != cache.dim(0))
    throw Error(ErrorCode::kShape, cat(starts.size(), " places for ", cache.dim(0), " sequences"));
  Longs index(update.shape());
  const auto strides = row_strides(update.shape());
  for (int64_t i = 0; i < index.size(); ++i) {
    const int64_t at = starts[i / strides[0]] + i / strides[axis] % update.dim(axis);
    index.out()[i] = mode == "circular" ? ((at % cache.dim(axis)) + cache.dim(axis)) % cache.dim(axis)
                                        : place_in(at, cache.dim(axis));
  }
  run.set(0, scatter(cache, axis, index.tensor(), update), run.type(0));
}

constexpr Operator kOperators[] = {
    {"Compress", compress_op, "axis"},
    {"Gather", gather_op, "axis"},
    {"GatherElements", gather_elements_op, "axis"},
    {"GatherND", gather_nd_op, "batch_dims"},
    {"NonZero", non_zero_op},
    {"OneHot", one_hot_op, "axis"},
    {"ReverseSequence", reverse_sequence_op, "batch_axis time_axis"},
    {"Scatter", scatter_elements_op, "axis"},
    {"ScatterElements", scatter_elements_op, "axis reduction"},
    {"ScatterND", scatter_nd_op, "reduction"},
    {"TensorScatter", tensor_scatter_op, "axis mode"},
    {"Unique", unique_op, "axis sorted"},
};

}  // namespace

Operators index_operators() { return kOperators; }

}  // namespace wick::graph
