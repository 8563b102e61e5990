#include "base/large_pages.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"

namespace wick {

#if defined(__linux__) && defined(MADV_POPULATE_READ)

namespace {

constexpr int64_t kLargePage = 2 << 20;
// Copied or mapped at a time: few pieces, and little memory on top while they are copied.
constexpr int64_t kPiece = 4 * kLargePage;
constexpr int64_t kSamples = 16;

int64_t address(const std::byte* at) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at)); }
std::byte* at_address(int64_t address) { return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address)); }

// The large pages that lie wholly inside some bytes.
struct LargePages {
  int64_t begin, end;
  explicit LargePages(std::span<const std::byte> bytes)
      : begin(round_up(address(bytes.data()), kLargePage)),
        end((address(bytes.data()) + static_cast<int64_t>(bytes.size())) / kLargePage * kLargePage) {}
  int64_t count() const { return std::max<int64_t>(0, (end - begin) / kLargePage); }
};

// Memory for a copy, freed unless it has been moved away.
class NewPages {
 public:
  explicit NewPages(int64_t size) : size_(size) {
    void* pages = mmap(nullptr, static_cast<size_t>(size + kLargePage), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return;
    const int64_t from = address(static_cast<std::byte*>(pages)), to = from + size + kLargePage;
    begin_ = round_up(from, kLargePage);
    unmap(from, begin_);
    unmap(begin_ + size, to);
    madvise(data(), static_cast<size_t>(size), MADV_HUGEPAGE);  // advice only
  }
  ~NewPages() {
    if (begin_ != 0) unmap(begin_, begin_ + size_);
  }
  NewPages(const NewPages&) = delete;
  NewPages& operator=(const NewPages&) = delete;

  std::byte* data() const { return begin_ == 0 ? nullptr : at_address(begin_); }

  // Takes the place of what is mapped at `to`, in one step as other threads see it.
  bool move_to(std::byte* to) {
    if (mprotect(data(), static_cast<size_t>(size_), PROT_READ) != 0) return false;
    if (mremap(data(), static_cast<size_t>(size_), static_cast<size_t>(size_), MREMAP_MAYMOVE | MREMAP_FIXED, to) !=
        MAP_FAILED) {
      begin_ = 0;
      return true;
    }
    // It may have failed after it had taken away what was there.
    const void* again =
        mmap(to, static_cast<size_t>(size_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (again == MAP_FAILED) {
      throw Error(ErrorCode::kOutOfMemory, cat("out of memory: ", size_, " bytes of weights cannot be mapped again"));
    }
    std::memcpy(to, data(), static_cast<size_t>(size_));
    return true;
  }

 private:
  static void unmap(int64_t from, int64_t to) {
    if (from < to) munmap(at_address(from), static_cast<size_t>(to - from));
  }

  int64_t size_, begin_ = 0;
};

}  // namespace

void advise_large_pages(std::span<std::byte> bytes) { madvise(bytes.data(), bytes.size(), MADV_HUGEPAGE); }

bool is_in_memory(std::span<std::byte> bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kPages = 64;
  for (size_t i = 0; i < kPages; ++i) {
    unsigned char there = 0;
    if (mincore(bytes.data() + bytes.size() / kPages * i / page * page, page, &there) != 0) return false;
    if ((there & 1) == 0) return false;
  }
  return true;
}

bool has_large_pages(std::span<const std::byte> bytes) {
  const LargePages pages(bytes);
  const int64_t samples = std::min(kSamples, pages.count());
  if (samples == 0) return false;
  for (int64_t i = 0; i < samples; ++i) {
    static_cast<void>(
        *static_cast<volatile const std::byte*>(at_address(pages.begin + pages.count() * i / samples * kLargePage)));
  }
  // The block of this mapping begins with its first address and counts what is mapped in large pages.
  const std::string head = fmt::format("{:x}-", address(bytes.data()));
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    inside = inside || line.starts_with(head);
    if (!inside || !line.starts_with("FilePmdMapped:")) continue;
    return std::strtoll(line.c_str() + 14, nullptr, 10) * 1024 > samples * kLargePage / 2;
  }
  return false;
}

bool copy_to_large_pages(std::span<std::byte> bytes, const std::atomic<bool>* stop) {
  const LargePages pages(bytes);
  std::atomic<bool> all = pages.count() > 0;
  const auto copy_pieces = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last && all; ++i) {
      if (stop && *stop) {
        all = false;
        return;
      }
      const int64_t begin = pages.begin + i * kPiece, size = std::min(kPiece, pages.end - begin);
      NewPages copy(size);
      if (copy.data()) std::memcpy(copy.data(), at_address(begin), static_cast<size_t>(size));
      if (!copy.data() || !copy.move_to(at_address(begin))) all = false;
    }
  };
  const int64_t pieces = ceil_div(pages.count() * kLargePage, kPiece);
  // Whoever may stop it does it beside other work, which has the threads.
  if (stop) {
    copy_pieces(0, pieces);
  } else {
    parallel_for(pieces, 1, copy_pieces);
  }
  return all;
}

void map_pages(std::span<std::byte> bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  parallel_for(ceil_div(size, kPiece), 1, [&](int64_t first, int64_t last) {
    const int64_t from = first * kPiece, to = std::min(size, last * kPiece);
    madvise(bytes.data() + from, static_cast<size_t>(to - from), MADV_POPULATE_READ);  // advice only
  });
}

#else

void advise_large_pages(std::span<std::byte>) {}
bool is_in_memory(std::span<std::byte>) { return false; }
bool has_large_pages(std::span<const std::byte>) { return false; }
bool copy_to_large_pages(std::span<std::byte>, const std::atomic<bool>*) { return false; }
void map_pages(std::span<std::byte>) {}

#endif

}  // namespace wick
