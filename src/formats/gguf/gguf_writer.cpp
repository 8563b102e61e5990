#include "formats/gguf/gguf_writer.h"

#include <bit>

#include "base/checked.h"
#include "base/utf8.h"
#include "formats/gguf/gguf.h"
#include "formats/gguf/gguf_types.h"

namespace wick {
namespace {

using Item = TensorPlan::Item;

constexpr uint32_t kVersion = 3;
constexpr size_t kMaxName = 63;  // llama.cpp keeps 64 bytes with a closing zero
constexpr int kMaxDims = 4;

// The bytes in front of the data.
class Header {
 public:
  explicit Header(const std::filesystem::path& path) : path_(path) {}

  const std::string& bytes() const { return bytes_; }

  template <typename T>
  void add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void add_bytes(std::string_view bytes) { bytes_ += bytes; }
  void add_text(std::string_view text) {
    add(uint64_t{text.size()});
    bytes_ += text;
  }

  void add_key(const std::string& key, const MetaValue& value) {
    if (key.empty() || !is_utf8(key)) throw bad(cat("the key ", in_quotes(key), " is not valid text"));
    add_text(key);
    add(static_cast<uint32_t>(value.type));
    switch (value.type) {
      case MetaType::kU8: return add_number<uint8_t, uint64_t>(key, value);
      case MetaType::kU16: return add_number<uint16_t, uint64_t>(key, value);
      case MetaType::kU32: return add_number<uint32_t, uint64_t>(key, value);
      case MetaType::kU64: return add_number<uint64_t, uint64_t>(key, value);
      case MetaType::kI8: return add_number<int8_t, int64_t>(key, value);
      case MetaType::kI16: return add_number<int16_t, int64_t>(key, value);
      case MetaType::kI32: return add_number<int32_t, int64_t>(key, value);
      case MetaType::kI64: return add_number<int64_t, int64_t>(key, value);
      case MetaType::kF32: return add(static_cast<float>(held<double>(key, value)));
      case MetaType::kF64: return add(held<double>(key, value));
      case MetaType::kBool: return add(static_cast<uint8_t>(held<bool>(key, value)));
      case MetaType::kText: return add_text(held<std::string>(key, value));
      case MetaType::kArray: {
        const auto& array = held<MetaArray>(key, value);
        if (array.type == MetaType::kArray) throw bad(cat(in_quotes(key), " holds arrays inside an array"));
        add(static_cast<uint32_t>(array.type));
        add(static_cast<uint64_t>(array.count));
        add_bytes({reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()});
      }
    }
  }

  void add_tensor(const Item& item) {
    const auto& [name, dtype, shape] = item.spec;
    const GgufType* type = gguf_type(dtype);
    const auto refuse = [&](const std::string& what) { return bad(cat("tensor ", in_quotes(item.spec.name), what)); };
    if (!type) throw refuse(cat(" of ", dtype, ": GGUF has no such type"));
    if (name.empty() || name.size() > kMaxName) {
      throw refuse(cat(" has a name of ", name.size(), " bytes, GGUF allows 1 to ", kMaxName));
    }
    if (shape.rank() > kMaxDims) throw refuse(cat(" has ", shape.rank(), " dimensions, GGUF allows ", kMaxDims));
    add_text(name);
    add(static_cast<uint32_t>(shape.rank()));
    for (int d = shape.rank() - 1; d >= 0; --d) add(static_cast<uint64_t>(shape[d]));  // innermost first
    add(type->code);
    add(static_cast<uint64_t>(item.offset));
  }

  Error bad(const std::string& what) const { return {ErrorCode::kInvalidArgument, cat(path_, ": ", what)}; }

 private:
  template <typename Held>
  const Held& held(const std::string& key, const MetaValue& value) const {
    if (const auto* found = std::get_if<Held>(&value.value)) return *found;
    throw bad(cat(in_quotes(key), " does not hold ", to_string(value.type)));
  }

  template <typename T, typename Held>
  void add_number(const std::string& key, const MetaValue& value) {
    const Held number = held<Held>(key, value);
    if (!std::in_range<T>(number)) {
      throw bad(cat(in_quotes(key), " is ", number, ", which ", to_string(value.type), " cannot hold"));
    }
    add(static_cast<T>(number));
  }

  const std::filesystem::path& path_;
  std::string bytes_;
};

int64_t alignment_of(const Metadata& metadata, const std::filesystem::path& path) {
  const MetaValue* value = metadata.find(kGgufAlignmentKey);
  if (!value) return kGgufAlignment;
  const int64_t alignment = value->type == MetaType::kU32 ? metadata.integer(kGgufAlignmentKey) : 0;
  if (!std::has_single_bit(static_cast<uint64_t>(alignment))) {
    throw Error(ErrorCode::kInvalidArgument, cat(path, ": '", kGgufAlignmentKey, "' must be a power of two, as a u32"));
  }
  return alignment;
}

}  // namespace

GgufLayout lay_out_gguf(const std::filesystem::path& path, const Metadata& metadata, TensorPlan& plan) {
  const int64_t alignment = alignment_of(metadata, path);
  Header header(path);
  int64_t data_bytes = 0;  // every tensor is padded, the last one, too: llama.cpp reads the padding
  for (Item& item : plan.items()) {
    item.offset = data_bytes;
    const auto end = checked_add(data_bytes, item.bytes);
    if (!end || *end > INT64_MAX / 2) throw header.bad("the tensors have more bytes than a file can");
    data_bytes = round_up(*end, alignment);
  }

  header.add_bytes(kGgufMagic);
  header.add(kVersion);
  header.add(uint64_t{plan.items().size()});
  header.add(uint64_t{metadata.items().size()});
  for (const auto& [key, value] : metadata.items()) header.add_key(key, value);
  for (const Item& item : plan.items()) header.add_tensor(item);
  const int64_t data_start = round_up(static_cast<int64_t>(header.bytes().size()), alignment);
  for (Item& item : plan.items()) item.offset += data_start;
  return {header.bytes(), data_start + data_bytes};
}

GgufWriter::GgufWriter(const std::filesystem::path& path, const Metadata& metadata, std::vector<TensorSpec> tensors)
    : plan_(std::move(tensors), path), file_(path) {
  const GgufLayout layout = lay_out_gguf(path, metadata, plan_);
  file_.reserve(layout.bytes);  // the padding is what is reserved and never written: zeros
  file_.write_at(0, std::as_bytes(std::span(layout.header)));
}

void GgufWriter::finish() {
  plan_.check_complete(file_);
  file_.finish();
}

}  // namespace wick
