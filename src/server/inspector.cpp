#include "server/inspector.h"

#include <algorithm>

#include "base/error.h"
#include "engine/compute_mutex.h"

namespace wick {
namespace {

// Whoever waits for an answer of the engine waits for a pass of these at most.
constexpr int64_t kRowsPerPass = 512;

}  // namespace

Inspector::Inspector(const InspectOptions& options)
    : max_waiting_(options.max_waiting), shelf_(options.folders), captures_(options.captures) {
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
}

Inspector::~Inspector() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

void Inspector::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  news_.notify_all();
}

bool Inspector::run(const std::string& client, std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_ || std::ssize(jobs_) >= max_waiting_) return false;
  const auto own = std::count_if(jobs_.begin(), jobs_.end(), [&](const Job& other) { return other.client == client; });
  if (own > max_waiting_ / 2) return false;
  jobs_.push_back({client, std::move(job)});
  news_.notify_one();
  return true;
}

void Inspector::work() {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return is_stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job.run();
  }
}

void Inspector::take_turn(const std::function<bool()>& is_cancelled, FunctionRef<void()> compute) const {
  if (is_stopping_ || (is_cancelled && is_cancelled())) throw Error(ErrorCode::kInternal, "the request was cancelled");
  const std::lock_guard lock(compute_mutex());
  compute();
}

LanguageInterp Inspector::model_of(const std::shared_ptr<TextEngine>& engine,
                                   std::function<bool()> is_cancelled) const {
  LanguageInterpOptions options;
  options.kv_dtype = engine->kv_dtype();
  options.rows_per_pass = kRowsPerPass;
  options.around_pass = [this, is_cancelled = std::move(is_cancelled)](FunctionRef<void()> pass) {
    take_turn(is_cancelled, pass);
  };
  return LanguageInterp(std::shared_ptr<const LanguageModel>(engine, &engine->model().model()), std::move(options));
}

}  // namespace wick
