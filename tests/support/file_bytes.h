#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/text.h"

namespace wick {

// Bytes as a file in memory.
inline std::shared_ptr<const MappedFile> file_in_memory(std::string bytes, std::string name) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return MappedFile::in_memory(std::move(name), std::as_bytes(std::span(*owner)), owner);
}

// A GGUF file put together by hand, so that it can be wrong in every way.
class GgufBytes {
 public:
  explicit GgufBytes(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    bytes_ = "GGUF";
    add(version).add(tensors).add(keys);
  }

  template <typename T>
  GgufBytes& add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  GgufBytes& text(std::string_view text) {
    add(uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }
  GgufBytes& key(std::string_view name, uint32_t type) { return text(name).add(type); }
  GgufBytes& array(std::string_view name, uint32_t type, uint64_t count) { return key(name, 9).add(type).add(count); }
  // Sizes are innermost first, as in the file.
  GgufBytes& tensor(std::string_view name, const std::vector<uint64_t>& sizes, uint32_t type, uint64_t offset) {
    text(name).add(static_cast<uint32_t>(sizes.size()));
    for (const uint64_t size : sizes) add(size);
    return add(type).add(offset);
  }
  GgufBytes& pad(size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  GgufBytes& data(size_t count) {
    bytes_.append(count, '\x01');
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// A ggml file of Whisper put together by hand, in the same way.
class GgmlBytes {
 public:
  // vocabulary, audio positions, width, heads, layers, text positions, width, heads, layers, mel bins, type
  using Settings = std::array<int32_t, 11>;
  explicit GgmlBytes(const Settings& settings, int32_t frequencies = 201) {
    bytes_ = "lmgg";
    for (const int32_t setting : settings) add(setting);
    add(settings[9]).add(frequencies);
    bytes_.append(sizeof(float) * static_cast<size_t>(std::max(settings[9], 0)) * 201, '\0');
  }

  template <typename T>
  GgmlBytes& add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  GgmlBytes& vocabulary(const std::vector<std::string>& tokens) {
    add(static_cast<int32_t>(tokens.size()));
    for (const std::string& token : tokens) add(static_cast<uint32_t>(token.size())).data(token);
    return *this;
  }
  // Sizes are innermost first, as in the file; the data follows.
  GgmlBytes& tensor(std::string_view name, const std::vector<int32_t>& sizes, uint32_t type) {
    add(static_cast<int32_t>(sizes.size())).add(static_cast<int32_t>(name.size())).add(type);
    for (const int32_t size : sizes) add(size);
    return data(name);
  }
  GgmlBytes& data(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// A safetensors file with this header; the length may lie.
inline std::string safetensors_bytes(std::string_view header, size_t data_bytes, int64_t claimed_length = -1) {
  const uint64_t length = claimed_length < 0 ? header.size() : static_cast<uint64_t>(claimed_length);
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes += header;
  bytes.append(data_bytes, '\0');
  return bytes;
}

}  // namespace wick
