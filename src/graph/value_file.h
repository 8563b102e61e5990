#pragma once

#include <filesystem>
#include <string>

#include "graph/graph_model.h"

namespace wick::graph {

// Values in files: .npy, .npz (not compressed) and .pb, as the tests of ONNX have them.

// The value of a .npy or .pb file, which must be of the type of `port`'s.
Value read_value_file(const std::filesystem::path& path, const ValueType& type);
// All arrays of an .npz by name.
NamedValues read_value_files(const std::filesystem::path& npz);
// As .npy, in the type that NumPy has for it; bf16 and small floats as f32. Throws Error(kUnsupported) for texts and
// sequences.
std::string value_bytes(const Value& value);
// Raw bytes of a type, little-endian and as long as its shape says. Types without a DType are widened.
Value value_of_bytes(std::span<const std::byte> bytes, const Shape& shape, ElementType type);

// How two values differ: empty when no element is further off than `absolute` + `relative` * |expected|.
struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};
std::string difference(const Value& got, const Value& expected, const Tolerance& tolerance = {});

}  // namespace wick::graph
