#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/utf8.h"
#include "graph/float8.h"
#include "graph/operators/broadcast.h"
#include "ops/binary.h"
#include "ops/compare.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {

Value map_longs(const Value& x, FunctionRef<int64_t(int64_t)> function) {
  const Longs from(x.tensor());
  Longs out(x.shape());
  int64_t* to = out.out();
  for (int64_t i = 0; i < from.size(); ++i) to[i] = function(from[i]);
  return store(out.tensor(), x.type());
}

Value map_longs(const Value& a, const Value& b, FunctionRef<int64_t(int64_t, int64_t)> function) {
  const Shape shape = broadcast(a.shape(), b.shape());
  Longs out(shape);
  const Longs left(spread(a.tensor(), shape)), right(spread(b.tensor(), shape));
  int64_t* to = out.out();
  for (int64_t i = 0; i < out.size(); ++i) to[i] = function(left[i], right[i]);
  return store(out.tensor(), a.type());
}

Value map_doubles(const Value& a, const Value& b, ElementType type, FunctionRef<double(double, double)> function) {
  const Shape shape = broadcast(a.shape(), b.shape());
  Doubles out(shape);
  const Doubles left(spread(a.tensor(), shape)), right(spread(b.tensor(), shape));
  double* to = out.out();
  for (int64_t i = 0; i < out.size(); ++i) to[i] = function(left[i], right[i]);
  return store(out.tensor(), type);
}

void check_same_type(const Value& a, const Value& b) {
  if (a.type() != b.type()) throw Error(ErrorCode::kDType, cat("inputs are ", describe(a), " and ", describe(b)));
}

Value second_operand(OpRun& run) {
  const Value& a = run.in(0);
  const Value& b = run.in(1);
  run.tensor(1);
  if (run.opset() >= 7 || !run.has("axis") || run.get("broadcast", int64_t{0}) == 0) return b;
  const int axis = axis_of(run.get("axis", int64_t{0}), a.shape().rank());
  Shape shape = b.shape();
  while (shape.rank() + axis < a.shape().rank()) shape = shape.inserted(shape.rank(), 1);
  return {reshape(b.tensor(), shape), b.type()};
}

namespace {

bool is_whole(ElementType type) { return is_integer(type) || type == ElementType::kBool; }

uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
int64_t number(uint64_t x) { return static_cast<int64_t>(x); }

int64_t divide(int64_t a, int64_t b, bool is_unsigned_type) {
  if (b == 0) throw bad_input("a whole number is divided by 0");
  if (is_unsigned_type) return number(bits(a) / bits(b));
  return b == -1 ? number(0 - bits(a)) : a / b;
}

// The remainder has the sign of b, or of a as in C.
int64_t remainder(int64_t a, int64_t b, bool is_unsigned_type, bool as_in_c) {
  if (b == 0) throw bad_input("a whole number is divided by 0");
  if (is_unsigned_type) return number(bits(a) % bits(b));
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return !as_in_c && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

bool less_than(int64_t a, int64_t b, ElementType type) { return type == ElementType::kU64 ? bits(a) < bits(b) : a < b; }

using FloatOp = Tensor (*)(const Tensor&, const Tensor&);
using LongOp = int64_t (*)(int64_t, int64_t);

Value arithmetic(const Value& a, const Value& b, FloatOp of_floats, LongOp of_longs) {
  check_same_type(a, b);
  if (is_float(a.type())) return store(of_floats(a.tensor(), b.tensor()), a.type());
  if (!is_whole(a.type())) throw Error(ErrorCode::kDType, cat("inputs are ", describe(a)));
  return map_longs(a, b, of_longs);
}

void add_op(OpRun& run) {
  run.tensor(0);
  run.set(0, arithmetic(run.in(0), second_operand(run), wick::add,
                        [](int64_t a, int64_t b) { return number(bits(a) + bits(b)); }));
}
void sub_op(OpRun& run) {
  run.tensor(0);
  run.set(0, arithmetic(run.in(0), second_operand(run), wick::sub,
                        [](int64_t a, int64_t b) { return number(bits(a) - bits(b)); }));
}
void mul_op(OpRun& run) {
  run.tensor(0);
  run.set(0, arithmetic(run.in(0), second_operand(run), wick::mul,
                        [](int64_t a, int64_t b) { return number(bits(a) * bits(b)); }));
}
void div_op(OpRun& run) {
  run.tensor(0);
  const bool is_u64 = run.type(0) == ElementType::kU64;
  run.set(0, is_u64 ? arithmetic(run.in(0), second_operand(run), wick::div,
                                 [](int64_t a, int64_t b) { return divide(a, b, true); })
                    : arithmetic(run.in(0), second_operand(run), wick::div,
                                 [](int64_t a, int64_t b) { return divide(a, b, false); }));
}

void mod_op(OpRun& run) {
  const Value &a = run.in(0), &b = run.in(1);
  run.tensor(0), run.tensor(1);
  check_same_type(a, b);
  const bool as_in_c = run.get("fmod", int64_t{0}) != 0;
  if (is_float(a.type())) {
    // Without fmod, the remainder has the divisor's sign, as in NumPy.
    run.set(0, map_doubles(a, b, a.type(), [&](double x, double y) {
              const double rest = std::fmod(x, y);
              return !as_in_c && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
            }));
    return;
  }
  const bool is_u64 = a.type() == ElementType::kU64;
  run.set(0, map_longs(a, b, [&](int64_t x, int64_t y) { return remainder(x, y, is_u64, as_in_c); }));
}

void pow_op(OpRun& run) {
  run.tensor(0);
  const Value& a = run.in(0);
  const Value b = second_operand(run);
  if (is_float(a.type())) {
    const Tensor exponent =
        b.type() == ElementType::kU64
            ? map_doubles(b, b, ElementType::kF64, [](double x, double) { return x < 0 ? x + 0x1p64 : x; }).tensor()
            : b.tensor();
    // Squares and cubes are what exported models mostly have.
    if (exponent.numel() == 1 && a.type() == ElementType::kF32 && run.is_constant(1) &&
        exponent.rank() <= a.shape().rank()) {
      const double power = exponent.item();
      if (power == 1) return run.set(0, a);
      if (power == 2) return run.set(0, sqr(a.tensor()));
      if (power == 3) return run.set(0, mul(sqr(a.tensor()), a.tensor()));
      if (power == 0.5) return run.set(0, sqrt(a.tensor()));
    }
    run.set(0, store(wick::pow(a.tensor(), exponent.to_dtype(a.tensor().dtype())), a.type()));
    return;
  }
  if (is_float(b.type())) {
    run.set(0, map_doubles(a, b, a.type(), [](double x, double y) { return std::pow(x, y); }));
    return;
  }
  run.set(0, map_longs(a, b, [](int64_t x, int64_t y) {
            if (y < 0) return x == 1 ? int64_t{1} : x == -1 ? (y % 2 ? int64_t{-1} : int64_t{1}) : int64_t{0};
            uint64_t result = 1, base = bits(x);
            for (uint64_t left = bits(y); left > 0; left >>= 1) {
              if (left & 1) result *= base;
              base *= base;
            }
            return number(result);
          }));
}

// Of any number of inputs.
template <typename Fold>
void fold_inputs(OpRun& run, Fold fold) {
  run.tensor(0);
  Value total = run.in(0);
  for (int i = 1; i < run.input_count(); ++i) {
    run.tensor(i);
    total = fold(total, run.in(i));
  }
  run.set(0, std::move(total));
}

void max_op(OpRun& run) {
  fold_inputs(run, [](const Value& a, const Value& b) {
    const bool is_u64 = a.type() == ElementType::kU64;
    return arithmetic(
        a, b, wick::maximum,
        is_u64 ? [](int64_t x, int64_t y) { return bits(x) < bits(y) ? y : x; }
               : [](int64_t x, int64_t y) { return std::max(x, y); });
  });
}
void min_op(OpRun& run) {
  fold_inputs(run, [](const Value& a, const Value& b) {
    const bool is_u64 = a.type() == ElementType::kU64;
    return arithmetic(
        a, b, wick::minimum,
        is_u64 ? [](int64_t x, int64_t y) { return bits(x) < bits(y) ? x : y; }
               : [](int64_t x, int64_t y) { return std::min(x, y); });
  });
}
Value plus(const Value& a, const Value& b) {
  return arithmetic(a, b, wick::add, [](int64_t x, int64_t y) { return number(bits(x) + bits(y)); });
}
void sum_op(OpRun& run) { fold_inputs(run, plus); }
void mean_op(OpRun& run) {
  run.tensor(0);
  Value total = run.in(0);
  for (int i = 1; i < run.input_count(); ++i) run.tensor(i), total = plus(total, run.in(i));
  run.set(0, store(div(total.tensor(), static_cast<double>(run.input_count())), total.type()));
}

// --- Logic ---

Tensor truth(OpRun& run, int input) {
  if (run.type(input) != ElementType::kBool) {
    throw Error(ErrorCode::kDType, cat("input ", input + 1, " is ", describe(run.in(input)), ", expected bool"));
  }
  return input == 1 ? second_operand(run).tensor() : run.tensor(input);
}
void and_op(OpRun& run) { run.set(0, minimum(truth(run, 0), truth(run, 1)), ElementType::kBool); }
void or_op(OpRun& run) { run.set(0, maximum(truth(run, 0), truth(run, 1)), ElementType::kBool); }
void xor_op(OpRun& run) { run.set(0, ne(truth(run, 0), truth(run, 1)), ElementType::kBool); }
void not_op(OpRun& run) { run.set(0, eq(truth(run, 0), 0), ElementType::kBool); }

enum class Order : uint8_t { kEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

template <Order kOrder>
void compare_op(OpRun& run) {
  if (run.in(0).kind() == Value::Kind::kStrings && kOrder == Order::kEqual) {
    const Strings &a = run.strings(0), &b = run.strings(1);
    const Shape shape = broadcast(a.shape, b.shape);
    const Tensor out = empty(shape, DType::kU8);
    const auto places = [&](const Strings& s) {
      return Longs(spread(reshape(arange(0, static_cast<double>(s.values.size()), 1, DType::kI64), s.shape), shape));
    };
    const Longs left = places(a), right = places(b);
    for (int64_t i = 0; i < shape.numel(); ++i)
      out.mutable_data<uint8_t>()[i] = a.values[left[i]] == b.values[right[i]];
    return run.set(0, out, ElementType::kBool);
  }
  run.tensor(0);
  const Value& a = run.in(0);
  const Value b = second_operand(run);
  check_same_type(a, b);
  Tensor x = a.tensor(), y = b.tensor();
  if (a.type() == ElementType::kU64) {  // with the highest bit turned over they have the order of i64
    const auto turned = [](const Value& v) {
      return map_longs(v, [](int64_t n) { return number(bits(n) ^ (uint64_t{1} << 63)); }).tensor();
    };
    x = turned(a), y = turned(b);
  }
  Tensor out;
  if (kOrder == Order::kEqual) out = eq(x, y);
  if (kOrder == Order::kLess) out = lt(x, y);
  if (kOrder == Order::kLessOrEqual) out = le(x, y);
  if (kOrder == Order::kGreater) out = gt(x, y);
  if (kOrder == Order::kGreaterOrEqual) out = ge(x, y);
  run.set(0, out, ElementType::kBool);
}

void where_op(OpRun& run) {
  if (run.type(0) != ElementType::kBool) throw Error(ErrorCode::kDType, cat("the condition is ", describe(run.in(0))));
  const Value &a = run.in(1), &b = run.in(2);
  check_same_type(a, b);
  if (a.kind() == Value::Kind::kStrings) {
    const Shape shape = broadcast(broadcast(run.tensor(0).shape(), a.shape()), b.shape());
    const auto places = [&](const Shape& from) {
      return Longs(spread(reshape(arange(0, static_cast<double>(from.numel()), 1, DType::kI64), from), shape));
    };
    const Longs yes = places(a.shape()), no = places(b.shape()), condition(spread(run.tensor(0), shape));
    Strings out{shape, {}};
    for (int64_t i = 0; i < shape.numel(); ++i) {
      out.values.push_back(condition[i] ? a.strings().values[yes[i]] : b.strings().values[no[i]]);
    }
    return run.set(0, Value(std::move(out)));
  }
  run.tensor(1), run.tensor(2);
  run.set(0, where(run.tensor(0), a.tensor(), b.tensor()), a.type());
}

// --- Bits ---

void shift_op(OpRun& run) {
  run.tensor(0), run.tensor(1);
  check_same_type(run.in(0), run.in(1));
  const bool left = run.get("direction", "") == "LEFT";
  if (!left && run.get("direction", "") != "RIGHT") throw bad_input("direction is neither LEFT nor RIGHT");
  if (!is_unsigned(run.type(0))) throw Error(ErrorCode::kDType, cat("input 1 is ", describe(run.in(0))));
  run.set(0, map_longs(run.in(0), run.in(1), [&](int64_t a, int64_t b) {
            if (bits(b) > 63) return int64_t{0};
            return left ? number(bits(a) << b) : number(bits(a) >> b);
          }));
}
template <LongOp kFunction>
void bitwise_op(OpRun& run) {
  run.tensor(0), run.tensor(1);
  check_same_type(run.in(0), run.in(1));
  if (!is_integer(run.type(0))) throw Error(ErrorCode::kDType, cat("input 1 is ", describe(run.in(0))));
  run.set(0, map_longs(run.in(0), run.in(1), kFunction));
}
int64_t bit_and(int64_t a, int64_t b) { return a & b; }
int64_t bit_or(int64_t a, int64_t b) { return a | b; }
int64_t bit_xor(int64_t a, int64_t b) { return a ^ b; }
void bit_not_op(OpRun& run) {
  run.tensor(0);
  run.set(0, map_longs(run.in(0), [](int64_t a) { return ~a; }));
}

// --- One input ---

using UnaryFloat = Tensor (*)(const Tensor&);
template <UnaryFloat kFunction>
void unary_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  if (!is_float(run.type(0)))
    throw Error(ErrorCode::kDType, cat("input 1 is ", describe(run.in(0)), ", expected floats"));
  run.set(0, store(kFunction(x), run.type(0)));
}
using UnaryDouble = double (*)(double);
template <UnaryDouble kFunction>
void math_op(OpRun& run) {
  run.tensor(0);
  run.set(0, map_float(run.in(0), kFunction));
}

void abs_op(OpRun& run) {
  if (is_float(run.type(0))) return unary_op<wick::abs>(run);
  run.tensor(0);
  const bool is_signed = !is_unsigned(run.type(0));
  run.set(0, map_longs(run.in(0), [&](int64_t x) { return is_signed && x < 0 ? number(0 - bits(x)) : x; }));
}
void neg_op(OpRun& run) {
  if (is_float(run.type(0))) return unary_op<wick::neg>(run);
  run.tensor(0);
  run.set(0, map_longs(run.in(0), [](int64_t x) { return number(0 - bits(x)); }));
}
void sign_op(OpRun& run) {
  run.tensor(0);
  if (is_float(run.type(0))) {
    return run.set(0, map_float(run.in(0), [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }));
  }
  const bool is_u64 = run.type(0) == ElementType::kU64;
  run.set(0, map_longs(run.in(0), [&](int64_t x) { return int64_t{x != 0 && is_u64 ? 1 : (x > 0) - (x < 0)}; }));
}

void is_nan_op(OpRun& run) { run.set(0, ne(run.tensor(0), run.tensor(0)), ElementType::kBool); }
void is_inf_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor out = zeros(x.shape(), DType::kU8);
  if (run.get("detect_positive", int64_t{1})) out = maximum(out, eq(x, infinity));
  if (run.get("detect_negative", int64_t{1})) out = maximum(out, eq(x, -infinity));
  run.set(0, out, ElementType::kBool);
}

void clip_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const ElementType type = run.type(0);
  if (is_float(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    double low = run.has(1) ? run.number_at(1) : -infinity, high = run.has(2) ? run.number_at(2) : infinity;
    if (run.has("min")) low = run.get("min", 0.0f);
    if (run.has("max")) high = run.get("max", 0.0f);
    if (low > high) low = high;
    return run.set(0, store(clamp(x, low, high), type));
  }
  Value out = run.in(0);
  if (run.has(1)) {
    const int64_t low = run.int_at(1);
    out = map_longs(out, [&](int64_t n) { return less_than(n, low, type) ? low : n; });
  }
  if (run.has(2)) {
    const int64_t high = run.int_at(2);
    out = map_longs(out, [&](int64_t n) { return less_than(high, n, type) ? high : n; });
  }
  run.set(0, out);
}

// --- Cast ---

std::string number_text(double value, bool is_f32) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  return is_f32 ? cat(static_cast<float>(value)) : cat(value);
}

double parse_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  std::string lower(digits);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  double value = 0;
  const auto [end, problem] = std::from_chars(lower.data(), lower.data() + lower.size(), value);
  if (problem != std::errc() || end != lower.data() + lower.size())
    throw bad_input(cat(in_quotes(text), " is no number"));
  return value;
}

double u64_value(int64_t stored) { return static_cast<double>(bits(stored)); }

Value cast_value(const Value& from, ElementType to, bool saturate) {
  if (from.type() == to) return from;
  if (from.kind() == Value::Kind::kStrings) {
    const Tensor numbers = empty(from.shape(), DType::kF64);
    if (is_integer(to)) {
      const Tensor whole = empty(from.shape(), DType::kI64);
      for (int64_t i = 0; i < whole.numel(); ++i) {
        const std::string& text = from.strings().values[i];
        int64_t value = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool plain = problem == std::errc() && end == text.data() + text.size();
        whole.mutable_data<int64_t>()[i] = plain ? value : convert<int64_t>(parse_number(text));
      }
      return store(whole, to);
    }
    for (int64_t i = 0; i < numbers.numel(); ++i)
      numbers.mutable_data<double>()[i] = parse_number(from.strings().values[i]);
    return store(to == ElementType::kBool ? ne(numbers, 0) : numbers, to);
  }
  if (from.kind() != Value::Kind::kTensor) throw Error(ErrorCode::kDType, cat("the input is ", describe(from)));
  const Tensor& x = from.tensor();
  if (to == ElementType::kString) {
    Strings out{x.shape(), {}};
    if (is_float(from.type())) {
      const Doubles values(x);
      for (int64_t i = 0; i < values.size(); ++i)
        out.values.push_back(number_text(values[i], x.dtype() != DType::kF64));
    } else {
      const Longs values(x);
      for (int64_t i = 0; i < values.size(); ++i) {
        out.values.push_back(from.type() == ElementType::kBool  ? std::string(values[i] ? "True" : "False")
                             : from.type() == ElementType::kU64 ? cat(bits(values[i]))
                                                                : cat(values[i]));
      }
    }
    return Value(std::move(out));
  }
  if (to == ElementType::kBool) return {ne(x, 0), to};
  if (is_small_float(to)) {
    const Floats values(x);
    const Tensor out = empty(x.shape());
    for (int64_t i = 0; i < values.size(); ++i)
      out.mutable_data<float>()[i] = round_to_small_float(values[i], to, saturate);
    return {out, to};
  }
  if (is_float(from.type()) && is_integer(to)) {
    const Doubles values(x);
    const Tensor whole = empty(x.shape(), DType::kI64);
    const double high = to == ElementType::kU64 ? 0x1p64 : 0x1p63;
    for (int64_t i = 0; i < values.size(); ++i) {
      const double value = values[i];
      const bool big = to == ElementType::kU64 && value >= 0x1p63 && value < high;
      whole.mutable_data<int64_t>()[i] = big ? number(static_cast<uint64_t>(value)) : convert<int64_t>(value);
    }
    // Beyond the type a float saturates.
    if (bits_of(to) < 64) {
      const double most = std::ldexp(1.0, is_unsigned(to) ? bits_of(to) : bits_of(to) - 1);
      return store(clamp(whole, is_unsigned(to) ? 0 : -most, most - 1), to);
    }
    return store(whole, to);
  }
  if (from.type() == ElementType::kU64 && is_float(to)) {
    const Longs values(x);
    const Tensor out = empty(x.shape(), DType::kF64);
    for (int64_t i = 0; i < values.size(); ++i) out.mutable_data<double>()[i] = u64_value(values[i]);
    return store(out, to);
  }
  return store(x, to);
}

void cast_op(OpRun& run) {
  const Attribute* to = run.node().find("to");
  ElementType type = ElementType::kNone;
  if (to && to->i) type = element_type(*to->i);
  if (to && to->s) {  // before opset 6 types had names
    for (int i = 1; i < 24; ++i) {
      constexpr std::string_view kNames[] = {"FLOAT",  "UINT8", "INT8",    "UINT16", "INT16",  "INT32", "INT64",
                                             "STRING", "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64"};
      if (i <= 13 && kNames[i - 1] == *to->s) type = element_type(i);
    }
  }
  if (type == ElementType::kNone) throw not_offered("the type to cast to is none that Wick has");
  run.set(0, cast_value(run.in(0), type, run.get("saturate", int64_t{1}) != 0));
}
void cast_like_op(OpRun& run) { run.set(0, cast_value(run.in(0), run.type(1), run.get("saturate", int64_t{1}) != 0)); }
// The same bits as another type of the same width.
void bit_cast_op(OpRun& run) {
  const ElementType to = element_type(run.needed("to"));
  const Tensor x = run.tensor(0).contiguous();
  if (bits_of(to) != bits_of(run.type(0)) || type_of(storage_of(to)) != to || type_of(x.dtype()) != run.type(0)) {
    throw not_offered(cat("the bits of ", describe(run.in(0)), " as ", to));
  }
  run.set(0, Tensor(x.storage(), x.layout(), storage_of(to)));
}

constexpr std::string_view kOldBroadcast = "axis broadcast consumed_inputs";

constexpr Operator kOperators[] = {
    {"Abs", abs_op, "consumed_inputs"},
    {"Acos", math_op<std::acos>},
    {"Acosh", math_op<std::acosh>},
    {"Add", add_op, kOldBroadcast},
    {"And", and_op, kOldBroadcast},
    {"Asin", math_op<std::asin>},
    {"Asinh", math_op<std::asinh>},
    {"Atan", math_op<std::atan>},
    {"Atanh", math_op<std::atanh>},
    {"BitCast", bit_cast_op, "to"},
    {"BitShift", shift_op, "direction"},
    {"BitwiseAnd", bitwise_op<bit_and>},
    {"BitwiseNot", bit_not_op},
    {"BitwiseOr", bitwise_op<bit_or>},
    {"BitwiseXor", bitwise_op<bit_xor>},
    {"Cast", cast_op, "to saturate round_mode"},
    {"CastLike", cast_like_op, "saturate round_mode"},
    {"Ceil", unary_op<wick::ceil>, "consumed_inputs"},
    {"Clip", clip_op, "min max consumed_inputs"},
    {"Cos", unary_op<wick::cos>},
    {"Cosh", math_op<std::cosh>},
    {"Div", div_op, kOldBroadcast},
    {"Equal", compare_op<Order::kEqual>, kOldBroadcast},
    {"Erf", unary_op<wick::erf>},
    {"Exp", unary_op<wick::exp>, "consumed_inputs"},
    {"Floor", unary_op<wick::floor>, "consumed_inputs"},
    {"Greater", compare_op<Order::kGreater>, kOldBroadcast},
    {"GreaterOrEqual", compare_op<Order::kGreaterOrEqual>},
    {"IsInf", is_inf_op, "detect_positive detect_negative"},
    {"IsNaN", is_nan_op},
    {"Less", compare_op<Order::kLess>, kOldBroadcast},
    {"LessOrEqual", compare_op<Order::kLessOrEqual>},
    {"Log", unary_op<wick::log>, "consumed_inputs"},
    {"Max", max_op, "consumed_inputs"},
    {"Mean", mean_op, "consumed_inputs"},
    {"Min", min_op, "consumed_inputs"},
    {"Mod", mod_op, "fmod"},
    {"Mul", mul_op, kOldBroadcast},
    {"Neg", neg_op, "consumed_inputs"},
    {"Not", not_op},
    {"Or", or_op, kOldBroadcast},
    {"Pow", pow_op, kOldBroadcast},
    {"Reciprocal", unary_op<wick::recip>, "consumed_inputs"},
    {"Round", unary_op<wick::round>},
    {"Sign", sign_op},
    {"Sin", unary_op<wick::sin>},
    {"Sinh", math_op<std::sinh>},
    {"Sqrt", unary_op<wick::sqrt>, "consumed_inputs"},
    {"Sub", sub_op, kOldBroadcast},
    {"Sum", sum_op, "consumed_inputs"},
    {"Tan", math_op<std::tan>},
    {"Tanh", unary_op<wick::tanh>, "consumed_inputs"},
    {"Where", where_op},
    {"Xor", xor_op, kOldBroadcast},
};

}  // namespace

Operators elementwise_operators() { return kOperators; }

}  // namespace wick::graph
