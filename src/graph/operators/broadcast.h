#pragma once

#include "base/function_ref.h"
#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/check.h"

namespace wick::graph {

// Inputs of an element-wise operator, by ONNX's rules of broadcasting. Whole numbers are computed in i64, whose low
// bits are those of every narrower type.

inline Shape broadcast(const Shape& a, const Shape& b) { return broadcast_shapes("broadcast", a, b); }
inline Tensor spread(const Tensor& x, const Shape& shape) { return broadcast_view("broadcast", x, shape); }

Value map_longs(const Value& x, FunctionRef<int64_t(int64_t)> function);
Value map_longs(const Value& a, const Value& b, FunctionRef<int64_t(int64_t, int64_t)> function);
Value map_doubles(const Value& a, const Value& b, ElementType type, FunctionRef<double(double, double)> function);

// The second operand as opset 6 and older place it: with `axis` its first dimension is that of the first operand.
Value second_operand(OpRun& run);
void check_same_type(const Value& a, const Value& b);

}  // namespace wick::graph
