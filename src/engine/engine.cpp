#include "engine/engine.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "engine/compute_turn.h"
#include "engine/context.h"
#include "engine/prompt_embeddings.h"

namespace wick {
namespace {

using Lock = std::lock_guard<std::mutex>;

constexpr int64_t kMostChoices = 128;
constexpr int64_t kSettledSteps = 8;  // passes after which an engine is taken to be used for long

double seconds_between(EngineClock::time_point from, EngineClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

AnswerParams params_of(const EngineRequest& request, int64_t choice) {
  AnswerParams params = request.params;
  params.sampling.seed += static_cast<uint64_t>(choice);
  return params;
}

}  // namespace

Engine::Engine(std::shared_ptr<const TextModel> model, const EngineOptions& options)
    : model_(std::move(model)),
      options_(options),
      memory_(model_->model(), options_, context_of(*model_, options_.context)),
      scheduler_(options_, memory_),
      book_(options_.joins_equal) {
  if (options_.drafter) drafter_ = options_.drafter(*model_);
}

Engine::~Engine() { end_all(); }

void Engine::end_all() {
  const Lock lock(state_mutex_);
  stay_back();
  take_in();
  while (!scheduler_.empty()) {
    const auto& list = scheduler_.running().empty() ? scheduler_.waiting() : scheduler_.running();
    list.back()->answer->end(StopReason::kCancelled);
    end(*list.back());
  }
  book_.tell_news();
  const Lock inbox(inbox_mutex_);
  is_busy_ = false;
}

int64_t Engine::kv_bytes() const { return memory_.total() * memory_.cache().bytes_per_block(); }

std::optional<RequestId> Engine::submit(EngineRequest request, RequestListener listener) {
  check_prompt(*model_, request.prompt, context());
  if (request.choices < 1 || request.choices > kMostChoices) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(request.choices, " choices are asked for; 1 to ", kMostChoices, " can be"));
  }
  if (request.prompt_logprobs && *request.prompt_logprobs < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat(*request.prompt_logprobs, " log-probabilities are asked for"));
  }
  if (request.prompt_logprobs && !request.embeddings.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "log-probabilities of a prompt with embeddings are asked for");
  }
  if (request.score) request.params.max_new_tokens = 0;
  Answer answer(*model_, request.params, request.prompt);  // what takes long, or throws, is done by who asks
  name_embeddings(request.prompt, request.embeddings, model_->model());
  const Lock lock(inbox_mutex_);
  if (waiting_ + static_cast<int64_t>(submissions_.size()) >= options_.max_waiting || is_stopping_) {
    ++turned_away_;
    return std::nullopt;
  }
  const RequestId id = ++last_id_;
  submissions_.push_back({id, std::move(request), std::move(listener), EngineClock::now(), std::move(answer)});
  news_.notify_one();
  return id;
}

void Engine::cancel(RequestId id) {
  const Lock lock(inbox_mutex_);
  cancels_.push_back(id);
  news_.notify_one();
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

bool Engine::step() {
  std::unique_lock turn(compute_turn(), std::defer_lock);
  if (options_.takes_turns) turn.lock();
  const auto start = EngineClock::now();
  std::optional<Pass> pass = take_ahead();
  const StepPlan plan = pass ? pass->plan : next_plan();
  const bool tells_late = !plan.empty() && may_tell_late();  // while the device computes
  if (!tells_late) tell_news();
  if (plan.empty()) return false;
  std::vector<std::shared_ptr<OpenRequest>> requests;  // outlive the sequences
  for (const Planned& planned : plan) requests.push_back(planned.sequence->request);
  const ArenaScope scope(arena_);
  try {
    if (!pass) {
      draft(plan);
      pass = forward(plan);
    }
    run_ahead(*pass);
    if (tells_late) tell_news();
    pass->logits.fetch();
    if (!pass->logits.all_drawn()) stay_back();  // the host chooses other tokens than the device took
    take_tokens(*pass, seconds_between(start, EngineClock::now()));
    if (ahead_ || !may_tell_late()) tell_news();
    if (ahead_ && ahead_->plan.empty()) ahead_.reset();
  } catch (const Error& error) {
    fail_all(requests, error);
  } catch (const std::bad_alloc&) {
    fail_all(requests, Error(ErrorCode::kOutOfMemory, "there was no memory for a pass"));
  }
  return true;
}

// Listeners of a model on a GPU hear of a pass while the next one is computed, unless there is none, somebody else's
// comes first, or somebody looks at values that it would overwrite.
bool Engine::may_tell_late() const {
  if (model_->model().device() == Device::cpu() || scheduler_.running().empty() || compute_turn().waiting() > 0) {
    return false;
  }
  return std::none_of(scheduler_.running().begin(), scheduler_.running().end(),
                      [](const auto& sequence) { return sequence->request->has_hooks(); });
}

void Engine::tell_news() {
  const Lock lock(state_mutex_);
  book_.tell_news();
}

StepPlan Engine::next_plan() {
  const Lock lock(state_mutex_);
  take_in();
  end_late();
  StepPlan plan = scheduler_.plan();
  const Lock inbox(inbox_mutex_);
  is_busy_ = !scheduler_.empty();
  waiting_ = static_cast<int64_t>(scheduler_.waiting().size());
  return plan;
}

void Engine::take_in() {
  std::vector<Submission> submissions;
  std::vector<RequestId> cancels;
  {
    const Lock lock(inbox_mutex_);
    submissions.swap(submissions_);
    cancels.swap(cancels_);
  }
  for (Submission& submission : submissions) start(std::move(submission));
  end_cancelled(cancels);
}

void Engine::start(Submission submission) {
  ++counters_.submitted;
  counters_.prompt_tokens += static_cast<int64_t>(submission.wanted.prompt.size());
  if (book_.join(submission.wanted, submission.id, submission.listener)) {
    ++counters_.coalesced;
    return;
  }
  auto sequence = std::make_unique<Sequence>();
  sequence->request =
      book_.open(std::move(submission.wanted), submission.id, std::move(submission.listener), submission.arrived);
  const EngineRequest& wanted = sequence->request->wanted;
  sequence->tokens = wanted.prompt;
  sequence->prompt_tokens = sequence->result.prompt_tokens = static_cast<int64_t>(wanted.prompt.size());
  sequence->answer.emplace(std::move(submission.answer));
  sequence->hooks = {&wanted.hooks, wanted.capture.get(), &sequence->hook_error};
  // Hooks must not see drafts that turn out wrong, and rows of embeddings cannot be drafted from.
  if (wanted.hooks.empty() && wanted.embeddings.empty()) {
    sequence->drafter = wanted.drafter ? wanted.drafter.get() : drafter_.get();
  }
  scheduler_.add(std::move(sequence), seconds_between(began_, submission.arrived));
}

void Engine::end_cancelled(const std::vector<RequestId>& ids) {
  for (const RequestId id : ids) {
    const std::shared_ptr<OpenRequest> request = book_.find(id);
    if (!request) continue;
    const std::vector<Sequence*> sequences = sequences_of(*request);
    if (request->listeners.size() > 1) {
      book_.leave(*request, id, sequences);
      continue;
    }
    for (Sequence* sequence : sequences) {
      sequence->answer->end(StopReason::kCancelled);
      end(*sequence);
    }
  }
}

void Engine::end_late() {
  const auto now = EngineClock::now();
  std::vector<Sequence*> late;
  for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
    for (const auto& sequence : *list) {
      const auto& deadline = sequence->request->wanted.deadline;
      if (deadline && *deadline <= now) late.push_back(sequence.get());
    }
  }
  for (Sequence* sequence : late) {
    sequence->answer->end(StopReason::kDeadline);
    end(*sequence);
  }
}

// Has all sequences with the same drafter drafted for at once.
void Engine::draft(const StepPlan& plan) {
  std::vector<Scheduler::DraftRoom> room = scheduler_.draft_room(plan);
  while (!room.empty()) {
    Drafter* const drafter = room.front().sequence->drafter;
    const auto rest = std::stable_partition(room.begin(), room.end(),
                                            [&](const auto& each) { return each.sequence->drafter == drafter; });
    std::vector<Draft> drafts;
    for (auto each = room.begin(); each != rest; ++each) drafts.push_back({each->sequence->tokens, each->most, {}});
    drafter->propose(drafts);
    const Lock lock(state_mutex_);
    for (size_t i = 0; i < drafts.size(); ++i) scheduler_.add_draft(*room[i].sequence, std::move(drafts[i].tokens));
    room.erase(room.begin(), rest);
  }
}

Engine::Pass Engine::forward(const StepPlan& plan) {
  batch_.clear();
  std::vector<LogitRows> logit_rows;
  for (const Planned& planned : plan) {
    Sequence& sequence = *planned.sequence;
    const auto first_row = static_cast<int64_t>(batch_.tokens.size());
    const auto begin = sequence.tokens.begin() + sequence.computed;
    std::transform(begin, begin + planned.tokens, std::back_inserter(batch_.tokens), token_or_place);
    batch_.tokens.insert(batch_.tokens.end(), sequence.draft.begin(), sequence.draft.end());
    const int64_t rows = static_cast<int64_t>(batch_.tokens.size()) - first_row;
    if (!sequence.draft.empty() && !sequence.state.empty()) {
      const ArenaPause keep;
      sequence.before = sequence.state.clone();
    }
    batch_.sequences.push_back(
        {rows, sequence.computed, sequence.blocks, sequence.state.empty() ? nullptr : &sequence.state,
         sequence.request->has_hooks() ? &sequence.hooks : nullptr, sequence.request->wanted.embeddings});
    LogitRows wanted{static_cast<int64_t>(batch_.logit_rows.size())};
    if (planned.reaches_end() && sequence.answer->wants_tokens()) {
      wanted.chosen = 1 + static_cast<int64_t>(sequence.draft.size());
    }
    if (sequence.request->wanted.score) {
      wanted.scored = rows;
    } else if (sequence.request->wanted.prompt_logprobs) {  // of all tokens but the last
      wanted.scored = std::clamp<int64_t>(sequence.prompt_tokens - 1 - sequence.computed, 0, planned.tokens);
    }
    for (int64_t row = 0; row < wanted.scored; ++row) batch_.logit_rows.push_back(first_row + row);
    for (int64_t row = rows - wanted.chosen; row < rows; ++row) batch_.logit_rows.push_back(first_row + row);
    logit_rows.push_back(wanted);
  }
  Tensor logits = model_->model().forward(batch_, memory_.cache());
  plan_draws(plan, logit_rows);  // while a GPU computes them
  return {plan, std::move(logit_rows), {std::move(logits), draws_}};
}

void Engine::plan_draws(const StepPlan& plan, const std::vector<LogitRows>& rows) {
  draws_.clear();
  if (!Logits::can_draw(model_->model())) return;
  constexpr TokenDraw kWhole{.needs_row = true};
  for (size_t i = 0; i < plan.size(); ++i) {
    const OpenRequest& request = *plan[i].sequence->request;
    draws_.rows.insert(draws_.rows.end(), static_cast<size_t>(rows[i].scored), kWhole);
    for (int64_t row = 0; row < rows[i].chosen; ++row) {
      if (request.choices_begun < request.wanted.choices) {  // others begin with the same logits
        draws_.rows.push_back(kWhole);
      } else {
        plan[i].sequence->answer->add_draw(row, draws_);
      }
    }
  }
}

void Engine::take_tokens(const Pass& pass, double seconds) {
  const auto& [plan, logit_rows, logits] = pass;
  const Lock lock(state_mutex_);
  if (++counters_.steps == kSettledSteps) model_->use_large_pages();
  counters_.busy_seconds += last_seconds_ = seconds;
  last_prefill_tokens_ = last_decode_tokens_ = 0;
  std::vector<std::pair<std::shared_ptr<OpenRequest>, Error>> failed;
  std::vector<int64_t> accepted(plan.size());
  for (size_t i = 0; i < plan.size(); ++i) {
    Sequence& sequence = *plan[i].sequence;
    const bool is_decode = sequence.phase == SequencePhase::kDecode;
    (is_decode ? last_decode_tokens_ : last_prefill_tokens_) += plan[i].tokens;
    counters_.drafted_tokens += static_cast<int64_t>(sequence.draft.size());
    sequence.result.drafted += static_cast<int64_t>(sequence.draft.size());
    if (!sequence.started) {
      sequence.started = EngineClock::now() -
                         std::chrono::duration_cast<EngineClock::duration>(std::chrono::duration<double>(seconds));
      sequence.result.reused_tokens = sequence.computed;
      counters_.reused_tokens += sequence.computed;
    }
    try {
      if (sequence.hook_error) throw *sequence.hook_error;
      score_prompt(plan[i], logit_rows[i], logits);
      tell_progress(plan[i]);
      accepted[i] = choose(sequence, logit_rows[i], logits);
    } catch (const Error& error) {
      failed.emplace_back(sequence.request, error);
    }
  }
  counters_.prefill_tokens += last_prefill_tokens_;
  scheduler_.commit(plan, accepted, seconds);
  for (size_t i = 0; i < plan.size(); ++i) {
    Sequence& sequence = *plan[i].sequence;
    if (logit_rows[i].chosen > 0 && sequence.request->choices_begun < sequence.request->wanted.choices) {
      try {
        fork_choices(sequence, logits.row(logit_rows[i].first + logit_rows[i].scored));
      } catch (const Error& error) {
        failed.emplace_back(sequence.request, error);
      }
    }
  }
  for (const auto& [request, error] : failed) fail(request, error);
  std::vector<Sequence*> over;
  for (const auto& sequence : scheduler_.running()) {
    if (!sequence->answer->wants_tokens() && sequence->uncomputed() == 0) sequence->answer->end(StopReason::kLength);
    if (!sequence->answer->is_over() && sequence->computed >= context()) {
      sequence->answer->end(StopReason::kContextFull);
    }
    if (sequence->answer->is_over()) over.push_back(sequence.get());
  }
  for (Sequence* sequence : over) end(*sequence);
  const Lock inbox(inbox_mutex_);
  is_busy_ = !scheduler_.empty();
}

// How likely the prompt's tokens were, each seen from the one before it; of the first there is nothing to say.
void Engine::score_prompt(const Planned& planned, const LogitRows& rows, const Logits& logits) {
  OpenRequest& request = *planned.sequence->request;
  if (request.wanted.score) {
    const int64_t known = std::max<int64_t>(request.prompt_done - planned.sequence->computed, 0);  // before a pause
    std::vector<TokenLogits> all;
    for (int64_t row = known; row < rows.scored; ++row) all.push_back(logits.row(rows.first + row));
    if (!all.empty()) request.wanted.score(planned.sequence->computed + known, all);
    return;
  }
  for (int64_t row = 0; row < rows.scored; ++row) {
    const int64_t position = planned.sequence->computed + row + 1;
    if (position <= static_cast<int64_t>(request.prompt_choices.size())) continue;  // computed again after a pause
    TokenChoice choice;
    choice.token = request.wanted.prompt[static_cast<size_t>(position)];
    report_logprobs(logits.row(rows.first + row).logits, *request.wanted.prompt_logprobs, choice);
    request.prompt_choices.push_back(std::move(choice));
  }
}

void Engine::tell_progress(const Planned& planned) {
  OpenRequest& request = *planned.sequence->request;
  const int64_t done = std::min(planned.sequence->computed + planned.tokens, planned.sequence->prompt_tokens);
  if (done <= request.prompt_done) return;
  request.prompt_done = done;
  book_.add_progress(planned.sequence->request);
}

// Chooses tokens until one is not what was guessed; returns how many guesses were right.
int64_t Engine::choose(Sequence& sequence, const LogitRows& rows, const Logits& logits) {
  for (int64_t row = 0; row < rows.chosen; ++row) {
    const size_t before = sequence.tokens.size();
    choose_one(sequence, logits.row(rows.first + rows.scored + row));
    const bool is_guessed = row + 1 < rows.chosen && sequence.tokens.size() > before &&
                            sequence.draft[static_cast<size_t>(row)] == sequence.tokens.back();
    if (sequence.answer->is_over() || !is_guessed) return row;
    ++sequence.result.accepted;
    ++counters_.accepted_tokens;
  }
  return 0;
}

void Engine::choose_one(Sequence& sequence, const TokenLogits& logits) {
  Answer::Step step = sequence.answer->take(logits);
  note_token(sequence);
  if (!step.is_shown) return;
  ++counters_.generated_tokens;
  sequence.tokens.push_back(step.choice.token);
  book_.add_token(sequence.request, sequence.choice, std::move(step));
}

void Engine::note_token(Sequence& sequence) {
  const auto now = EngineClock::now();
  if (!sequence.first_token) {
    sequence.first_token = now;
    if (sequence.choice == 0) scheduler_.first_token_after(seconds_between(sequence.request->arrived, now));
  } else {
    scheduler_.next_token_after(seconds_between(*sequence.last_token, now));
  }
  sequence.last_token = now;
}

void Engine::fork_choices(Sequence& sequence, const TokenLogits& logits) {
  OpenRequest& request = *sequence.request;
  for (; request.choices_begun < request.wanted.choices; ++request.choices_begun) {
    auto fork = std::make_unique<Sequence>();
    fork->request = sequence.request;
    fork->choice = request.choices_begun;
    fork->tokens = request.wanted.prompt;
    fork->prompt_tokens = sequence.prompt_tokens;
    fork->started = sequence.started;
    fork->result = sequence.result;
    fork->hooks = {sequence.hooks.spec, sequence.hooks.cache, &fork->hook_error};
    fork->drafter = sequence.drafter;
    fork->answer.emplace(*model_, params_of(request.wanted, fork->choice), fork->tokens);
    Sequence& added = scheduler_.add_fork(sequence, std::move(fork));
    choose_one(added, logits);
  }
}

void Engine::end(Sequence& sequence) {
  const std::shared_ptr<OpenRequest> request = sequence.request;
  GenerateResult result = std::move(sequence.result);
  std::string rest = sequence.answer->finish(result);
  const auto now = EngineClock::now();
  if (sequence.started) result.prefill_seconds = seconds_between(*sequence.started, sequence.first_token.value_or(now));
  if (sequence.first_token) result.decode_seconds = seconds_between(*sequence.first_token, now);
  const int64_t choice = sequence.choice;
  remove(sequence);
  book_.add_end(request, choice, rest, result);
  --request->choices_left;
  // Choices that never began end as the one they would have come from.
  for (; choice == 0 && request->choices_begun < request->wanted.choices; ++request->choices_begun) {
    book_.add_end(request, request->choices_begun, rest, result);
    --request->choices_left;
  }
  if (request->choices_left > 0) return;
  ++(result.reason == StopReason::kCancelled ? counters_.cancelled : counters_.finished);
  const double seconds = seconds_between(request->arrived, now);
  service_seconds_ = service_seconds_ == 0 ? seconds : 0.9 * service_seconds_ + 0.1 * seconds;
  book_.close(*request);
}

void Engine::remove(Sequence& sequence, bool is_sound) {
  if (ahead_) ahead_->leave(sequence);
  scheduler_.remove(sequence, is_sound);
}

void Engine::fail(const std::shared_ptr<OpenRequest>& request, const Error& error) {
  if (!book_.find(request->listeners.front().id)) return;  // has failed already
  for (Sequence* sequence : sequences_of(*request)) remove(*sequence, false);
  ++counters_.failed;
  book_.add_error(request, error);
  book_.close(*request);
}

void Engine::fail_all(const std::vector<std::shared_ptr<OpenRequest>>& requests, const Error& error) {
  const Lock lock(state_mutex_);
  stay_back();
  for (const auto& request : requests) fail(request, error);
  book_.tell_news();
  const Lock inbox(inbox_mutex_);
  is_busy_ = !scheduler_.empty();
}

std::vector<Sequence*> Engine::sequences_of(const OpenRequest& request) const {
  std::vector<Sequence*> found;
  for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
    for (const auto& sequence : *list) {
      if (sequence->request.get() == &request) found.push_back(sequence.get());
    }
  }
  return found;
}

EngineThread::EngineThread(Engine& engine)
    : engine_(engine), thread_([&engine] {
        while (engine.wait()) engine.step();
      }) {}

EngineThread::~EngineThread() {
  engine_.stop();
  thread_.join();
}

}  // namespace wick
