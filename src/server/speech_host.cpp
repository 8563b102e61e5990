#include "server/speech_host.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {

namespace {

// What one client may take of what all share.
int64_t most_of(int64_t all) { return std::max<int64_t>(1, all - std::max<int64_t>(1, all / 4)); }

}  // namespace

SpeechHost::SpeechHost(std::vector<SpeechEntry> models, int threads, int64_t max_waiting)
    : most_running_(most_of(threads)), max_waiting_(max_waiting) {
  for (SpeechEntry& model : models) {
    if (find(model.name)) {
      throw Error(ErrorCode::kInvalidArgument, cat("two speech models are called ", in_quotes(model.name)));
    }
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->entry = std::move(model);
  }
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

SpeechHost::~SpeechHost() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    jobs_.clear();
  }
  news_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

SpeechHost::Slot* SpeechHost::find(std::string_view name) const {
  const auto found =
      std::find_if(slots_.begin(), slots_.end(), [&](const auto& slot) { return slot->entry.name == name; });
  return found == slots_.end() ? nullptr : found->get();
}

std::vector<std::string> SpeechHost::names() const {
  std::vector<std::string> names;
  for (const auto& slot : slots_) names.push_back(slot->entry.name);
  return names;
}

std::string SpeechHost::unknown(std::string_view name) const {
  std::string known;
  for (const auto& slot : slots_) known += cat(known.empty() ? "" : ", ", in_quotes(slot->entry.name));
  return cat("there is no speech model ", in_quotes(name), "; known are: ", known.empty() ? "none" : known);
}

bool SpeechHost::is_loaded(std::string_view name) const {
  const Slot* slot = find(name);
  return slot && slot->is_loaded;
}

const std::string& SpeechHost::default_model() const {
  if (slots_.empty()) throw Error(ErrorCode::kUnsupported, "this server has no model for speech");
  return slots_.front()->entry.name;
}

std::shared_ptr<const SpeechRecognizer> SpeechHost::use(std::string_view name) {
  Slot* slot = find(name);
  if (!slot) throw Error(ErrorCode::kInvalidArgument, unknown(name));
  const std::lock_guard lock(slot->loading);
  if (!slot->recognizer) slot->recognizer = load_recognizer(slot->entry.path, slot->entry.load);
  slot->is_loaded = true;
  return slot->recognizer;
}

bool SpeechHost::run(const std::string& client, std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_ || std::ssize(jobs_) >= max_waiting_) return false;
  const auto own = std::count_if(jobs_.begin(), jobs_.end(), [&](const Job& other) { return other.client == client; });
  if (own >= most_of(max_waiting_)) return false;
  jobs_.push_back({client, std::move(job)});
  news_.notify_one();
  return true;
}

// The oldest of a client that may have one more.
std::deque<SpeechHost::Job>::iterator SpeechHost::next_job() {
  return std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) {
    const auto running = running_.find(job.client);
    return running == running_.end() || running->second < most_running_;
  });
}

void SpeechHost::work() {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return is_stopping_ || next_job() != jobs_.end(); });
      if (is_stopping_) return;
      const auto next = next_job();
      job = std::move(*next);
      jobs_.erase(next);
      ++running_[job.client];
    }
    job.run();
    job.run = nullptr;  // it may hold the last of what it used
    const std::lock_guard lock(mutex_);
    if (--running_[job.client] == 0) running_.erase(job.client);
    news_.notify_one();
  }
}

}  // namespace wick
