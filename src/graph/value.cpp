#include "graph/value.h"

#include "base/checked.h"

namespace wick::graph {
namespace {

struct TypeRow {
  ElementType type;
  std::string_view name;
  DType storage;
  int bits;
  bool is_float, is_integer, is_unsigned;
};

constexpr TypeRow kTypes[] = {
    {ElementType::kF32, "f32", DType::kF32, 32, true, false, false},
    {ElementType::kU8, "u8", DType::kU8, 8, false, true, true},
    {ElementType::kI8, "i8", DType::kI8, 8, false, true, false},
    {ElementType::kU16, "u16", DType::kI32, 16, false, true, true},
    {ElementType::kI16, "i16", DType::kI32, 16, false, true, false},
    {ElementType::kI32, "i32", DType::kI32, 32, false, true, false},
    {ElementType::kI64, "i64", DType::kI64, 64, false, true, false},
    {ElementType::kString, "text", DType::kU8, 8, false, false, false},
    {ElementType::kBool, "bool", DType::kU8, 1, false, false, false},
    {ElementType::kF16, "f16", DType::kF16, 16, true, false, false},
    {ElementType::kF64, "f64", DType::kF64, 64, true, false, false},
    {ElementType::kU32, "u32", DType::kU32, 32, false, true, true},
    {ElementType::kU64, "u64", DType::kI64, 64, false, true, true},
    {ElementType::kBF16, "bf16", DType::kBF16, 16, true, false, false},
    {ElementType::kF8E4M3FN, "f8_e4m3fn", DType::kF32, 8, true, false, false},
    {ElementType::kF8E4M3FNUZ, "f8_e4m3fnuz", DType::kF32, 8, true, false, false},
    {ElementType::kF8E5M2, "f8_e5m2", DType::kF32, 8, true, false, false},
    {ElementType::kF8E5M2FNUZ, "f8_e5m2fnuz", DType::kF32, 8, true, false, false},
    {ElementType::kU4, "u4", DType::kU8, 4, false, true, true},
    {ElementType::kI4, "i4", DType::kI8, 4, false, true, false},
    {ElementType::kF4E2M1, "f4_e2m1", DType::kF32, 4, true, false, false},
};

const TypeRow* find_row(ElementType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

}  // namespace

std::string_view to_string(ElementType type) {
  const TypeRow* row = find_row(type);
  return row ? row->name : "no type";
}

ElementType element_type(int64_t number) {
  if (number < 0 || number > 255) return ElementType::kNone;
  const TypeRow* row = find_row(static_cast<ElementType>(number));
  return row ? row->type : ElementType::kNone;
}

bool is_float(ElementType type) {
  const TypeRow* row = find_row(type);
  return row && row->is_float;
}
bool is_integer(ElementType type) {
  const TypeRow* row = find_row(type);
  return row && row->is_integer;
}
bool is_unsigned(ElementType type) {
  const TypeRow* row = find_row(type);
  return row && row->is_unsigned;
}
int bits_of(ElementType type) {
  const TypeRow* row = find_row(type);
  return row ? row->bits : 0;
}
DType storage_of(ElementType type) {
  const TypeRow* row = find_row(type);
  return row ? row->storage : DType::kU8;
}

ElementType type_of(DType dtype) {
  switch (dtype) {
    case DType::kF64: return ElementType::kF64;
    case DType::kF32: return ElementType::kF32;
    case DType::kF16: return ElementType::kF16;
    case DType::kBF16: return ElementType::kBF16;
    case DType::kI64: return ElementType::kI64;
    case DType::kI32: return ElementType::kI32;
    case DType::kU32: return ElementType::kU32;
    case DType::kU8: return ElementType::kU8;
    case DType::kI8: return ElementType::kI8;
    default: return ElementType::kNone;
  }
}

Value::Value(Tensor tensor) : Value(tensor, type_of(tensor.dtype())) {}
Value::Value(Tensor tensor, ElementType type) : kind_(Kind::kTensor), type_(type), tensor_(std::move(tensor)) {}
Value::Value(Strings strings)
    : kind_(Kind::kStrings),
      type_(ElementType::kString),
      strings_(std::make_shared<const Strings>(std::move(strings))) {}
Value::Value(std::vector<Value> sequence, ElementType type)
    : kind_(Kind::kSequence), type_(type), sequence_(std::make_shared<const std::vector<Value>>(std::move(sequence))) {}

int64_t Value::bytes() const {
  int64_t total = 0;
  switch (kind_) {
    case Kind::kNothing: break;
    case Kind::kTensor: return checked_mul(tensor_.numel(), size_of(tensor_.dtype())).value_or(INT64_MAX);
    case Kind::kStrings:
      for (const std::string& text : strings_->values) total += static_cast<int64_t>(sizeof text + text.size());
      break;
    case Kind::kSequence:
      for (const Value& value : *sequence_) {
        total = checked_add(total, checked_add(value.bytes(), sizeof(Value)).value_or(INT64_MAX)).value_or(INT64_MAX);
      }
      break;
  }
  return total;
}

std::string describe(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kTensor:
    case Value::Kind::kStrings: return cat(value.type(), " ", value.shape());
    case Value::Kind::kSequence: return cat("a sequence of ", value.sequence().size());
    case Value::Kind::kNothing: break;
  }
  return "nothing";
}

std::string to_string(const ValueType& type) {
  if (!type.known) return "of any type";
  std::string text = cat(type.element);
  if (type.has_shape) {
    text += " [";
    for (size_t d = 0; d < type.dims.size(); ++d) {
      const std::string name = type.dim_names[d].empty() ? "?" : type.dim_names[d];
      text += cat(d ? ", " : "", type.dims[d] < 0 ? name : cat(type.dims[d]));
    }
    text += "]";
  }
  if (type.kind == Value::Kind::kSequence) text = cat("sequence of ", text);
  return type.optional ? cat("optional ", text) : text;
}

}  // namespace wick::graph
