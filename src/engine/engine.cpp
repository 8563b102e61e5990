#include "engine/engine.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "engine/compute_mutex.h"

namespace wick {
namespace {

using Lock = std::lock_guard<std::mutex>;

constexpr int64_t kSettledSteps = 8;  // passes after which an engine is taken to be used for long

Error no_memory(std::string_view what) { return {ErrorCode::kOutOfMemory, cat("there was no memory for ", what)}; }

double seconds_between(EngineClock::time_point from, EngineClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

Engine::Engine(const LanguageModel& model, const EngineOptions& options, int64_t context)
    : model_(model),
      options_(options),
      memory_(model, options_, context),
      scheduler_(options_, memory_),
      runner_(model, memory_.cache()) {}

Engine::~Engine() { end_all(); }

int64_t Engine::kv_bytes() const { return memory_.total() * memory_.cache().bytes_per_block(); }

// plan → forward → take → emit. On a GPU, the pass behind this one is started before this one is taken, and listeners
// are notified while the device computes.
bool Engine::step() {
  std::unique_lock computing(compute_mutex(), std::defer_lock);
  if (options_.locks_compute) computing.lock();
  const auto start = EngineClock::now();
  Tasks tasks;  // of the pass; outlive their sequences
  if (is_in_doubt_) start_over();
  try {
    std::optional<Step> step = take_ahead();
    if (!step) step = plan();
    const bool emits_late = !step->plan.empty() && may_emit_late();
    if (!emits_late) emit();
    if (step->plan.empty()) return false;
    tasks = tasks_of(step->plan);
    const ArenaScope scope(arena_);
    forward(*step);
    run_ahead(*step);
    if (emits_late) emit();
    for (const auto& pass : step->passes) pass->fetch();
    take(*step, tasks, seconds_between(start, EngineClock::now()));
    if (ahead_ || !may_emit_late()) emit();
  } catch (const Error& error) {
    fail_all(tasks, error);
  } catch (const std::bad_alloc&) {
    is_in_doubt_ = true;
    fail_all(tasks, no_memory("a pass"));
    start_over();
  }
  return true;
}

Engine::Step Engine::plan() {
  const Lock lock(state_mutex_);
  take_in();
  end_late();
  Step step{scheduler_.plan(), {}};
  note_busy();
  return step;
}

// Has each runner start its part, and drafts before that.
void Engine::forward(Step& step) {
  if (!step.passes.empty()) return;
  draft(step.plan);
  StepPlan rest = step.plan;
  while (!rest.empty()) {
    Runner* const runner = rest.front().sequence->task->runner();
    const auto others = std::stable_partition(
        rest.begin(), rest.end(), [&](const Planned& planned) { return planned.sequence->task->runner() == runner; });
    step.passes.push_back((runner ? runner : &runner_)->start({rest.begin(), others}));
    rest.erase(rest.begin(), others);
  }
}

// Gives what was computed to the tasks, then settles memory, then lets tasks fork, drop and end.
void Engine::take(const Step& step, const Tasks& tasks, double seconds) {
  const Lock lock(state_mutex_);
  if (++counters_.steps == kSettledSteps) settle_in();
  counters_.busy_seconds += last_seconds_ = seconds;
  last_prefill_tokens_ = last_decode_tokens_ = 0;
  for (const auto& pass : step.passes) {
    if (!pass->is_followed()) stay_back();
  }
  std::vector<std::pair<std::shared_ptr<Task>, Error>> failed;
  StepPlan plan;
  std::vector<int64_t> accepted;
  for (const auto& pass : step.passes) {
    for (size_t i = 0; i < pass->plan().size(); ++i) {
      Sequence& sequence = *pass->plan()[i].sequence;
      const bool is_decode = sequence.phase == SequencePhase::kDecode;
      (is_decode ? last_decode_tokens_ : last_prefill_tokens_) += pass->plan()[i].tokens;
      counters_.drafted_tokens += static_cast<int64_t>(sequence.draft.size());
      if (!std::exchange(sequence.has_run, true)) counters_.reused_tokens += sequence.computed;
      plan.push_back(pass->plan()[i]);
      accepted.push_back(0);
      try {
        counters_.accepted_tokens += accepted.back() = pass->take(i, *this);
      } catch (const Error& error) {
        failed.emplace_back(sequence.task, error);
      }
    }
  }
  counters_.prefill_tokens += last_prefill_tokens_;
  scheduler_.commit(plan, accepted, seconds);
  for (const auto& [task, error] : failed) fail(task, error);
  settle(tasks);
  if (ahead_ && ahead_->plan.empty()) ahead_.reset();
  note_busy();
}

void Engine::settle(const Tasks& tasks) {
  for (const auto& task : tasks) {
    if (!task->is_open) continue;
    current_ = task;
    try {
      task->settle(*this);
    } catch (const Error& error) {
      fail(task, error);
      continue;
    }
    tasks_.notify_later(task);
    if (!task->is_over()) continue;
    ++counters_.finished;
    close(task);
  }
  current_.reset();
}

void Engine::emit() {
  const Lock lock(state_mutex_);
  tasks_.notify();
}

Engine::Tasks Engine::tasks_of(const StepPlan& plan) {
  Tasks tasks;
  for (const Planned& planned : plan) {
    const std::shared_ptr<Task>& task = planned.sequence->task;
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
  }
  return tasks;
}

Sequence& Engine::add(std::unique_ptr<Sequence> sequence) {
  sequence->task = current_;
  counters_.prompt_tokens += sequence->prompt_tokens;
  return scheduler_.add(std::move(sequence), seconds_between(began_, current_->arrived));
}

Sequence& Engine::fork(const Sequence& from, std::unique_ptr<Sequence> sequence) {
  sequence->task = from.task;
  sequence->prompt_tokens = from.prompt_tokens;
  return scheduler_.add_fork(from, std::move(sequence));
}

void Engine::yielded(Sequence& sequence) {
  ++counters_.generated_tokens;
  const auto now = EngineClock::now();
  if (!sequence.first_yield) {
    sequence.first_yield = now;
    if (sequence.index == 0) scheduler_.first_token_after(seconds_between(sequence.task->arrived, now));
  } else {
    scheduler_.next_token_after(seconds_between(*sequence.last_yield, now));
  }
  sequence.last_yield = now;
}

std::optional<RequestId> Engine::submit(std::shared_ptr<Task> task) {
  const std::string client = task->client().name;
  const Lock lock(inbox_mutex_);
  if (is_stopping_ || !has_place_for(client)) {
    ++turned_away_;
    return std::nullopt;
  }
  ++waiting_of_[client];
  const RequestId id = task->id = ++last_id_;
  task->arrived = EngineClock::now();
  submissions_.push_back(std::move(task));
  news_.notify_one();
  return id;
}

// A client who finds the queue filled by others still gets an even part of it.
bool Engine::has_place_for(const std::string& client) const {
  const int64_t all = waiting_ + std::ssize(submissions_);
  if (all < options_.max_waiting) return true;
  const auto found = waiting_of_.find(client);
  const int64_t mine = found == waiting_of_.end() ? 0 : found->second;
  const int64_t clients = std::ssize(waiting_of_) + (mine == 0);
  return mine < options_.max_waiting / clients && all < 2 * options_.max_waiting;
}

void Engine::cancel(RequestId id) {
  const Lock lock(inbox_mutex_);
  cancels_.push_back(id);
  news_.notify_one();
}

void Engine::take_in() {
  Tasks submissions;
  std::vector<RequestId> cancels;
  {
    const Lock lock(inbox_mutex_);
    submissions.swap(submissions_);
    cancels.swap(cancels_);
  }
  for (std::shared_ptr<Task>& task : submissions) {
    ++counters_.submitted;
    current_ = std::move(task);
    try {
      if (tasks_.try_join(*current_)) {
        ++counters_.coalesced;
        continue;
      }
      tasks_.open(current_);
      current_->begin(*this);
    } catch (const std::bad_alloc&) {
      current_->is_open = true;
      fail(current_, no_memory("the request"));
    }
  }
  current_.reset();  // a listener may hold the engine
  for (const RequestId id : cancels) {
    const std::shared_ptr<Task> task = tasks_.find(id);
    if (task && task->try_leave(id)) {
      tasks_.leave(id);
    } else if (task) {
      end(task, StopReason::kCancelled);
    }
  }
}

void Engine::end_late() {
  const auto now = EngineClock::now();
  Tasks late;
  for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
    for (const auto& sequence : *list) {
      const auto deadline = sequence->task->deadline();
      if (deadline && *deadline <= now) late.push_back(sequence->task);
    }
  }
  for (const auto& task : late) {
    if (task->is_open) end(task, StopReason::kDeadline);
  }
}

void Engine::end(const std::shared_ptr<Task>& task, StopReason reason) {
  task->end(reason);
  ++(reason == StopReason::kCancelled ? counters_.cancelled : counters_.finished);
  tasks_.notify_later(task);
  close(task);
}

void Engine::fail(const std::shared_ptr<Task>& task, const Error& error) {
  if (!task->is_open) return;  // has failed already
  task->fail(error);
  ++counters_.failed;
  tasks_.notify_later(task);
  close(task, false);
}

void Engine::fail_all(const Tasks& tasks, const Error& error) {
  const Lock lock(state_mutex_);
  stay_back();
  for (const auto& task : tasks) fail(task, error);
  tasks_.notify();
  note_busy();
}

// Whoever has begun fails, and nothing is kept of what they had: it may have been left halfway.
void Engine::start_over() {
  Tasks tasks;
  {
    const Lock lock(state_mutex_);
    for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
      for (const auto& sequence : *list) {
        const bool has_begun = sequence->phase != SequencePhase::kWaiting || sequence->computed > 0;
        if (has_begun || !sequence->blocks.empty()) tasks.push_back(sequence->task);
      }
    }
  }
  fail_all(tasks, no_memory("a pass"));
  const Lock lock(state_mutex_);
  memory_.forget();
  is_in_doubt_ = false;
}

void Engine::close(const std::shared_ptr<Task>& task, bool is_sound) {
  std::vector<Sequence*> sequences;
  for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
    for (const auto& sequence : *list) {
      if (sequence->task == task) sequences.push_back(sequence.get());
    }
  }
  for (Sequence* sequence : sequences) remove(*sequence, is_sound);
  const double seconds = seconds_between(task->arrived, EngineClock::now());
  service_seconds_ = service_seconds_ == 0 ? seconds : 0.9 * service_seconds_ + 0.1 * seconds;
  tasks_.close(task);
}

void Engine::remove(Sequence& sequence, bool is_sound) {
  if (ahead_) {
    std::erase_if(ahead_->plan, [&](const Planned& planned) { return planned.sequence == &sequence; });
    for (const auto& pass : ahead_->passes) pass->leave(sequence);
  }
  scheduler_.remove(sequence, is_sound);
}

void Engine::end_all() {
  const Lock lock(state_mutex_);
  stay_back();
  take_in();
  while (!scheduler_.empty()) {
    const auto& list = scheduler_.running().empty() ? scheduler_.waiting() : scheduler_.running();
    end(std::shared_ptr<Task>(list.back()->task), StopReason::kCancelled);
  }
  tasks_.notify();
  note_busy();
}

void Engine::run_until(FunctionRef<bool()> is_done) {
  while (true) {
    const std::lock_guard lock(steps_mutex_);
    if (is_done()) return;
    step();
  }
}

bool Engine::wait() {
  std::unique_lock lock(inbox_mutex_);
  news_.wait(lock, [&] { return is_stopping_ || is_busy_ || !submissions_.empty() || !cancels_.empty(); });
  return !is_stopping_;
}

void Engine::stop() {
  const Lock lock(inbox_mutex_);
  is_stopping_ = true;
  news_.notify_all();
}

bool Engine::is_idle() const {
  const Lock lock(inbox_mutex_);
  return !is_busy_ && submissions_.empty();
}

void Engine::note_busy() {
  const Lock inbox(inbox_mutex_);
  is_busy_ = !scheduler_.empty();
  waiting_ = 0;
  waiting_of_.clear();
  for (const auto& sequence : scheduler_.waiting()) {
    if (sequence->phase != SequencePhase::kWaiting) continue;  // was preempted: its request has begun
    ++waiting_;
    ++waiting_of_[sequence->client->client];
  }
  for (const auto& task : submissions_) ++waiting_of_[task->client().name];
}

EngineThread::EngineThread(Engine& engine)
    : engine_(engine), thread_([&engine] {
        while (engine.wait()) {
          try {
            engine.step();
          } catch (const std::bad_alloc&) {  // not even for saying so: later there may be
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
        }
      }) {}

EngineThread::~EngineThread() {
  engine_.stop();
  thread_.join();
}

}  // namespace wick
