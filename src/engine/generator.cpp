#include "engine/generator.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kFirstChunk = 32;  // tokens, while it is not known how long a pass takes; and the least

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int64_t context_of(const TextModel& model, const GeneratorOptions& options) {
  const int64_t most = model.model().facts().max_context;
  if (options.context < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("a context of ", options.context, " tokens is asked for"));
  }
  if (most > 0 && options.context > most) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a context of ", options.context, " tokens is asked for, ", model.name(), " has ", most));
  }
  if (options.context > 0) return options.context;
  return most > 0 ? std::min(most, kDefaultContext) : kDefaultContext;
}

int64_t blocks_for(const TextModel& model, int64_t context) {
  return model.model().facts().kv_layers.empty() ? 0 : (context + kKvBlockTokens - 1) / kKvBlockTokens;
}

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kEndOfText: return "end of text";
    case StopReason::kStopString: return "stop string";
    case StopReason::kLength: return "length";
    case StopReason::kCancelled: return "cancelled";
    case StopReason::kContextFull: return "context full";
  }
  return "?";
}

double GenerateResult::prefill_rate() const {
  const auto count = static_cast<double>(prompt_tokens - reused_tokens);
  return prefill_seconds > 0 ? count / prefill_seconds : 0;
}

double GenerateResult::decode_rate() const {
  // The first token comes with the prompt.
  const auto count = static_cast<double>(tokens.size()) - 1;
  return decode_seconds > 0 && count > 0 ? count / decode_seconds : 0;
}

Generator::Generator(std::shared_ptr<const TextModel> model, const GeneratorOptions& options)
    : model_(std::move(model)),
      context_(context_of(*model_, options)),
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

Tensor Generator::forward(std::span<const int32_t> tokens, int64_t logit_rows, const SequenceHooks* hooks) {
  const auto position = static_cast<int64_t>(tokens_.size()), count = static_cast<int64_t>(tokens.size());
  if (cache_.layers() > 0 && !pool_.try_grow(blocks_, position + count)) {
    throw Error(ErrorCode::kInternal, cat("the cache has no room for position ", position + count));
  }
  batch_.clear();
  batch_.tokens.assign(tokens.begin(), tokens.end());
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
        model_(*generator.model_),
        params_(params),
        callback_(callback),
        prompt_(prompt),
        sampler_(params.sampling, model_.model().facts().vocabulary,
                 [tokenizer = &model_.tokenizer()](int32_t id) { return tokenizer->bytes(id); }),
        stream_(model_.tokenizer(), params.stop, params.show_special),
        hooks_{&params.hooks, params.capture} {
    check();
    sampler_.start(prompt);
    if (params.grammar) {
      grammar_.emplace(*params.grammar, model_.grammar_vocabulary());
      mask_.resize((static_cast<size_t>(model_.model().facts().vocabulary) + 31) / 32);
    }
    result_.prompt_tokens = static_cast<int64_t>(prompt.size());
  }

  GenerateResult run() {
    Clock::time_point start = Clock::now();
    const bool goes_on = prefill();
    result_.prefill_seconds = seconds_since(start);
    if (goes_on) {
      start = Clock::now();
      while (!finished_) step();
      result_.decode_seconds = seconds_since(start);
    }
    finish();
    return std::move(result_);
  }

 private:
  const SequenceHooks* hooks() const { return params_.hooks.empty() ? nullptr : &hooks_; }
  int64_t room() const { return generator_.context_ - static_cast<int64_t>(generator_.tokens_.size()); }

  void check() const {
    if (prompt_.empty()) throw Error(ErrorCode::kInvalidArgument, "the prompt is empty");
    const int64_t vocabulary = model_.model().facts().vocabulary;
    for (const int32_t token : prompt_) {
      if (token < 0 || token >= vocabulary) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat("token ", token, " of the prompt is outside the vocabulary of ", vocabulary));
      }
    }
    const auto length = static_cast<int64_t>(prompt_.size());
    if (length > generator_.context_) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("the prompt has ", length, " tokens, the context ", generator_.context_));
    }
  }

  // Reads the prompt in chunks and chooses the first token. False when there is nothing more to do.
  bool prefill() {
    // Hooks see every token, so nothing of the past can be used again.
    generator_.keep_prefix(prompt_, hooks() != nullptr);
    result_.reused_tokens = static_cast<int64_t>(generator_.tokens_.size());
    const auto total = static_cast<int64_t>(prompt_.size());
    for (int64_t done = result_.reused_tokens; done < total;) {
      const int64_t count = std::min(generator_.next_chunk(), total - done);
      const Clock::time_point start = Clock::now();
      const bool last = done + count == total && params_.max_new_tokens != 0;
      const ArenaScope scope(generator_.arena_);
      const Tensor logits =
          generator_.forward(prompt_.subspan(static_cast<size_t>(done), static_cast<size_t>(count)), last, hooks());
      done += count;
      generator_.prefill_rate_ = static_cast<double>(count) / std::max(seconds_since(start), 1e-9);
      GenerateEvent event{GenerateEvent::Kind::kPrefill};
      event.done = done;
      event.total = total;
      if (!callback_(event)) return end(StopReason::kCancelled);
      if (last) take(logits, 0);
    }
    if (params_.max_new_tokens == 0) return end(StopReason::kLength);
    return !finished_;
  }

  // One pass: the last token and what a drafter guesses behind it.
  void step() {
    if (room() < 1) {
      end(StopReason::kContextFull);
      return;
    }
    pending_.assign(1, result_.tokens.back());
    if (params_.drafter && !hooks()) draft();  // hooks must not see guesses that turn out wrong
    const RecurrentState before = pending_.size() > 1 ? generator_.state_.clone() : RecurrentState();
    const auto start = generator_.tokens_.size();
    const ArenaScope scope(generator_.arena_);
    const auto rows = static_cast<int64_t>(pending_.size());
    const Tensor logits = generator_.forward(pending_, rows, hooks());
    int64_t row = 0;
    while (true) {
      const int32_t token = take(logits, row++);
      if (finished_ || row == rows || pending_[static_cast<size_t>(row)] != token) break;
      ++result_.accepted;
    }
    if (row < rows) wind_back(start, row, before);
  }

  void draft() {
    std::vector<int32_t> text(prompt_.begin(), prompt_.end());
    text.insert(text.end(), result_.tokens.begin(), result_.tokens.end());
    int64_t most = std::min(params_.draft_tokens, room() - 1);
    if (params_.max_new_tokens > 0) {
      most = std::min(most, params_.max_new_tokens - static_cast<int64_t>(result_.tokens.size()) - 1);
    }
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

  // A model with damaged weights is named as such, with the tensor at fault.
  void check_numbers(std::span<const float> logits) const {
    int bad = 0;  // without leaving early: the compiler then looks at many at once
    for (const float x : logits) bad |= x != x;
    if (bad == 0) return;
    const std::string weight = model_.describe_bad_weight();
    throw Error(ErrorCode::kBadFile, cat(model_.name(), " computes NaN",
                                         weight.empty() ? ", though its weights are numbers" : cat(": ", weight)));
  }

  // Chooses from one row of logits and tells about it.
  int32_t take(const Tensor& logits, int64_t row) {
    const int64_t vocabulary = logits.dim(1);
    const Tensor host = logits.to_device(Device::cpu());
    const std::span<const float> values(host.data<float>() + row * vocabulary, static_cast<size_t>(vocabulary));
    if (grammar_ && !grammar_->mask(mask_)) {
      throw Error(ErrorCode::kInvalidArgument, "no token of the vocabulary continues the text as the grammar asks");
    }
    check_numbers(values);
    const TokenChoice choice = sampler_.sample(values, mask_);
    const bool is_end = model_.is_end(choice.token);
    if (is_end && !params_.ignore_end) {
      end(StopReason::kEndOfText);
      return choice.token;
    }
    sampler_.accept(choice.token);
    if (grammar_) grammar_->accept(choice.token);
    result_.tokens.push_back(choice.token);
    const std::string text = stream_.push(choice.token);
    result_.text += text;
    GenerateEvent event{GenerateEvent::Kind::kToken};
    event.token = &choice;
    event.text = text;
    const bool go_on = callback_(event);
    if (stream_.stopped()) {
      end(StopReason::kStopString);
    } else if (!go_on) {
      end(StopReason::kCancelled);
    } else if (params_.max_new_tokens >= 0 && static_cast<int64_t>(result_.tokens.size()) >= params_.max_new_tokens) {
      end(StopReason::kLength);
    }
    return choice.token;
  }

  bool end(StopReason reason) {
    finished_ = true;
    result_.reason = reason;
    return false;
  }

  void finish() {
    const std::string rest = stream_.finish();
    result_.text += rest;
    if (stream_.stopped()) result_.reason = StopReason::kStopString;
    result_.stop = stream_.found();
    GenerateEvent event{GenerateEvent::Kind::kDone};
    event.text = rest;
    event.result = &result_;
    callback_(event);
  }

  Generator& generator_;
  const TextModel& model_;
  const GenerateParams& params_;
  GenerateCallback callback_;
  std::span<const int32_t> prompt_;
  Sampler sampler_;
  TextStream stream_;
  SequenceHooks hooks_;
  std::optional<GrammarState> grammar_;
  std::vector<uint32_t> mask_;
  std::vector<int32_t> pending_;
  GenerateResult result_;
  bool finished_ = false;
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
  for (int64_t done = 0; done < total;) {
    const int64_t count = std::min(prefill_chunk_, total - done);
    const ArenaScope scope(arena_);
    each(done, forward(tokens.subspan(static_cast<size_t>(done), static_cast<size_t>(count)), count, nullptr));
    done += count;
  }
}

}  // namespace wick
