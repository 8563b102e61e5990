#include "faults/fault_hook.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>

namespace wick {
namespace {

std::atomic<bool> is_armed{false}, has_failed{false}, is_recording{false};
std::atomic<FaultKind> armed_kind{FaultKind::kAllocation};
std::atomic<int64_t> counted{0}, fails_at{0};
std::atomic<int> fails_with{0};
std::atomic<const char*> failed_name{""};
thread_local int free_depth = 0;

std::mutex events_mutex;
std::vector<DiskEvent>& events() {
  static auto* const all = new std::vector<DiskEvent>();
  return *all;
}

bool is_turn(FaultKind kind, const char* name) {
  if (!is_armed.load(std::memory_order_relaxed) || free_depth > 0 || armed_kind != kind) return false;
  if (++counted != fails_at) return false;
  has_failed = true;
  failed_name = name;
  return true;
}

// Sets errno when it is this call's turn to fail.
bool fails(FaultKind kind, const char* name) {
  if (!is_turn(kind, name)) return false;
  errno = fails_with;
  return true;
}

uint64_t file_of(int fd) {
  struct stat facts {};
  return ::fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}

void record(DiskEvent::Kind kind, uint64_t file, int64_t offset = 0, std::string bytes = {}) {
  if (!is_recording) return;
  const FaultFree quiet;
  const std::lock_guard lock(events_mutex);
  events().push_back({kind, file, offset, std::move(bytes)});
}

}  // namespace

void arm_fault(FaultKind kind, int64_t at, int error) {
  is_armed = false;
  armed_kind = kind;
  fails_at = at;
  fails_with = error;
  counted = 0;
  has_failed = false;
  failed_name = "";
  is_armed = true;
}

bool disarm_fault() {
  is_armed = false;
  return has_failed;
}

int64_t calls_counted() { return counted; }
std::string_view failed_call() { return failed_name.load(); }

FaultFree::FaultFree() { ++free_depth; }
FaultFree::~FaultFree() { --free_depth; }

void record_disk(bool on) {
  const std::lock_guard lock(events_mutex);
  if (on) events().clear();
  is_recording = on;
}

void note_disk(std::string text) { record(DiskEvent::Kind::kNote, 0, 0, std::move(text)); }

std::vector<DiskEvent> recorded_disk() {
  const std::lock_guard lock(events_mutex);
  return events();
}

}  // namespace wick

using wick::DiskEvent;
using wick::FaultKind;

// The system's own function behind one of these.
#define WICK_REAL(name) static const auto real = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name))

namespace {

void* allocate(size_t bytes, size_t alignment) {
  if (wick::is_turn(FaultKind::kAllocation, "operator new")) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes ? bytes : 1);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(size_t bytes, size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new[](size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t alignment) { return allocate_or_throw(bytes, size_t(alignment)); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return allocate_or_throw(bytes, size_t(alignment)); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

int open(const char* path, int flags, ...) {
  WICK_REAL(open);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (wick::fails(FaultKind::kFile, "open")) return -1;
  const int fd = real(path, flags, mode);
  const bool is_new = (flags & O_TMPFILE) == O_TMPFILE || (flags & O_EXCL) != 0;
  if (fd >= 0 && is_new && wick::is_recording) wick::record(DiskEvent::Kind::kNew, wick::file_of(fd));
  return fd;
}

ssize_t read(int fd, void* out, size_t bytes) {
  WICK_REAL(read);
  return wick::fails(FaultKind::kFile, "read") ? -1 : real(fd, out, bytes);
}

ssize_t pread(int fd, void* out, size_t bytes, off_t offset) {
  WICK_REAL(pread);
  return wick::fails(FaultKind::kFile, "pread") ? -1 : real(fd, out, bytes, offset);
}

ssize_t write(int fd, const void* from, size_t bytes) {
  WICK_REAL(write);
  if (wick::fails(FaultKind::kFile, "write")) return -1;
  if (bytes > 1 && wick::is_turn(FaultKind::kShortWrite, "write")) bytes /= 2;
  return real(fd, from, bytes);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  WICK_REAL(pwrite);
  if (wick::fails(FaultKind::kFile, "pwrite")) return -1;
  if (bytes > 1 && wick::is_turn(FaultKind::kShortWrite, "pwrite")) bytes /= 2;
  const ssize_t written = real(fd, from, bytes, offset);
  if (written > 0 && wick::is_recording) {
    wick::record(DiskEvent::Kind::kWrite, wick::file_of(fd), offset,
                 std::string(static_cast<const char*>(from), static_cast<size_t>(written)));
  }
  return written;
}

int ftruncate(int fd, off_t bytes) noexcept {
  WICK_REAL(ftruncate);
  if (wick::fails(FaultKind::kFile, "ftruncate")) return -1;
  const int result = real(fd, bytes);
  if (result == 0 && wick::is_recording) wick::record(DiskEvent::Kind::kTruncate, wick::file_of(fd), bytes);
  return result;
}

static void record_sync(int fd) {
  if (!wick::is_recording) return;
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return;
  wick::record(S_ISDIR(facts.st_mode) ? DiskEvent::Kind::kSyncFolder : DiskEvent::Kind::kSync, facts.st_ino);
}

int fsync(int fd) {
  WICK_REAL(fsync);
  if (wick::fails(FaultKind::kFile, "fsync")) return -1;
  const int result = real(fd);
  if (result == 0) record_sync(fd);
  return result;
}

int fdatasync(int fd) {
  WICK_REAL(fdatasync);
  if (wick::fails(FaultKind::kFile, "fdatasync")) return -1;
  const int result = real(fd);
  if (result == 0) record_sync(fd);
  return result;
}

int fchmod(int fd, mode_t mode) noexcept {
  WICK_REAL(fchmod);
  return wick::fails(FaultKind::kFile, "fchmod") ? -1 : real(fd, mode);
}

int flock(int fd, int operation) noexcept {
  WICK_REAL(flock);
  return wick::fails(FaultKind::kFile, "flock") ? -1 : real(fd, operation);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  WICK_REAL(linkat);
  return wick::fails(FaultKind::kFile, "linkat") ? -1 : real(from_folder, from, to_folder, to, flags);
}

int rename(const char* from, const char* to) noexcept {
  WICK_REAL(rename);
  if (wick::fails(FaultKind::kFile, "rename")) return -1;
  struct stat facts {};
  const bool is_there = wick::is_recording && ::stat(from, &facts) == 0;
  const int result = real(from, to);
  if (result == 0 && is_there) wick::record(DiskEvent::Kind::kRename, facts.st_ino, 0, to);
  return result;
}

void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  WICK_REAL(mmap);
  return wick::fails(FaultKind::kFile, "mmap") ? MAP_FAILED : real(at, bytes, protection, flags, fd, offset);
}

int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  WICK_REAL(accept4);
  return wick::fails(FaultKind::kSocket, "accept4") ? -1 : real(fd, address, size, flags);
}

int accept(int fd, sockaddr* address, socklen_t* size) {
  WICK_REAL(accept);
  return wick::fails(FaultKind::kSocket, "accept") ? -1 : real(fd, address, size);
}

ssize_t recv(int fd, void* out, size_t bytes, int flags) {
  WICK_REAL(recv);
  return wick::fails(FaultKind::kSocket, "recv") ? -1 : real(fd, out, bytes, flags);
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  WICK_REAL(recvmsg);
  return wick::fails(FaultKind::kSocket, "recvmsg") ? -1 : real(fd, message, flags);
}

ssize_t send(int fd, const void* from, size_t bytes, int flags) {
  WICK_REAL(send);
  return wick::fails(FaultKind::kSocket, "send") ? -1 : real(fd, from, bytes, flags);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  WICK_REAL(sendmsg);
  return wick::fails(FaultKind::kSocket, "sendmsg") ? -1 : real(fd, message, flags);
}

int epoll_ctl(int poll, int operation, int fd, epoll_event* event) noexcept {
  WICK_REAL(epoll_ctl);
  // Only what is new can be too much for the system.
  const bool is_new = operation == EPOLL_CTL_ADD;
  return is_new && wick::fails(FaultKind::kSocket, "epoll_ctl") ? -1 : real(poll, operation, fd, event);
}

}  // extern "C"
