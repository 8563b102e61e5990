#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hub/fetch.h"
#include "hub/file_lock.h"

namespace wick {

// The files of a pull and the threads that bring them. A worker takes a piece of an open file if there is one, else
// opens the next file: takes its lock, and skips it when somebody else has brought it meanwhile. Whoever brings the
// last piece compares the checksum and gives the file its name.
class PullWork {
 public:
  PullWork(const ModelName& name, const HubCache& cache, const PullOptions& options, std::string commit,
           const std::vector<RepoFile>& files);

  // Bytes that are still to come, those of earlier pulls taken off.
  int64_t missing_bytes() const;
  // True when all files are there, false when `stop` of the options ended it. Throws the first Error of a worker.
  bool run();

  std::vector<PulledFile> files() const;
  int64_t downloaded() const { return arrived_.bytes.load(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : uint8_t { kWaiting, kOpening, kOpen, kFinishing, kDone };

  struct Job {
    RepoFile file;
    std::filesystem::path blob, link;
    State state = State::kWaiting;
    bool was_there = false;
    bool resumed = false;  // holds bytes of an earlier pull
    bool whole = false;    // the server ignores ranges
    int64_t next_piece = 0, running = 0;
    Clock::time_point again{};  // when to look for the lock again
    std::optional<FileLock> lock;
    std::unique_ptr<PartialFile> partial;
  };
  struct Work {
    Job* job;
    int64_t piece;  // -1: the file is to be opened
    bool whole;     // without ranges
  };

  void work();
  std::optional<Work> next_work();
  void open(Job& job);
  void fetch(Fetcher& fetcher, const Work& work);
  void finish(Job& job);
  void set_state(Job& job, State state);
  void fail(std::exception_ptr error);
  PullProgress progress() const;

  ModelName name_;
  const HubCache& cache_;
  const PullOptions& options_;
  std::string commit_;
  std::vector<std::unique_ptr<Job>> jobs_;
  int64_t total_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr error_;
  int workers_ = 0;
  std::atomic<bool> stop_ = false;
  Arrivals arrived_;
  std::atomic<int64_t> resumed_ = 0;  // brought by earlier pulls, or by others meanwhile
};

// Whether the blob is there as a whole. Its bytes were compared when it got its name.
bool has_blob(const std::filesystem::path& blob, int64_t bytes);

}  // namespace wick
