#include "graph/value_file.h"

#include <cmath>
#include <cstring>

#include "base/utf8.h"
#include "formats/file_contents.h"
#include "formats/npy_reader.h"
#include "formats/npy_writer.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

struct NpyType {
  std::string_view name;
  ElementType type;
};
constexpr NpyType kNpyTypes[] = {{"<f4", ElementType::kF32}, {"<f8", ElementType::kF64}, {"<f2", ElementType::kF16},
                                 {"<i8", ElementType::kI64}, {"<i4", ElementType::kI32}, {"<i2", ElementType::kI16},
                                 {"|i1", ElementType::kI8},  {"|u1", ElementType::kU8},  {"<u2", ElementType::kU16},
                                 {"<u4", ElementType::kU32}, {"<u8", ElementType::kU64}, {"|b1", ElementType::kBool}};

Value value_of(const NpyArray& array, const std::filesystem::path& path) {
  for (const NpyType& entry : kNpyTypes) {
    if (entry.name != array.type) continue;
    const Shape shape(std::span<const int64_t>(array.dims));
    const auto size = static_cast<uint64_t>(entry.type == ElementType::kBool ? 1 : bits_of(entry.type) / 8);
    if (static_cast<uint64_t>(shape.numel()) > array.bytes.size() / size) {
      throw bad_file(path, cat("is ", entry.type, " ", shape, ", but has ", array.bytes.size(), " bytes"));
    }
    return value_of_bytes(array.bytes.first(static_cast<size_t>(shape.numel()) * size), shape, entry.type);
  }
  throw Error(ErrorCode::kUnsupported, cat(path, ": is of type ", in_quotes(array.type), ", which Wick does not read"));
}

}  // namespace

Value value_of_bytes(std::span<const std::byte> bytes, const Shape& shape, ElementType type) {
  OnnxTensor tensor;
  tensor.name = "given";
  tensor.dims.assign(shape.begin(), shape.end());
  tensor.type = static_cast<int32_t>(type);
  tensor.raw = bytes;
  tensor.has_raw = true;
  return read_tensor(tensor, nullptr, nullptr);
}

Value read_value_file(const std::filesystem::path& path, const ValueType& type) {
  const auto file = MappedFile::open(path);
  if (path.extension() == ".npy") return value_of(read_npy(file->bytes(), path), path);
  if (path.extension() != ".pb") {
    throw Error(ErrorCode::kInvalidArgument, cat(path, ": values are read from .npy, .npz and .pb files"));
  }
  OnnxType::Kind kind = type.kind == Value::Kind::kSequence ? OnnxType::Kind::kSequence : OnnxType::Kind::kTensor;
  if (type.optional) kind = OnnxType::Kind::kOptional;
  const OnnxValue stored = read_onnx_value(*file, kind);
  if (stored.is_empty) return {};
  std::vector<Value> parts;
  for (const OnnxTensor& tensor : stored.tensors) parts.push_back(read_tensor(tensor, file, nullptr));
  if (!stored.is_sequence) {
    if (parts.size() != 1) throw bad_file(path, "holds no value");
    return parts[0];
  }
  const ElementType element = parts.empty() ? type.element : parts[0].type();
  return {std::move(parts), element};
}

NamedValues read_value_files(const std::filesystem::path& npz) {
  NamedValues values;
  const auto file = MappedFile::open(npz);
  for (const auto& entry : read_npz(*file)) values[entry.first] = value_of(entry.second, npz);
  return values;
}

std::string value_bytes(const Value& value) {
  if (value.kind() != Value::Kind::kTensor) {
    throw Error(ErrorCode::kUnsupported, cat(describe(value), " has no form in .npy"));
  }
  const Tensor x = value.tensor().contiguous();
  const auto bytes = [&](const Tensor& t) {
    return std::span<const std::byte>(t.raw(), static_cast<size_t>(t.numel() * size_of(t.dtype())));
  };
  const ElementType type = value.type();
  for (const NpyType& entry : kNpyTypes) {
    if (entry.type != type) continue;
    if (type != ElementType::kI16 && type != ElementType::kU16) return npy_bytes(entry.name, x.shape(), bytes(x));
    std::vector<int16_t> narrow;
    for (const int64_t number : x.to_vector<int64_t>()) narrow.push_back(static_cast<int16_t>(number));
    return npy_bytes(entry.name, x.shape(), std::as_bytes(std::span(narrow)));
  }
  if (type == ElementType::kU4) return npy_bytes("|u1", x.shape(), bytes(x));
  if (type == ElementType::kI4) return npy_bytes("|i1", x.shape(), bytes(x));
  return npy_bytes(x.to_dtype(DType::kF32));
}

std::string difference(const Value& got, const Value& expected, const Tolerance& tolerance) {
  const std::string kinds = cat("is ", describe(got), ", expected ", describe(expected));
  if (got.kind() != expected.kind()) return kinds;
  if (got.kind() == Value::Kind::kNothing) return "";
  if (got.kind() == Value::Kind::kSequence) {
    if (got.sequence().size() != expected.sequence().size()) return kinds;
    for (size_t i = 0; i < got.sequence().size(); ++i) {
      const std::string text = difference(got.sequence()[i], expected.sequence()[i], tolerance);
      if (!text.empty()) return cat("element ", i, " ", text);
    }
    return "";
  }
  if (got.type() != expected.type() || got.shape() != expected.shape()) return kinds;
  if (got.kind() == Value::Kind::kStrings) {
    for (size_t i = 0; i < got.strings().values.size(); ++i) {
      const std::string &a = got.strings().values[i], &b = expected.strings().values[i];
      if (a != b) return cat("element ", i, " is ", in_quotes(a), ", expected ", in_quotes(b));
    }
    return "";
  }
  const auto a = got.tensor().to_vector<double>(), b = expected.tensor().to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::fabs(a[i] - b[i]) <= tolerance.absolute + tolerance.relative * std::fabs(b[i]);
    if (!same) return cat("element ", i, " is ", a[i], ", expected ", b[i]);
  }
  return "";
}

}  // namespace wick::graph
