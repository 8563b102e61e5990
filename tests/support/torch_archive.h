#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace wick {

// A zip archive of stored files, as torch.save() writes it.
class ZipWriter {
 public:
  void add(std::string_view name, std::string_view bytes, uint16_t method = 0) {
    const auto offset = static_cast<uint32_t>(archive_.size());
    const std::string head = little<uint16_t>(method) + std::string(8, '\0') +
                             little(static_cast<uint32_t>(bytes.size())) + little(static_cast<uint32_t>(bytes.size())) +
                             little(static_cast<uint16_t>(name.size()));
    archive_ += little<uint32_t>(0x04034b50) + little<uint16_t>(10) + little<uint16_t>(0) + head + little<uint16_t>(5);
    archive_ += cat(name, std::string(5, 'B'), bytes);  // PyTorch fills an extra field, to align what follows
    directory_ += little<uint32_t>(0x02014b50) + little<uint16_t>(0) + little<uint16_t>(10) + little<uint16_t>(0) +
                  head + little<uint16_t>(0) + little<uint16_t>(0) + std::string(8, '\0') + little(offset) +
                  std::string(name);
    ++count_;
  }
  std::string finish() const {
    return archive_ + directory_ + little<uint32_t>(0x06054b50) + std::string(4, '\0') + little(count_) +
           little(count_) + little(static_cast<uint32_t>(directory_.size())) +
           little(static_cast<uint32_t>(archive_.size())) + little<uint16_t>(0);
  }
  template <typename T>
  static std::string little(T number) {
    return {reinterpret_cast<const char*>(&number), sizeof(number)};
  }

 private:
  std::string archive_, directory_;
  uint16_t count_ = 0;
};

// The pickle of a state dictionary, step by step as Python writes it.
class StatePickle {
 public:
  StatePickle() { text_ = cat("\x80\x02", "ccollections\nOrderedDict\nq", std::string(1, '\0'), ")Rq\x01("); }
  // `type`: "FloatStorage"; counts are of elements.
  StatePickle& add(std::string_view name, std::string_view type, std::string_view storage, int64_t numel,
                   const std::vector<int>& shape, const std::vector<int>& strides, int offset = 0) {
    text_ += cat(word(name), "ctorch._utils\n_rebuild_tensor_v2\n((", word("storage"), "ctorch\n", type, "\n",
                 word(storage), word("cpu"), number(static_cast<int>(numel)), "tQ", number(offset), tuple(shape),
                 tuple(strides), "\x89", "ccollections\nOrderedDict\n)RtR");
    return *this;
  }
  StatePickle& raw(std::string_view steps) {
    text_ += steps;
    return *this;
  }
  std::string finish() const {  // with the notes that PyTorch leaves beside the tensors
    return cat(text_, "u}", word("_metadata"), "h\x01sb.");
  }
  static std::string word(std::string_view text) {
    return cat("X", ZipWriter::little(static_cast<uint32_t>(text.size())), text);
  }
  static std::string number(int value) { return cat("J", ZipWriter::little(value)); }

 private:
  static std::string tuple(const std::vector<int>& numbers) {
    std::string text = "(";
    for (const int value : numbers) text += number(value);
    return text + "t";
  }
  std::string text_;
};

}  // namespace wick
