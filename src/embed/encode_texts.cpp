#include "embed/encode_texts.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "engine/compute_mutex.h"

namespace wick {
namespace {

constexpr double kOperationsPerPass = 4e10;  // whoever waits for an engine waits for one pass
constexpr int64_t kLeastRows = 64, kMostRows = 4096;

int64_t rows_per_pass(const EncoderConfig& config) {
  const auto hidden = static_cast<double>(config.hidden), intermediate = static_cast<double>(config.intermediate);
  const double each = 2.0 * static_cast<double>(config.layers) * hidden * (4 * hidden + 3 * intermediate);
  return std::clamp(static_cast<int64_t>(kOperationsPerPass / each), kLeastRows, kMostRows);
}

}  // namespace

// What one caller wants. All but `texts` and `each` changes with the lock held.
struct EncoderPasses::Job {
  std::span<const EncoderInput> texts;
  FunctionRef<void(size_t, std::span<const float>)> each;
  std::vector<size_t> order;  // longest first: those of one length are computed side by side
  size_t next = 0;            // of `order`
  int64_t finished = 0, in_pass = 0;
  std::exception_ptr failure = nullptr;

  int64_t rows_of(size_t place) const { return std::ssize(texts[order[place]].tokens); }
};

// One of each job in turn, until a pass is full.
void EncoderPasses::take_parts(std::vector<Part>& parts) const {
  int64_t room = rows_per_pass(encoder_.config());
  for (bool took = true; took;) {
    took = false;
    for (Job* job : jobs_) {
      if (job->failure || job->next == job->order.size()) continue;
      if (!parts.empty() && job->rows_of(job->next) > room) continue;
      parts.push_back({job, job->order[job->next]});
      room -= job->rows_of(job->next++);
      ++job->in_pass;
      took = true;
    }
  }
  if (!jobs_.empty()) jobs_.splice(jobs_.end(), jobs_, jobs_.begin());  // another is first in the next pass
  const auto length = [](const Part& part) { return part.job->texts[part.text].tokens.size(); };
  std::stable_sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) { return length(a) > length(b); });
}

void EncoderPasses::compute(std::span<const Part> parts) const {
  std::vector<EncoderText> batch;
  for (const Part& part : parts) {
    const EncoderInput& text = part.job->texts[part.text];
    batch.push_back({text.tokens, text.types});
  }
  Tensor hidden;
  {
    std::unique_lock turn(compute_mutex());
    const auto next = [&turn] {  // a text of many tokens takes long: others compute between its layers
      turn.unlock();
      turn.lock();
    };
    hidden = encoder_.encode(batch, next).to_device(Device::cpu());
  }
  const float* from = hidden.data<float>();
  for (const Part& part : parts) {
    const size_t values = part.job->texts[part.text].tokens.size() * static_cast<size_t>(hidden.dim(1));
    part.job->each(part.text, {from, values});
    from += values;
  }
}

void EncoderPasses::lead(std::unique_lock<std::mutex>& lock) const {
  is_computing_ = true;
  std::vector<Part> parts;
  std::exception_ptr failure;
  try {
    take_parts(parts);
    lock.unlock();
    compute(parts);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!lock.owns_lock()) lock.lock();
  for (const Part& part : parts) {
    --part.job->in_pass;
    ++part.job->finished;
    if (failure) part.job->failure = failure;
  }
  ++count_;
  is_computing_ = false;
  news_.notify_all();
  if (failure && parts.empty()) std::rethrow_exception(failure);
}

void EncoderPasses::encode(std::span<const EncoderInput> texts, FunctionRef<void(size_t, std::span<const float>)> each,
                           const std::function<void(int64_t)>& done) const {
  if (texts.empty()) return;
  std::vector<EncoderText> all;
  for (const EncoderInput& text : texts) all.push_back({text.tokens, text.types});
  encoder_.check(all);  // what is wrong with one request is no other's trouble
  Job job{texts, each, std::vector<size_t>(texts.size())};
  std::iota(job.order.begin(), job.order.end(), size_t{0});
  std::stable_sort(job.order.begin(), job.order.end(),
                   [&](size_t a, size_t b) { return texts[a].tokens.size() > texts[b].tokens.size(); });
  std::unique_lock lock(mutex_);
  const auto place = jobs_.insert(jobs_.end(), &job);
  const auto leave = [&] {
    jobs_.erase(place);
    news_.wait(lock, [&] { return job.in_pass == 0; });
  };
  int64_t told = 0;
  try {
    while (told < std::ssize(texts)) {
      news_.wait(lock,
                 [&] { return job.failure || told < job.finished || (!is_computing_ && job.next < job.order.size()); });
      if (job.failure) std::rethrow_exception(job.failure);
      if (told == job.finished) {
        lead(lock);
        continue;
      }
      told = job.finished;
      if (!done) continue;
      lock.unlock();
      done(told);
      lock.lock();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    leave();
    throw;
  }
  leave();
}

int64_t EncoderPasses::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void check_finite(const Tensor& values, const std::string& model) {
  const float* const begin = values.data<float>();
  if (std::all_of(begin, begin + values.numel(), [](float x) { return std::isfinite(x); })) return;
  throw Error(ErrorCode::kBadFile, cat(model, " computes values that are no numbers: its weights are damaged"));
}

}  // namespace wick
