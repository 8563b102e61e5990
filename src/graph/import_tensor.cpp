#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/checked.h"
#include "base/utf8.h"
#include "graph/float8.h"
#include "graph/import.h"
#include "tensor/create.h"

namespace wick::graph {
namespace {

namespace fs = std::filesystem;

Error bad_tensor(const OnnxTensor& tensor, std::string_view what, ErrorCode code = ErrorCode::kBadFile) {
  return {code, cat("tensor ", in_quotes(tensor.name), " ", what)};
}

Shape shape_of(const OnnxTensor& tensor) {
  try {
    return Shape(std::span<const int64_t>(tensor.dims));
  } catch (const Error& error) {
    throw bad_tensor(tensor, cat("has no shape: ", error.what()));
  }
}

// Bytes on the disk of that many elements.
int64_t stored_bytes(const OnnxTensor& tensor, ElementType type, int64_t count) {
  const int bits = type == ElementType::kBool ? 8 : bits_of(type);
  const auto total = checked_mul(count, bits);
  if (!total) throw bad_tensor(tensor, "is larger than 63 bits can count");
  return ceil_div(*total, 8);
}

template <typename T>
T load(std::span<const std::byte> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Types that are stored in another way than they are kept.
Tensor unpack(std::span<const std::byte> bytes, const Shape& shape, ElementType type) {
  Tensor out = empty(shape, storage_of(type));
  const int64_t count = shape.numel();
  const auto nibble = [&](int64_t i) {
    return static_cast<uint8_t>(static_cast<uint8_t>(bytes[i / 2]) >> (i % 2 * 4) & 15);
  };
  for (int64_t i = 0; i < count; ++i) {
    switch (type) {
      case ElementType::kU16: out.mutable_data<int32_t>()[i] = load<uint16_t>(bytes, i); break;
      case ElementType::kI16: out.mutable_data<int32_t>()[i] = load<int16_t>(bytes, i); break;
      case ElementType::kU4: out.mutable_data<uint8_t>()[i] = nibble(i); break;
      case ElementType::kI4: out.mutable_data<int8_t>()[i] = static_cast<int8_t>((nibble(i) ^ 8) - 8); break;
      case ElementType::kF4E2M1: out.mutable_data<float>()[i] = decode_small_float(nibble(i), type); break;
      case ElementType::kBool: out.mutable_data<uint8_t>()[i] = bytes[i] != std::byte{0}; break;
      default: out.mutable_data<float>()[i] = decode_small_float(static_cast<uint8_t>(bytes[i]), type); break;
    }
  }
  return out;
}

bool is_plain(ElementType type) { return type_of(storage_of(type)) == type || type == ElementType::kU64; }

Value from_bytes(const OnnxTensor& tensor, std::span<const std::byte> bytes, const Shape& shape, ElementType type,
                 const std::shared_ptr<const MappedFile>& owner) {
  const int64_t expected = stored_bytes(tensor, type, shape.numel());
  if (std::ssize(bytes) != expected) {
    throw bad_tensor(tensor,
                     cat("is ", type, " ", shape, ", which takes ", expected, " bytes, but has ", bytes.size()));
  }
  const DType storage = storage_of(type);
  if (!is_plain(type)) return {unpack(bytes, shape, type), type};
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % static_cast<uintptr_t>(size_of(storage)) == 0;
  if (aligned && owner && !bytes.empty()) {
    return {Tensor(Storage::borrow(bytes.data(), bytes.size(), owner), Layout::contiguous(shape), storage), type};
  }
  Tensor copy = empty(shape, storage);
  if (!bytes.empty()) std::memcpy(copy.raw(), bytes.data(), bytes.size());
  return {copy, type};
}

Value from_numbers(const OnnxTensor& tensor, const Shape& shape, ElementType type) {
  const auto& numbers = tensor.numbers;
  if (bits_of(type) == 4) {
    std::vector<std::byte> packed;
    for (const int64_t number : numbers) packed.push_back(static_cast<std::byte>(number));
    return from_bytes(tensor, packed, shape, type, nullptr);
  }
  if (std::ssize(numbers) != shape.numel()) {
    throw bad_tensor(tensor, cat("is ", type, " ", shape, ", but has ", numbers.size(), " numbers"));
  }
  Tensor out = empty(shape, storage_of(type));
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const int64_t number = numbers[i];
    switch (type) {
      case ElementType::kI64:
      case ElementType::kU64: out.mutable_data<int64_t>()[i] = number; break;
      case ElementType::kU32: out.mutable_data<uint32_t>()[i] = static_cast<uint32_t>(number); break;
      case ElementType::kI32: out.mutable_data<int32_t>()[i] = static_cast<int32_t>(number); break;
      case ElementType::kI16: out.mutable_data<int32_t>()[i] = static_cast<int16_t>(number); break;
      case ElementType::kU16: out.mutable_data<int32_t>()[i] = static_cast<uint16_t>(number); break;
      case ElementType::kU8: out.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(number); break;
      case ElementType::kI8: out.mutable_data<int8_t>()[i] = static_cast<int8_t>(number); break;
      case ElementType::kBool: out.mutable_data<uint8_t>()[i] = number != 0; break;
      case ElementType::kF16: out.mutable_data<Half>()[i].bits = static_cast<uint16_t>(number); break;
      case ElementType::kBF16: out.mutable_data<BFloat16>()[i].bits = static_cast<uint16_t>(number); break;
      default:
        if (!is_small_float(type)) throw bad_tensor(tensor, cat("is ", type, ", but is stored as whole numbers"));
        out.mutable_data<float>()[i] = decode_small_float(static_cast<uint8_t>(number), type);
    }
  }
  return {out, type};
}

}  // namespace

Value read_tensor(const OnnxTensor& tensor, const std::shared_ptr<const MappedFile>& owner, ExternalFiles* external) {
  const ElementType type = element_type(tensor.type);
  if (type == ElementType::kNone) {
    throw bad_tensor(tensor, cat("is of type ", tensor.type, ", which Wick does not have"), ErrorCode::kUnsupported);
  }
  const Shape shape = shape_of(tensor);
  if (type == ElementType::kString) {
    if (std::ssize(tensor.strings) != shape.numel()) {
      throw bad_tensor(tensor, cat("is ", shape, ", but has ", tensor.strings.size(), " texts"));
    }
    Strings strings{shape, {}};
    for (const std::string_view text : tensor.strings) strings.values.emplace_back(text);
    return Value(std::move(strings));
  }
  if (tensor.is_external) {
    if (!external) throw bad_tensor(tensor, "is in another file, which cannot be named here", ErrorCode::kUnsupported);
    const auto found = external->find(tensor, stored_bytes(tensor, type, shape.numel()));
    return from_bytes(tensor, found.first, shape, type, found.second);
  }
  if (tensor.has_raw) return from_bytes(tensor, tensor.raw, shape, type, owner);
  if (!tensor.runs.empty()) {
    if (type != ElementType::kF32 && type != ElementType::kF64) {
      throw bad_tensor(tensor, cat("is ", type, ", but is stored as floats"));
    }
    if (tensor.runs.size() == 1) return from_bytes(tensor, tensor.runs[0], shape, type, owner);
    std::vector<std::byte> joined;
    for (const auto& run : tensor.runs) joined.insert(joined.end(), run.begin(), run.end());
    return from_bytes(tensor, joined, shape, type, nullptr);
  }
  if (shape.numel() > 0 && tensor.numbers.empty()) throw bad_tensor(tensor, cat("is ", shape, ", but has no values"));
  return from_numbers(tensor, shape, type);
}

std::pair<std::span<const std::byte>, std::shared_ptr<const MappedFile>> ExternalFiles::find(const OnnxTensor& tensor,
                                                                                             int64_t size) {
  std::string_view location;
  int64_t offset = 0;
  std::optional<int64_t> length;
  const auto number = [&](std::string_view key, std::string_view text) {
    int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() || value < 0) {
      throw bad_tensor(tensor, cat("is in another file, but its ", key, " is ", in_quotes(text)));
    }
    return value;
  };
  for (const auto& [key, text] : tensor.external) {
    if (key == "location") location = text;
    if (key == "offset") offset = number(key, text);
    if (key == "length") length = number(key, text);
  }
  const fs::path relative{location};
  const bool leaves = location.empty() || relative.is_absolute() || location.find('\0') != std::string_view::npos ||
                      std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (leaves) {
    throw bad_tensor(tensor, cat("is in the file ", in_quotes(location), ", which is not inside the model's folder"));
  }
  File& file = files_[std::string(location)];
  if (!file.mapped) {
    std::error_code failed;
    const fs::path folder = model_.parent_path().empty() ? fs::path(".") : model_.parent_path();
    const fs::path path = folder / relative;
    // A link may lead to where the model itself is a link to, as in caches of models, else nowhere outside.
    const fs::path real = fs::canonical(path, failed);
    if (failed) throw bad_tensor(tensor, cat("is in the file ", path, ", which is not there"), ErrorCode::kIo);
    const fs::path home = fs::canonical(folder, failed), beside = fs::canonical(model_, failed).parent_path();
    const auto inside = [&](const fs::path& place) {
      return std::mismatch(place.begin(), place.end(), real.begin(), real.end()).first == place.end();
    };
    if (!inside(home) && real.parent_path() != beside) {
      throw bad_tensor(tensor, cat("is in the file ", path, ", a link that leads out of the model's folder"));
    }
    if (!fs::is_regular_file(real, failed)) throw bad_tensor(tensor, cat("is in ", path, ", which is no file"));
    file.mapped = MappedFile::open(path);
  }
  const auto bytes = file.mapped->bytes();
  if (length && *length != size) {
    throw bad_tensor(tensor, cat("takes ", size, " bytes, but has ", *length, " in ", in_quotes(location)));
  }
  if (offset > std::ssize(bytes) || size > std::ssize(bytes) - offset) {
    throw bad_tensor(tensor, cat("needs ", size, " bytes at byte ", offset, " of ", in_quotes(location), ", which has ",
                                 bytes.size()));
  }
  if (size > 0) file.ranges.push_back({offset, offset + size, std::string(tensor.name)});
  return {bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(size)), file.mapped};
}

void ExternalFiles::check_overlaps() const {
  for (const auto& entry : files_) {
    std::vector<Range> ranges = entry.second.ranges;
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].begin >= ranges[i - 1].end) continue;
      throw Error(ErrorCode::kBadFile, cat("tensors ", in_quotes(ranges[i - 1].tensor), " and ",
                                           in_quotes(ranges[i].tensor), " share bytes of ", in_quotes(entry.first)));
    }
  }
}

ValueType read_type(const OnnxType& type) {
  ValueType out;
  const OnnxType* at = &type;
  if (at->kind == OnnxType::Kind::kOptional && !at->inner.empty()) {
    out.optional = true;
    at = &at->inner[0];
  }
  if (at->kind == OnnxType::Kind::kSequence && !at->inner.empty()) {
    out.kind = Value::Kind::kSequence;
    at = &at->inner[0];
  }
  if (at->kind != OnnxType::Kind::kTensor) return out;
  out.known = true;
  if (out.kind == Value::Kind::kNothing) out.kind = Value::Kind::kTensor;
  out.element = element_type(at->element);
  if (out.kind == Value::Kind::kTensor && out.element == ElementType::kString) out.kind = Value::Kind::kStrings;
  if (!at->dims) return out;
  out.has_shape = true;
  for (const OnnxDim& dim : *at->dims) {
    out.dims.push_back(dim.size.value_or(-1));
    out.dim_names.emplace_back(dim.name);
  }
  return out;
}

}  // namespace wick::graph
