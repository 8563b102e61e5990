#include "cli/embed/vectors_so_far.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/read_text.h"
#include "tensor/create.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

Error failed(const fs::path& path, const char* what) {
  return {ErrorCode::kIo, cat(path, ": ", what, ": ", std::strerror(errno))};
}

void write_all(int fd, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw failed(path, "cannot be written");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

std::string record_of(std::span<const float> vector) {
  const std::string numbers(reinterpret_cast<const char*>(vector.data()), vector.size_bytes());
  const uint32_t sum = crc32c(numbers);
  return std::string(reinterpret_cast<const char*>(&sum), sizeof(sum)) + numbers;
}

}  // namespace

uint64_t add_to_key(uint64_t key, std::string_view part) {
  for (const char c : cat(part.size(), ":", part)) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return key;
}

uint64_t model_key(const fs::path& model, std::string_view quantize, std::string_view device) {
  std::vector<fs::path> files;
  if (!fs::is_directory(model)) {
    files.push_back(fs::canonical(model));
  } else {
    for (const auto& entry : fs::recursive_directory_iterator(fs::canonical(model))) {
      const fs::path kind = entry.path().extension();
      const bool counts = kind == ".safetensors" || kind == ".json" || kind == ".gguf" || kind == ".bin";
      if (counts && entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  uint64_t key = 0xcbf29ce484222325u;
  for (const fs::path& file : files) {
    key = add_to_key(key, file.string());
    key = add_to_key(key, cat(fs::file_size(file), " ", fs::last_write_time(file).time_since_epoch().count()));
  }
  for (const std::string_view part : {std::string_view(WICK_VERSION), quantize, device}) key = add_to_key(key, part);
  return key;
}

VectorsSoFar::VectorsSoFar(const fs::path& output, uint64_t key, int64_t width, int64_t most)
    : path_(output.string() + ".part"), width_(width) {
  const fs::path folder = output.parent_path();
  if (!folder.empty() && !fs::is_directory(folder)) {
    throw Error(ErrorCode::kIo, cat(output, ": there is no folder ", folder));
  }
  lock_ = FileLock::try_lock(path_);
  if (!lock_) throw Error(ErrorCode::kIo, cat(path_, ": is being written by another process"));
  const std::string head = cat("vectors of ", key, ", ", width, " numbers each\n");
  const std::string there = read_text(path_.string());
  const size_t step = sizeof(uint32_t) + static_cast<size_t>(width) * sizeof(float);
  size_t good = 0;
  if (there.starts_with(head)) {
    good = head.size();
    std::vector<float> vector(static_cast<size_t>(width));
    for (; good + step <= there.size() && count() < most; good += step) {
      std::memcpy(vector.data(), there.data() + good + sizeof(uint32_t), step - sizeof(uint32_t));
      if (record_of(vector) != std::string_view(there).substr(good, step)) break;
      values_.insert(values_.end(), vector.begin(), vector.end());
    }
  }
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(good)) != 0 || ::lseek(fd_, 0, SEEK_END) < 0) {
    throw failed(path_, "cannot be written");
  }
  if (good == 0) write_all(fd_, head, path_);
}

VectorsSoFar::~VectorsSoFar() {
  if (fd_ >= 0) ::close(fd_);
}

Tensor VectorsSoFar::all() const { return from_span(std::span(values_), {count(), width_}); }

void VectorsSoFar::add(const Tensor& vectors) {
  const std::span numbers(vectors.data<float>(), static_cast<size_t>(vectors.numel()));
  const auto width = static_cast<size_t>(width_);
  std::string records;
  for (size_t at = 0; at < numbers.size(); at += width) records += record_of(numbers.subspan(at, width));
  write_all(fd_, records, path_);
  values_.insert(values_.end(), numbers.begin(), numbers.end());
}

void VectorsSoFar::remove() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

}  // namespace wick
