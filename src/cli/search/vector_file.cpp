#include "cli/search/vector_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/thread_pool.h"

namespace wick {
namespace {

constexpr char kMark[8] = {'W', 'I', 'C', 'K', 'V', 'E', 'C', '1'};
struct Head {
  char mark[8] = {};
  uint64_t key = 0;
  int64_t width = 0;
  char unused[40] = {};
};
static_assert(sizeof(Head) == 64, "on-disk layout");

Error failed(const std::filesystem::path& path, const char* what) {
  return {ErrorCode::kIo, cat(path, ": ", what, ": ", std::strerror(errno))};
}

void write_at(int fd, const void* bytes, size_t count, int64_t at, const std::filesystem::path& path) {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::pwrite(fd, from, count, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw failed(path, "cannot be written");
    from += written;
    at += written;
    count -= static_cast<size_t>(written);
  }
}

// In eight sums of fixed order.
double product(const float* a, const float* b, int64_t width) {
  float sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= width; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < width; ++i) sums[0] += a[i] * b[i];
  double sum = 0;
  for (const float lane : sums) sum += lane;
  return sum;
}

}  // namespace

VectorFile::VectorFile(const std::filesystem::path& path, uint64_t key, int64_t width) : path_(path), width_(width) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) throw failed(path, "cannot be opened");
  Head head;
  struct stat info {};
  const bool is_there = ::pread(fd_, &head, sizeof(head), 0) == static_cast<ssize_t>(sizeof(head));
  if (is_there && std::memcmp(head.mark, kMark, sizeof(kMark)) == 0 && head.key == key && head.width == width &&
      ::fstat(fd_, &info) == 0) {
    count_ = (static_cast<int64_t>(info.st_size) - static_cast<int64_t>(sizeof(Head))) /
             (width * static_cast<int64_t>(sizeof(float)));
    return;
  }
  std::memcpy(head.mark, kMark, sizeof(kMark));
  head.key = key;
  head.width = width;
  if (::ftruncate(fd_, 0) != 0) throw failed(path, "cannot be written");
  write_at(fd_, &head, sizeof(head), 0, path_);
}

VectorFile::~VectorFile() {
  if (fd_ >= 0) ::close(fd_);
}

void VectorFile::write(int64_t number, std::span<const float> vector) {
  const auto bytes = static_cast<int64_t>(vector.size_bytes());
  write_at(fd_, vector.data(), vector.size_bytes(), static_cast<int64_t>(sizeof(Head)) + number * bytes, path_);
  count_ = std::max(count_, number + 1);
}

void VectorFile::flush() {
  if (::fdatasync(fd_) != 0) throw failed(path_, "cannot be written");
}

std::vector<VectorFile::Near> VectorFile::nearest(std::span<const float> to, size_t most,
                                                  const std::vector<bool>& counts) const {
  const auto file = MappedFile::open(path_);
  const int64_t room = std::ssize(file->bytes()) - static_cast<int64_t>(sizeof(Head));
  const int64_t there = std::min({count_, std::ssize(counts), room / (width_ * static_cast<int64_t>(sizeof(float)))});
  const auto* vectors = reinterpret_cast<const float*>(file->bytes().data() + sizeof(Head));
  std::vector<double> products(static_cast<size_t>(std::max<int64_t>(there, 0)));
  parallel_for(there, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (counts[static_cast<size_t>(i)]) {
        products[static_cast<size_t>(i)] = product(vectors + i * width_, to.data(), width_);
      }
    }
  });
  std::vector<Near> near;
  for (int64_t i = 0; i < there; ++i) {
    if (counts[static_cast<size_t>(i)]) near.push_back({i, products[static_cast<size_t>(i)]});
  }
  const auto middle = near.begin() + static_cast<ptrdiff_t>(std::min(most, near.size()));
  std::partial_sort(near.begin(), middle, near.end(), [](const Near& a, const Near& b) {
    return a.product != b.product ? a.product > b.product : a.number < b.number;
  });
  near.erase(middle, near.end());
  return near;
}

}  // namespace wick
