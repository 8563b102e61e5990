#include "hub/pull_work.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "hub/checksum.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr auto kLockPause = std::chrono::milliseconds(200);
constexpr auto kPoll = std::chrono::milliseconds(50);

// A link with a path that holds wherever the cache is moved to. Replaces one that is there.
void link_to(const fs::path& blob, const fs::path& link) {
  std::error_code problem;
  fs::create_directories(link.parent_path(), problem);
  if (problem) throw Error(ErrorCode::kIo, cat(link.parent_path(), ": cannot create: ", problem.message()));
  const fs::path target = blob.lexically_relative(link.parent_path());
  if (fs::read_symlink(link, problem) == target) return;
  fs::path fresh = link;
  fresh += cat(".new-", getpid());
  fs::remove(fresh, problem);
  fs::create_symlink(target, fresh, problem);
  if (!problem) fs::rename(fresh, link, problem);
  if (problem) throw Error(ErrorCode::kIo, cat(link, ": cannot link: ", problem.message()));
}

}  // namespace

bool has_blob(const fs::path& blob, int64_t bytes) {
  std::error_code problem;
  return fs::is_regular_file(blob, problem) && static_cast<int64_t>(fs::file_size(blob, problem)) == bytes && !problem;
}

PullWork::PullWork(const ModelName& name, const HubCache& cache, const PullOptions& options, std::string commit,
                   const std::vector<RepoFile>& files)
    : name_(name), cache_(cache), options_(options), commit_(std::move(commit)) {
  const fs::path folder = cache.folder_of(name.repo);
  std::error_code problem;
  fs::create_directories(folder / "blobs", problem);
  if (problem) throw Error(ErrorCode::kIo, cat(folder / "blobs", ": cannot create: ", problem.message()));
  for (const RepoFile& file : files) {
    auto job = std::make_unique<Job>();
    job->file = file;
    job->blob = folder / "blobs" / file.checksum;
    job->link = folder / "snapshots" / commit_ / file.name;
    job->was_there = has_blob(job->blob, file.bytes);
    if (!job->was_there) total_ += file.bytes;
    jobs_.push_back(std::move(job));
  }
}

int64_t PullWork::missing_bytes() const {
  int64_t missing = 0;
  for (const auto& job : jobs_) {
    if (job->was_there) continue;
    fs::path partial = job->blob;
    partial += ".incomplete-pieces";
    struct stat facts {};
    const int64_t there = stat(partial.c_str(), &facts) == 0 ? int64_t{facts.st_blocks} * 512 : 0;
    missing += std::max<int64_t>(0, job->file.bytes - there);
  }
  return missing;
}

void PullWork::set_state(Job& job, State state) {
  const std::lock_guard lock(mutex_);
  job.state = state;
  changed_.notify_all();
}

void PullWork::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
  stop_ = true;
  changed_.notify_all();
}

std::optional<PullWork::Work> PullWork::next_work() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const auto now = Clock::now();
    bool all_done = true;
    Job* waiting = nullptr;
    for (const auto& job : jobs_) {
      if (job->state == State::kOpen && job->next_piece < job->partial->pieces()) {
        ++job->running;
        return Work{job.get(), job->next_piece++, job->whole};
      }
      if (job->state == State::kWaiting && job->again <= now && !waiting) waiting = job.get();
      all_done = all_done && job->state == State::kDone;
    }
    if (all_done) break;
    if (waiting) {
      waiting->state = State::kOpening;
      return Work{waiting, -1, false};
    }
    changed_.wait_for(lock, kPoll);
  }
  return std::nullopt;
}

void PullWork::open(Job& job) {
  job.lock = FileLock::try_lock(cache_.lock_of(name_.repo, job.file.checksum));
  if (!job.lock) {
    job.again = Clock::now() + kLockPause;
    set_state(job, State::kWaiting);
    return;
  }
  if (has_blob(job.blob, job.file.bytes)) {
    PartialFile::remove_leftovers(job.blob);
    link_to(job.blob, job.link);
    if (!job.was_there) resumed_ += job.file.bytes;  // somebody else brought it
    job.lock.reset();
    set_state(job, State::kDone);
    return;
  }
  job.partial = std::make_unique<PartialFile>(job.blob, job.file.bytes, options_.piece_bytes);
  const int64_t there = job.partial->done();
  job.resumed = there > 0;
  resumed_ += there;
  job.next_piece = 0;
  set_state(job, State::kOpen);
}

void PullWork::fetch(Fetcher& fetcher, const Work& work) {
  Job& job = *work.job;
  const std::string url = file_url(options_.endpoint, name_.repo, commit_, job.file.name);
  const Fetched result = job.file.bytes == 0 ? Fetched::kDone
                         : work.whole        ? fetcher.whole(url, job.file, *job.partial, arrived_)
                                             : fetcher.piece(url, job.file, *job.partial, work.piece, arrived_);
  {
    const std::lock_guard lock(mutex_);
    --job.running;
    if (result == Fetched::kRangeIgnored && !job.whole) {
      job.whole = true;
      job.next_piece = job.partial->pieces();  // no further piece begins
    }
    if (result == Fetched::kStopped || job.running > 0 || job.next_piece < job.partial->pieces()) return;
    job.state = State::kFinishing;
  }
  // Nobody else touches this file now.
  if (result == Fetched::kRangeIgnored || (job.whole && job.partial->pieces() > 1)) {
    arrived_.wasted += job.partial->done();
    job.resumed = false;
    job.partial->restart_whole();
    job.next_piece = 0;
    set_state(job, State::kOpen);
    return;
  }
  finish(job);
}

void PullWork::finish(Job& job) {
  const bool is_large = job.file.checksum.size() == 64;
  const auto stop = [this] { return stop_.load(); };
  const std::string sum = is_large ? sha256_of(job.partial->path(), stop) : git_blob_of(job.partial->path(), stop);
  if (sum.empty()) return;
  if (sum == job.file.checksum) {
    job.partial->finish();
    job.partial.reset();
    PartialFile::remove_leftovers(job.blob);
    link_to(job.blob, job.link);
    job.lock.reset();
    set_state(job, State::kDone);
    return;
  }
  job.partial->discard();
  job.partial.reset();
  if (!job.resumed) {
    throw Error(ErrorCode::kBadFile, cat(in_quotes(job.file.name), ": what arrived has the checksum ", sum,
                                         ", expected ", job.file.checksum, "; it was thrown away"));
  }
  // What an earlier pull left was bad, say after a power cut: once more from the beginning.
  arrived_.wasted += job.file.bytes;
  job.lock.reset();
  set_state(job, State::kWaiting);
}

void PullWork::work() {
  try {
    Fetcher fetcher(options_, name_, [this] { return stop_.load(); });
    while (const auto work = next_work()) {
      if (work->piece < 0) {
        open(*work->job);
      } else {
        fetch(fetcher, *work);
      }
    }
  } catch (...) {
    fail(std::current_exception());
  }
  const std::lock_guard lock(mutex_);
  --workers_;
  changed_.notify_all();
}

PullProgress PullWork::progress() const {
  PullProgress now{arrived_.bytes + resumed_ - arrived_.wasted, total_, ""};
  for (const auto& job : jobs_) {
    if (job->state == State::kFinishing) now.what = cat("checking ", job->file.name);
    if (job->state == State::kOpen && now.what.empty()) now.what = job->file.name;
    if (job->state == State::kWaiting && job->again != Clock::time_point() && now.what.empty()) {
      now.what = cat("waiting for another pull of ", job->file.name);
    }
  }
  return now;
}

bool PullWork::run() {
  std::vector<std::thread> threads;
  workers_ = std::max(1, options_.jobs);
  for (int i = 0, count = workers_; i < count; ++i) threads.emplace_back([this] { work(); });
  bool stopped = false;
  {
    std::unique_lock lock(mutex_);
    while (workers_ > 0) {
      const PullProgress now = progress();
      lock.unlock();
      try {
        if (options_.progress) options_.progress(now);
        stopped = stopped || (options_.stop && options_.stop());
      } catch (...) {
        fail(std::current_exception());
      }
      if (stopped) stop_ = true;
      lock.lock();
      if (workers_ > 0) changed_.wait_for(lock, kPoll);
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (error_) std::rethrow_exception(error_);
  return !stopped;
}

std::vector<PulledFile> PullWork::files() const {
  std::vector<PulledFile> files;
  for (const auto& job : jobs_) files.push_back({job->file.name, job->file.bytes, job->was_there});
  return files;
}

}  // namespace wick
