#include "engine/text/text_task.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "engine/text/prompt_embeddings.h"
#include "models/vision/vision_encoder.h"

namespace wick {
namespace {

constexpr int64_t kMostChoices = 128;
constexpr int64_t kScoredChunk = 64;  // tokens of a prompt at a time whose logits are all wanted

double seconds_between(EngineClock::time_point from, EngineClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// What hooks see or change is for one listener, and a deadline is one's own.
bool may_be_joined(const EngineRequest& request) { return request.hooks.empty() && !request.deadline; }

// Keys and values are those of the adapters, too.
std::string salt_of(const EngineRequest& request) {
  if (!request.adapters) return request.cache_salt;
  std::string salt = "adapters";
  for (const int64_t adapter : *request.adapters) salt += cat(" ", adapter);
  return cat(salt, "\n", request.cache_salt);
}

// Tokens that stand for rows of pictures mean nothing without them.
void check_picture_tokens(const PictureTokens& known, const EngineRequest& request) {
  auto given = request.embeddings.begin();
  for (int64_t i = 0; i < std::ssize(request.prompt); ++i) {
    while (given != request.embeddings.end() && given->rows.defined() && given->position + given->rows.dim(0) <= i)
      ++given;
    const int32_t token = request.prompt[static_cast<size_t>(i)];
    const bool is_covered = given != request.embeddings.end() && given->position <= i;
    if (is_covered || (token != known.picture && token != known.video)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                cat("token ", token, " at position ", i, " stands for a picture, and none is given there"));
  }
}

void check(const TextTools& tools, const EngineRequest& request) {
  TextSource::check(tools.model, request, tools.context);
  if (const VisionEncoder* vision = tools.model.model().vision()) check_picture_tokens(vision->facts().tokens, request);
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
}

// Keeps the adapters that a request names; throws Error(kInvalidArgument) where there is none of a number.
std::vector<AdapterSlots::Hold> held(const TextTools& tools, const EngineRequest& request) {
  std::vector<AdapterSlots::Hold> holds;
  for (const int64_t adapter : request.adapters.value_or(std::vector<int64_t>())) {
    holds.push_back(tools.model.model().adapters().hold(adapter));
    if (!holds.back()) throw Error(ErrorCode::kInvalidArgument, cat("there is no adapter ", adapter));
  }
  return holds;
}

}  // namespace

TextTask::TextTask(const TextTools& tools, EngineRequest wanted, RequestListener listener)
    : tools_(tools),
      wanted_((check(tools, wanted), std::move(wanted))),
      adapter_holds_(held(tools, wanted_)),
      source_(tools.model, wanted_, tools.state_dtype),
      first_listener_(std::move(listener)),
      listeners_(tools.joins_equal && may_be_joined(wanted_)),
      choices_left_(wanted_.choices),
      salt_(salt_of(wanted_)) {
  add_choice();
  name_embeddings(wanted_.prompt, wanted_.embeddings, tools_.model.model());
}

int64_t TextTask::prompt_tokens() const { return std::ssize(source_.is_there() ? source_.tokens() : wanted_.prompt); }

TextTask::Choice& TextTask::add_choice() {
  GenerationParams params = wanted_.params;
  params.sampling.seed += choices_.size();
  choices_.push_back(std::make_unique<Choice>(Generation(tools_.model, params, wanted_.prompt)));
  Choice& choice = *choices_.back();
  choice.hooks = {&wanted_.hooks, wanted_.capture.get(), &choice.hook_error};
  choice.result.prompt_tokens = prompt_tokens();
  return choice;
}

void TextTask::begin(TaskHost& host) {
  listeners_.add(id, std::move(first_listener_));
  auto sequence = std::make_unique<Sequence>();
  sequence->tokens = wanted_.prompt;
  sequence->prompt_tokens = static_cast<int64_t>(wanted_.prompt.size());
  // Hooks must not see drafts that turn out wrong, and rows of embeddings cannot be drafted from.
  if (wanted_.hooks.empty() && wanted_.embeddings.empty()) {
    sequence->drafter = wanted_.drafter ? wanted_.drafter.get() : tools_.drafter;
  }
  choices_.front()->sequence = &host.add(std::move(sequence));
}

int64_t TextTask::most_per_pass() const { return wanted_.prompt_logprobs ? kScoredChunk : Task::most_per_pass(); }

int64_t TextTask::cut(const Sequence& sequence, int64_t end) const {
  for (const InputEmbeddings& given : wanted_.embeddings) {
    const int64_t last = given.position + given.rows.dim(0);
    if (given.is_whole && given.position < end && end < last)
      return given.position > sequence.computed ? given.position : last;
  }
  return end;
}

int64_t TextTask::most_drafted(const Sequence& sequence) const {
  return std::min(wanted_.draft_tokens > 0 ? wanted_.draft_tokens : tools_.draft_tokens,
                  choice_of(sequence).generation.tokens_left() - 1);
}

bool TextTask::goes_on(const Sequence& sequence) const {
  return has_all_choices() && choice_of(sequence).generation.tokens_left() > 1;
}

const SequenceHooks* TextTask::hooks(const Sequence& sequence) const {
  return wanted_.hooks.empty() ? nullptr : &choice_of(sequence).hooks;
}

RowsWanted TextTask::prepare(const Planned& planned) {
  const Sequence& sequence = *planned.sequence;
  Choice& choice = choice_of(sequence);
  if (!choice.started) {
    choice.started = EngineClock::now();
    choice.result.reused_tokens = sequence.computed;
  }
  choice.result.drafted += static_cast<int64_t>(sequence.draft.size());
  RowsWanted wanted;
  if (planned.reaches_end() && choice.generation.wants_tokens()) {
    wanted.chosen = 1 + static_cast<int64_t>(sequence.draft.size());
  }
  if (wanted_.prompt_logprobs) {  // of all tokens but the last
    wanted.scored = std::clamp<int64_t>(sequence.prompt_tokens - 1 - sequence.computed, 0, planned.tokens);
  }
  return wanted;
}

void TextTask::add_draws(const Planned& planned, const RowsWanted& wanted, TokenDraws& to) {
  if (!has_all_choices()) return LanguageTask::add_draws(planned, wanted, to);  // others begin with the same logits
  LanguageTask::add_draws(planned, {wanted.scored, 0}, to);
  for (int64_t row = 0; row < wanted.chosen; ++row) choice_of(*planned.sequence).generation.add_draw(row, to);
}

bool TextTask::add_draw_behind(const Planned& planned, TokenDraws& to) {
  choice_of(*planned.sequence).generation.add_draw(1, to);
  return !to.rows.back().needs_row;
}

int64_t TextTask::take(const Planned& planned, const PartLogits& rows, TaskHost& host) {
  Sequence& sequence = *planned.sequence;
  Choice& choice = choice_of(sequence);
  if (choice.hook_error) throw *choice.hook_error;
  score_prompt(planned, rows);
  note_progress(planned);
  if (rows.count.chosen > 0 && !has_all_choices()) first_logits_ = rows.chosen(0);
  int64_t accepted = 0;
  for (int64_t row = 0; row < rows.count.chosen; ++row) {
    const size_t before = sequence.tokens.size();
    choose(choice, rows.chosen(row), host);
    const bool was_drafted = row + 1 < rows.count.chosen && sequence.tokens.size() > before &&
                             sequence.draft[static_cast<size_t>(row)] == sequence.tokens.back();
    if (choice.generation.is_over() || !was_drafted) break;
    ++accepted;
  }
  choice.result.accepted += accepted;
  return accepted;
}

// How likely the prompt's tokens were, each seen from the one before it; of the first there is nothing to say.
void TextTask::score_prompt(const Planned& planned, const PartLogits& rows) {
  for (int64_t row = 0; row < rows.count.scored; ++row) {
    const int64_t position = planned.sequence->computed + row + 1;
    if (position <= static_cast<int64_t>(prompt_logprobs_.size())) continue;  // recomputed after a preemption
    SampledToken sampled;
    sampled.token = wanted_.prompt[static_cast<size_t>(position)];
    report_logprobs(rows.scored(row).logits, *wanted_.prompt_logprobs, sampled);
    prompt_logprobs_.push_back(std::move(sampled));
  }
}

void TextTask::note_progress(const Planned& planned) {
  const int64_t total = planned.sequence->prompt_tokens;
  const int64_t done = std::min(planned.sequence->computed + planned.tokens, total);
  if (done <= prompt_done_) return;
  prompt_done_ = done;
  listeners_.add_progress(done, total, wanted_.prompt_logprobs && done == total ? &prompt_logprobs_ : nullptr);
}

void TextTask::choose(Choice& choice, const TokenLogits& logits, TaskHost& host) {
  Generation::Step step = choice.generation.take(logits);
  if (!choice.first_token) choice.first_token = EngineClock::now();
  if (!step.is_shown) return;
  host.yielded(*choice.sequence);
  choice.sequence->tokens.push_back(step.sampled.token);
  listeners_.add_token(choice.sequence->index, std::move(step));
}

void TextTask::settle(TaskHost& host) {
  for (; first_logits_ && !has_all_choices();) {
    const Choice& first = *choices_.front();
    Choice& choice = add_choice();
    choice.started = first.started;
    choice.result = {.prompt_tokens = first.result.prompt_tokens, .reused_tokens = first.result.reused_tokens};
    auto fork = std::make_unique<Sequence>();
    fork->index = static_cast<int64_t>(choices_.size()) - 1;
    fork->tokens = wanted_.prompt;
    fork->drafter = first.sequence->drafter;
    choice.sequence = &host.fork(*first.sequence, std::move(fork));
    choose(choice, *first_logits_, host);
  }
  first_logits_.reset();
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = *choices_[i];
    if (!choice.sequence) continue;
    if (!choice.generation.wants_tokens() && choice.sequence->uncomputed() == 0)
      choice.generation.end(StopReason::kLength);
    if (!choice.generation.is_over() && choice.sequence->computed >= tools_.context) {
      choice.generation.end(StopReason::kContextFull);
    }
    if (!choice.generation.is_over()) continue;
    host.drop(*choice.sequence);
    end_choice(i);
  }
}

void TextTask::end(StopReason reason) {
  for (size_t i = 0; i < choices_.size(); ++i) {
    if (!choices_[i]->sequence) continue;
    choices_[i]->generation.end(reason);
    end_choice(i);
  }
}

void TextTask::end_choice(size_t index) {
  Choice& choice = *choices_[index];
  choice.sequence = nullptr;
  GenerateResult& result = choice.result;
  const std::string rest = choice.generation.finish(result);
  const auto now = EngineClock::now();
  if (choice.started) result.prefill_seconds = seconds_between(*choice.started, choice.first_token.value_or(now));
  if (choice.first_token) result.decode_seconds = seconds_between(*choice.first_token, now);
  listeners_.add_end(static_cast<int64_t>(index), rest, result);
  --choices_left_;
  // Choices that never began end as the one they would have come from.
  for (auto other = static_cast<int64_t>(choices_.size()); index == 0 && other < wanted_.choices; ++other) {
    listeners_.add_end(other, rest, result);
    --choices_left_;
  }
}

void TextTask::fail(const Error& error) {
  has_failed_ = true;
  if (first_listener_) listeners_.add(id, std::move(first_listener_));  // it has not begun
  listeners_.add_error(error);
}

size_t TextTask::key() const {
  if (!tools_.joins_equal || !may_be_joined(wanted_)) return 0;
  const std::vector<int32_t>& prompt = source_.is_there() ? source_.tokens() : wanted_.prompt;
  size_t hash = prompt.size();
  for (const int32_t token : prompt) hash = (hash ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15u;
  return std::max<size_t>(hash, 1);
}

bool TextTask::try_join(Task& equal) {
  auto* const other = dynamic_cast<TextTask*>(&equal);
  if (!other) return false;
  const EngineRequest &a = wanted_, &b = other->wanted_;
  const bool is_equal = salt_ == other->salt_ && a.choices == b.choices && a.priority == b.priority &&
                        a.prompt_logprobs == b.prompt_logprobs && a.params == b.params && a.prompt == b.prompt &&
                        source_.tokens() == other->source_.tokens();
  if (is_equal) listeners_.add(other->id, std::move(other->first_listener_));
  return is_equal;
}

bool TextTask::try_leave(RequestId id) {
  const std::optional<RequestListener> listener = listeners_.remove(id);
  if (!listener) return false;
  for (const auto& choice : choices_) {
    if (!choice->sequence) continue;
    GenerateResult result = choice->result;
    result.tokens = choice->generation.tokens();
    result.text = choice->generation.text();
    result.reason = StopReason::kCancelled;
    RequestEvent event{RequestEvent::Kind::kEnd, choice->sequence->index};
    event.result = &result;
    (*listener)(event);
  }
  return true;
}

}  // namespace wick
