#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace wick {

// The kinds of a GGUF value, with the codes of the format.
enum class MetaType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kText = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};
std::string_view to_string(MetaType type);  // "u8", "text", ...

// An array as it lies in the file, already checked to be inside it. Elements are decoded when asked for, so opening a
// file with a vocabulary of 150,000 words costs one walk over their lengths.
struct MetaArray {
  MetaType type = MetaType::kU8;  // of the elements; kArray for nested arrays
  int64_t count = 0;
  std::span<const std::byte> bytes;           // the elements' encoding
  std::shared_ptr<const void> owner;          // keeps the bytes alive
  std::shared_ptr<const std::string> source;  // names the file in messages; null: none

  // The elements converted; throw Error(kBadFile) naming `key` when they are of another kind.
  std::vector<std::string_view> texts(std::string_view key) const;  // views into the file
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;  // accepts integers, too
};

// One value. Every accessor checks the kind and throws Error(kBadFile) naming the key, e.g.
// "model.gguf: 'llama.block_count' is text, expected an integer".
struct MetaValue {
  MetaType type = MetaType::kU8;
  std::variant<bool, int64_t, uint64_t, double, std::string, MetaArray> value;
};

inline constexpr int64_t kMaxMetadataKeys = 65536;  // that a file may hold; real ones have some dozens

// Key and value pairs in file order; keys are unique.
class Metadata {
 public:
  Metadata() = default;
  explicit Metadata(std::string source) : source_(std::move(source)) {}  // names the file in messages

  bool empty() const { return items_.empty(); }
  const std::vector<std::pair<std::string, MetaValue>>& items() const { return items_; }
  const MetaValue* find(std::string_view key) const;

  // The value of `key`; throws when it is missing or of another kind.
  const std::string& text(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;  // accepts integers, too
  bool boolean(std::string_view key) const;
  const MetaArray& array(std::string_view key) const;

  // Replaces or appends; for writers.
  void set(std::string key, MetaValue value);
  void set_text(std::string key, std::string value);
  void set_u32(std::string key, uint32_t value);
  void set_f32(std::string key, float value);
  void set_bool(std::string key, bool value);
  void set_texts(std::string key, const std::vector<std::string>& values);
  void set_i32s(std::string key, const std::vector<int32_t>& values);
  void set_f32s(std::string key, const std::vector<float>& values);
  void erase(std::string_view key);
  // For readers that have seen that the key is new.
  void append(std::string key, MetaValue value);

 private:
  const MetaValue& at(std::string_view key) const;
  Error wrong_kind(std::string_view key, const MetaValue& value, std::string_view expected) const;

  std::string source_;
  std::vector<std::pair<std::string, MetaValue>> items_;
};

}  // namespace wick
