#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wick {

// Bytes of a file, a pipe or memory, read front to back, with a look at what comes next. Throws Error(kIo) with the
// system's reason when reading fails. One thread at a time.
class ByteInput {
 public:
  static ByteInput open(const std::filesystem::path& path);  // "-" is standard input
  // `owner` keeps the bytes alive; null when the caller does.
  static ByteInput in_memory(std::string name, std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  // What `read` gives, which fills bytes from the front, waits for one at least and says 0 at the end.
  using Reader = std::function<size_t(std::span<std::byte> out)>;
  static ByteInput of_reader(std::string name, Reader read);

  ByteInput(ByteInput&& other) noexcept;
  ByteInput& operator=(ByteInput&&) = delete;
  ~ByteInput();

  const std::string& name() const { return name_; }
  int64_t position() const { return position_; }
  std::optional<int64_t> size() const { return size_; }  // empty for pipes
  bool can_seek() const { return size_.has_value(); }
  int regular_file() const { return can_seek() ? file_ : -1; }  // its descriptor; -1 for what is none

  // Valid until the next call. Fewer bytes than asked for only at the end.
  std::span<const std::byte> peek(size_t count);
  // Fills `out` from the front; fewer bytes than asked for only at the end.
  size_t read(std::span<std::byte> out);
  // What is there already: of a pipe, what has been written so far. Waits for a byte; 0 only at the end.
  size_t read_some(std::span<std::byte> out);
  // How many bytes there were to skip.
  int64_t skip(int64_t count);
  void seek(int64_t position);  // only when can_seek(); past the end, there is nothing to read

 private:
  explicit ByteInput(std::string name) : name_(std::move(name)) {}
  size_t read_ahead(std::span<std::byte> out);  // straight from the source; 0 at the end

  std::string name_;
  int file_ = -1;  // or memory_, or reader_
  Reader reader_;
  bool owns_file_ = false;
  std::span<const std::byte> memory_;
  std::shared_ptr<const void> owner_;
  std::optional<int64_t> size_;
  int64_t position_ = 0;          // of the next byte to hand out
  int64_t memory_at_ = 0;         // of the next byte to take out of memory_
  std::vector<std::byte> ahead_;  // read but not handed out: from ahead_at_ on
  size_t ahead_at_ = 0;
};

}  // namespace wick
