#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// Allocations and system calls of this process, of which one fails. The program that links fault_hook.cpp calls them
// instead of the system's.
enum class FaultKind : uint8_t {
  kAllocation,  // operator new
  kFile,        // open, read, write, truncate, sync, rename, ... of files
  kShortWrite,  // a write of a file that takes only half
  kSocket,      // accept, receive, send, epoll_ctl
};

// From now on the calls of that kind are counted, and number `at` (from 1) fails with that errno.
void arm_fault(FaultKind kind, int64_t at, int error = 0);
// Whether it has failed. Nothing fails any more.
bool disarm_fault();
int64_t calls_counted();  // since arm_fault()
// What failed, for messages: "pwrite".
std::string_view failed_call();

// While it lives, calls of this thread neither count nor fail: those of a client, or of the test itself.
class FaultFree {
 public:
  FaultFree();
  ~FaultFree();
  FaultFree(const FaultFree&) = delete;
  FaultFree& operator=(const FaultFree&) = delete;
};

// What was done to files, for playing it again as a disk that loses power would keep it.
struct DiskEvent {
  enum class Kind : uint8_t {
    kNew,       // an empty file without a name, or with a new one
    kWrite,     // `bytes` at `offset`
    kTruncate,  // to `offset` bytes
    kSync,
    kRename,      // the file is now under the name `bytes`
    kSyncFolder,  // the names that a folder has
    kNote,        // of the test's own: `bytes`
  };
  Kind kind;
  uint64_t file = 0;  // its inode
  int64_t offset = 0;
  std::string bytes;
};
void record_disk(bool on);  // clears what was recorded when it goes on
void note_disk(std::string text);
std::vector<DiskEvent> recorded_disk();

}  // namespace wick
