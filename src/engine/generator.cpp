#include "engine/generator.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "engine/logits.h"
#include "nn/kv_blocks_for.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kSettledTokens = 8;  // an answer of more is taken to be a long one
constexpr int64_t kFirstChunk = 32;   // tokens, while it is not known how long a pass takes; and the least

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int64_t blocks_for(const TextModel& model, int64_t context) {
  return model.model().facts().kv_layers.empty() ? 0 : kv_blocks_for(context);
}

}  // namespace

Generator::Generator(std::shared_ptr<const TextModel> model, const GeneratorOptions& options)
    : model_(std::move(model)),
      context_(context_of(*model_, options.context)),
      prefill_chunk_(std::max<int64_t>(options.prefill_chunk, 1)),
      seconds_per_pass_(options.seconds_per_pass),
      cache_(model_->model().facts().kv_layers, blocks_for(*model_, context_), options.kv_dtype,
             model_->model().device()),
      pool_(cache_.blocks()),
      state_(model_->model().new_state()) {}

void Generator::forget() {
  tokens_.clear();
  pool_.shrink(blocks_, 0);
  state_ = model_->model().new_state();
}

void Generator::keep_prefix(std::span<const int32_t> prompt, bool everything_again) {
  const auto [mine, theirs] = std::mismatch(tokens_.begin(), tokens_.end(), prompt.begin(), prompt.end());
  // The last token is always run again: its logits are wanted.
  auto common = std::min<size_t>(static_cast<size_t>(mine - tokens_.begin()), prompt.size() - 1);
  // A recurrent state cannot be wound back.
  if (everything_again || (!state_.empty() && common != tokens_.size())) common = 0;
  if (common == 0) return forget();
  tokens_.resize(common);
  pool_.shrink(blocks_, static_cast<int64_t>(common));
}

int64_t Generator::next_chunk() const {
  if (seconds_per_pass_ <= 0) return prefill_chunk_;
  const auto affordable = static_cast<int64_t>(std::min(prefill_rate_ * seconds_per_pass_, 1e9));
  return std::clamp(affordable, std::min(kFirstChunk, prefill_chunk_), prefill_chunk_);
}

Tensor Generator::forward(std::span<const int32_t> tokens, int64_t logit_rows, const SequenceHooks* hooks,
                          const Tensor& drawn) {
  const auto position = static_cast<int64_t>(tokens_.size()), count = static_cast<int64_t>(tokens.size());
  if (cache_.layers() > 0 && !pool_.try_grow(blocks_, position + count)) {
    throw Error(ErrorCode::kInternal, cat("the cache has no room for position ", position + count));
  }
  batch_.clear();
  batch_.tokens.assign(tokens.begin(), tokens.end());
  batch_.drawn = drawn;
  batch_.sequences.push_back({count, position, blocks_, state_.empty() ? nullptr : &state_, hooks});
  for (int64_t row = count - logit_rows; row < count; ++row) batch_.logit_rows.push_back(row);
  Tensor logits = model_->model().forward(batch_, cache_);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return logits;
}

// One answer, from prompt to end.
class Generator::Run {
 public:
  Run(Generator& generator, std::span<const int32_t> prompt, const GenerateParams& params, GenerateCallback callback)
      : generator_(generator),
        params_(params),
        callback_(callback),
        prompt_(check_prompt(*generator.model_, prompt, generator.context_)),
        answer_(*generator.model_, params, prompt),
        hooks_{&params.hooks, params.capture} {
    result_.prompt_tokens = static_cast<int64_t>(prompt.size());
  }

  GenerateResult run() {
    Clock::time_point start = Clock::now();
    prefill();
    result_.prefill_seconds = seconds_since(start);
    start = Clock::now();
    while (!answer_.is_over()) step();
    stay_back();
    result_.decode_seconds = seconds_since(start);
    finish();
    return std::move(result_);
  }

 private:
  const SequenceHooks* hooks() const { return params_.hooks.empty() ? nullptr : &hooks_; }
  int64_t room() const { return generator_.context_ - static_cast<int64_t>(generator_.tokens_.size()); }

  // Reads the prompt in chunks and chooses the first token.
  void prefill() {
    // Hooks see every token, so nothing of the past can be used again.
    generator_.keep_prefix(prompt_, hooks() != nullptr);
    result_.reused_tokens = static_cast<int64_t>(generator_.tokens_.size());
    const auto total = static_cast<int64_t>(prompt_.size());
    for (int64_t done = result_.reused_tokens; done < total;) {
      const int64_t count = std::min(generator_.next_chunk(), total - done);
      const Clock::time_point start = Clock::now();
      const bool last = done + count == total && answer_.wants_tokens();
      const ArenaScope scope(generator_.arena_);
      const Tensor logits =
          generator_.forward(prompt_.subspan(static_cast<size_t>(done), static_cast<size_t>(count)), last, hooks());
      done += count;
      generator_.prefill_rate_ = static_cast<double>(count) / std::max(seconds_since(start), 1e-9);
      GenerateEvent event{GenerateEvent::Kind::kPrefill};
      event.done = done;
      event.total = total;
      if (!callback_(event)) return answer_.end(StopReason::kCancelled);
      if (last) {
        Logits row(logits, draws(1));
        row.fetch();
        take(row, 0);
      }
    }
    if (!answer_.wants_tokens()) answer_.end(StopReason::kLength);
  }

  void step() {
    if (!ahead_) return step_with_guesses();
    Logits logits = std::move(*ahead_);
    ahead_.reset();
    generator_.tokens_.back() = answer_.tokens().back();
    const ArenaScope scope(generator_.arena_);
    run_ahead(logits);
    take_first(logits);
  }

  // Starts the pass for the token that is being drawn, if it will be needed unless the answer ends there.
  void run_ahead(const Logits& logits) {
    const ModelFacts& facts = generator_.model_->model().facts();
    const Tensor drawn = logits.drawn();
    if (!drawn.defined() || drawn.numel() != 1 || !facts.takes_drawn || facts.recurrent || params_.drafter || hooks() ||
        answer_.tokens_left() < 2 || room() < 1) {
      return;
    }
    draws_.clear();
    answer_.add_draw(1, draws_);
    if (draws_.rows.back().needs_row) return;
    constexpr int32_t kUnknown[] = {0};
    ahead_.emplace(generator_.forward(kUnknown, 1, nullptr, drawn), draws_);
  }
  void stay_back() {
    if (!ahead_) return;
    ahead_.reset();
    wind_back(generator_.tokens_.size() - 1, 0, {});
  }
  int32_t take_first(Logits& logits) {
    logits.fetch();
    if (!logits.all_drawn()) stay_back();  // the host chooses another token than the device took
    return take(logits, 0);
  }

  // One pass: the last token and what a drafter guesses behind it.
  void step_with_guesses() {
    if (room() < 1) return answer_.end(StopReason::kContextFull);
    pending_.assign(1, answer_.tokens().back());
    if (params_.drafter && !hooks()) draft();  // hooks must not see guesses that turn out wrong
    if (answer_.tokens().size() == kSettledTokens) generator_.model_->use_large_pages();
    const RecurrentState before = pending_.size() > 1 ? generator_.state_.clone() : RecurrentState();
    const auto start = generator_.tokens_.size();
    const ArenaScope scope(generator_.arena_);
    const auto rows = static_cast<int64_t>(pending_.size());
    Tensor all = generator_.forward(pending_, rows, hooks());
    Logits logits(std::move(all), draws(rows));  // which are planned while a GPU computes them
    run_ahead(logits);
    int64_t row = 0;
    while (true) {
      const int32_t token = row == 0 ? take_first(logits) : take(logits, row);
      ++row;
      if (answer_.is_over() || row == rows || pending_[static_cast<size_t>(row)] != token) break;
      ++result_.accepted;
    }
    if (row < rows) wind_back(start, row, before);
  }

  const TokenDraws& draws(int64_t rows) {
    draws_.clear();
    if (!Logits::can_draw(generator_.model_->model())) return draws_;
    for (int64_t ahead = 0; ahead < rows; ++ahead) answer_.add_draw(ahead, draws_);
    return draws_;
  }

  void draft() {
    std::vector<int32_t> text(prompt_.begin(), prompt_.end());
    text.insert(text.end(), answer_.tokens().begin(), answer_.tokens().end());
    const int64_t most = std::min({params_.draft_tokens, room() - 1, answer_.tokens_left() - 1});
    if (most < 1) return;
    for (const int32_t token : params_.drafter->propose(text, most)) {
      pending_.push_back(token);
      ++result_.drafted;
    }
  }

  // Of the last pass only the first `kept` tokens were right.
  void wind_back(size_t start, int64_t kept, const RecurrentState& before) {
    Generator& g = generator_;
    g.tokens_.resize(start + static_cast<size_t>(kept));
    if (g.cache_.layers() > 0) g.pool_.shrink(g.blocks_, static_cast<int64_t>(g.tokens_.size()));
    if (before.empty()) return;
    g.state_ = before;
    g.tokens_.resize(start);
    g.forward(std::span(pending_).first(static_cast<size_t>(kept)), 0, nullptr);
  }

  // Chooses from one row of logits and tells about it.
  int32_t take(const Logits& logits, int64_t row) {
    const Answer::Step step = answer_.take(logits.row(row));
    if (step.is_shown) {
      GenerateEvent event{GenerateEvent::Kind::kToken};
      event.token = &step.choice;
      event.text = step.text;
      if (!callback_(event)) answer_.end(StopReason::kCancelled);
    }
    return step.choice.token;
  }

  void finish() {
    const std::string rest = answer_.finish(result_);
    GenerateEvent event{GenerateEvent::Kind::kDone};
    event.text = rest;
    event.result = &result_;
    callback_(event);
  }

  Generator& generator_;
  const GenerateParams& params_;
  GenerateCallback callback_;
  std::span<const int32_t> prompt_;
  Answer answer_;
  SequenceHooks hooks_;
  std::vector<int32_t> pending_;
  TokenDraws draws_;
  std::optional<Logits> ahead_;  // of the pass behind the last one, where it did not have to wait for its token
  GenerateResult result_;
};

GenerateResult Generator::generate(std::span<const int32_t> prompt, const GenerateParams& params,
                                   GenerateCallback callback) {
  try {
    return Run(*this, prompt, params, callback).run();
  } catch (...) {
    forget();  // what is in the cache may be half a pass
    throw;
  }
}

GenerateResult Generator::generate(std::span<const int32_t> prompt, const GenerateParams& params) {
  return generate(prompt, params, [](const GenerateEvent&) { return true; });
}

void Generator::score(std::span<const int32_t> tokens, FunctionRef<void(int64_t, const Tensor&)> each) {
  const auto total = static_cast<int64_t>(tokens.size());
  if (total > context_) {
    throw Error(ErrorCode::kInvalidArgument, cat("the text has ", total, " tokens, the context ", context_));
  }
  forget();
  model_->use_large_pages();
  for (int64_t done = 0; done < total;) {
    const int64_t count = std::min(prefill_chunk_, total - done);
    const ArenaScope scope(arena_);
    each(done, forward(tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(count)), count, nullptr));
    done += count;
  }
}

}  // namespace wick
