#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "base/text.h"
#include "tensor/tensor.h"

namespace wick {

// Writes ONNX files for tests and benchmarks: protobuf by hand, a few messages of it.
namespace onnx_file {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string number(int field, int64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(static_cast<uint64_t>(value));
}
inline std::string bytes(int field, const std::string& value) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(value.size()) + value;
}
inline std::string fixed(int field, float value) {
  std::string out = varint(static_cast<uint64_t>(field) << 3 | 5);
  return out.append(reinterpret_cast<const char*>(&value), 4);
}

enum Type : int {
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kI32 = 6,
  kI64 = 7,
  kString = 8,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kBF16 = 16
};

inline Type type_of(DType dtype) {
  switch (dtype) {
    case DType::kU8: return kU8;
    case DType::kI8: return kI8;
    case DType::kI32: return kI32;
    case DType::kI64: return kI64;
    case DType::kF16: return kF16;
    case DType::kF64: return kF64;
    case DType::kBF16: return kBF16;
    default: return kF32;
  }
}

inline std::string raw(const Tensor& x) {
  const Tensor rows = x.contiguous();
  return {reinterpret_cast<const char*>(rows.raw()), static_cast<size_t>(rows.numel() * size_of(rows.dtype()))};
}
inline std::string tensor_head(const std::string& name, const std::vector<int64_t>& dims, int type) {
  std::string out;
  for (const int64_t size : dims) out += number(1, size);
  return out + number(2, type) + bytes(8, name);
}
inline std::string tensor(const std::string& name, const Tensor& x) {
  return tensor_head(name, {x.shape().begin(), x.shape().end()}, type_of(x.dtype())) + bytes(9, raw(x));
}
// One in another file.
inline std::string external(const std::string& name, const std::vector<int64_t>& dims, int type,
                            const std::string& file, int64_t offset, int64_t length) {
  const auto entry = [](const std::string& key, const std::string& value) {
    return bytes(13, bytes(1, key) + bytes(2, value));
  };
  return tensor_head(name, dims, type) + entry("location", file) + entry("offset", std::to_string(offset)) +
         entry("length", std::to_string(length)) + number(14, 1);
}

struct Attr {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, Tensor> value = {};
  std::string graph = {};      // of a body, as GraphText::text() gives it
  std::string reference = {};  // in a function: the attribute of the call
};

inline std::string attribute(const Attr& a) {
  std::string out = bytes(1, a.name);
  if (!a.reference.empty()) return out + bytes(21, a.reference) + number(20, 2);
  if (!a.graph.empty()) return out + bytes(6, a.graph) + number(20, 5);
  if (const auto* i = std::get_if<int64_t>(&a.value)) return out + number(3, *i) + number(20, 2);
  if (const auto* f = std::get_if<float>(&a.value)) return out + fixed(2, *f) + number(20, 1);
  if (const auto* s = std::get_if<std::string>(&a.value)) return out + bytes(4, *s) + number(20, 3);
  if (const auto* t = std::get_if<Tensor>(&a.value)) return out + bytes(5, tensor("", *t)) + number(20, 4);
  if (const auto* is = std::get_if<std::vector<int64_t>>(&a.value)) {
    for (const int64_t i : *is) out += number(8, i);
    return out + number(20, 7);
  }
  for (const float f : std::get<std::vector<float>>(a.value)) out += fixed(7, f);
  return out + number(20, 6);
}

inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::vector<Attr>& attributes = {},
                        const std::string& domain = "") {
  std::string out;
  for (const std::string& name : inputs) out += bytes(1, name);
  for (const std::string& name : outputs) out += bytes(2, name);
  out += bytes(3, outputs.empty() ? op : cat("n_", outputs[0])) + bytes(4, op);
  for (const Attr& a : attributes) out += bytes(5, attribute(a));
  return domain.empty() ? out : out + bytes(7, domain);
}

// A size below 0 has no number; it is called "d<size>" then, so that equal ones must agree.
inline std::string value_info(const std::string& name, int type, const std::vector<int64_t>& dims) {
  std::string shape;
  for (const int64_t size : dims) shape += bytes(1, size < 0 ? bytes(2, cat("d", -size)) : number(1, size));
  return bytes(1, name) + bytes(2, bytes(1, number(1, type) + bytes(2, shape)));
}

class GraphText {
 public:
  GraphText& input(const std::string& name, const std::vector<int64_t>& dims, int type = kF32) {
    return add(11, value_info(name, type, dims));
  }
  GraphText& output(const std::string& name, const std::vector<int64_t>& dims, int type = kF32) {
    return add(12, value_info(name, type, dims));
  }
  GraphText& constant(const std::string& name, const Tensor& x) { return add(5, tensor(name, x)); }
  GraphText& constant_text(const std::string& text) { return add(5, text); }
  GraphText& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const std::vector<Attr>& attributes = {},
                  const std::string& domain = "") {
    return add(1, onnx_file::node(op, inputs, outputs, attributes, domain));
  }
  const std::string& text() const { return text_; }
  // The file. `functions`: FunctionProtos.
  std::string model(int64_t opset = 17, const std::vector<std::string>& functions = {}) const {
    const auto version = [](const std::string& domain, int64_t number_of) {
      return bytes(8, bytes(1, domain) + number(2, number_of));
    };
    std::string out =
        number(1, 8) + bytes(2, "test") + version("", opset) + version("com.microsoft", 1) + version("local", 1);
    for (const std::string& function : functions) out += bytes(25, function);
    return out + bytes(7, text_);
  }

 private:
  GraphText& add(int field, const std::string& message) {
    text_ += bytes(field, message);
    return *this;
  }
  std::string text_ = bytes(2, "g");
};

inline std::string function(const std::string& name, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs, const std::vector<std::string>& nodes,
                            const std::vector<std::string>& attributes = {}) {
  std::string out = bytes(1, name) + bytes(10, "local") + bytes(9, bytes(1, "") + number(2, 17)) +
                    bytes(9, bytes(1, "local") + number(2, 1));
  for (const std::string& x : inputs) out += bytes(4, x);
  for (const std::string& x : outputs) out += bytes(5, x);
  for (const std::string& x : attributes) out += bytes(6, x);
  for (const std::string& x : nodes) out += bytes(7, x);
  return out;
}

}  // namespace onnx_file
}  // namespace wick
