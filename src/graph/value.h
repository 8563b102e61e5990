#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace wick::graph {

// Numbers of TensorProto.DataType.
enum class ElementType : uint8_t {
  kNone = 0,
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kString = 8,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kBF16 = 16,
  kF8E4M3FN = 17,
  kF8E4M3FNUZ = 18,
  kF8E5M2 = 19,
  kF8E5M2FNUZ = 20,
  kU4 = 21,
  kI4 = 22,
  kF4E2M1 = 23,
};

std::string_view to_string(ElementType type);  // "f32", "bool", ...
// Empty type (kNone) for numbers of types that Wick does not have: complex ones.
ElementType element_type(int64_t number);
bool is_float(ElementType type);
bool is_integer(ElementType type);  // without bool
bool is_unsigned(ElementType type);
int bits_of(ElementType type);

// What a tensor of these elements is stored as. Types without a DType lie in the next wider one: bool in u8 (0 or 1),
// i16 and u16 in i32, u4 in u8, i4 in i8, floats of 8 and 4 bits in f32; u64 as the same bits in i64.
DType storage_of(ElementType type);
// The type that a plain tensor has.
ElementType type_of(DType dtype);

struct Strings {
  Shape shape;
  std::vector<std::string> values;
};

// What a name in a graph stands for: a tensor of numbers or of texts, a sequence of values, or nothing (an optional
// that is empty; one that is not is the value itself). A handle: copying shares.
class Value {
 public:
  enum class Kind : uint8_t { kNothing, kTensor, kStrings, kSequence };

  Value() = default;
  Value(Tensor tensor);  // NOLINT(google-explicit-constructor): a tensor is a value
  Value(Tensor tensor, ElementType type);
  explicit Value(Strings strings);
  Value(std::vector<Value> sequence, ElementType type);

  Kind kind() const { return kind_; }
  ElementType type() const { return type_; }  // of a sequence: of its elements, kNone where that is not known
  const Tensor& tensor() const { return tensor_; }
  const Strings& strings() const { return *strings_; }
  const std::vector<Value>& sequence() const { return *sequence_; }
  // Of a tensor, of numbers or of texts.
  const Shape& shape() const { return kind_ == Kind::kStrings ? strings_->shape : tensor_.shape(); }
  int64_t bytes() const;  // as if every element had a place of its own

 private:
  Kind kind_ = Kind::kNothing;
  ElementType type_ = ElementType::kNone;
  Tensor tensor_;
  std::shared_ptr<const Strings> strings_;
  std::shared_ptr<const std::vector<Value>> sequence_;
};

// "f32 [2, 3]", "a sequence of 3", "nothing"
std::string describe(const Value& value);

// What a name is declared to be. A dimension is a size, or -1 with a name or without.
struct ValueType {
  Value::Kind kind = Value::Kind::kNothing;
  bool optional = false, known = false, has_shape = false;
  ElementType element = ElementType::kNone;
  std::vector<int64_t> dims;
  std::vector<std::string> dim_names;
};
std::string to_string(const ValueType& type);

}  // namespace wick::graph
