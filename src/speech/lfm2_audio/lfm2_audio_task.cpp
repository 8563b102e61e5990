#include "speech/lfm2_audio/lfm2_audio_task.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "models/forward_batch.h"
#include "ops/index.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

std::span<const float> row_of(const Tensor& rows, size_t i) {
  const auto width = static_cast<size_t>(rows.dim(1));
  return {rows.data<float>() + i * width, width};
}

}  // namespace

Lfm2AudioTask::Lfm2AudioTask(Lfm2AudioRunner& runner, Tensor prompt, const Lfm2AudioOptions& options, int64_t context,
                             Lfm2AudioListener listener, Client client, Priority priority)
    : runner_(runner),
      prompt_(std::move(prompt)),
      options_(options),
      text_(options.text, runner.model().config().backbone.vocabulary),
      audio_(options.audio, runner.model().config().audio_entries),
      listener_(std::move(listener)),
      client_(std::move(client)),
      priority_(priority) {
  const int64_t room = context - prompt_.dim(0);
  if (room < 1 || options.most_steps < 1) {
    throw Error(ErrorCode::kInvalidArgument, cat("a prompt of ", prompt_.dim(0),
                                                 " positions leaves no room for an answer in a context of ", context));
  }
  most_steps_ = std::min(room, options.most_steps);
  left_ = runner.model().config().interleaved_text;
}

Runner* Lfm2AudioTask::runner() const { return &runner_; }

void Lfm2AudioTask::begin(TaskHost& host) {
  auto sequence = std::make_unique<Sequence>();
  sequence->tokens.assign(static_cast<size_t>(prompt_.dim(0)), 0);
  sequence->prompt_tokens = std::ssize(sequence->tokens);
  host.add(std::move(sequence));
}

void Lfm2AudioTask::end(StopReason reason) {
  if (!is_over()) reason_ = reason;
}

void Lfm2AudioTask::begin_step() {
  if (options_.turns == AudioTurns::kInterleaved) --left_;
}

int32_t Lfm2AudioTask::draw_token(std::span<const float> logits) {
  const int32_t token = text_.sample(logits).token;
  text_.accept(token);
  return token;
}

int32_t Lfm2AudioTask::draw_code(std::span<const float> logits) {
  const int32_t code = audio_.sample(logits).token;
  audio_.accept(code);
  return code;
}

void Lfm2AudioTask::go_on(Sequence& sequence, Step step, TaskHost& host) {
  news_.push_back(step);
  steps_.push_back(std::move(step));
  sequence.tokens.push_back(1);
  host.yielded(sequence);
  if (std::ssize(steps_) < most_steps_) return;
  end(most_steps_ < options_.most_steps ? StopReason::kContextFull : StopReason::kLength);
}

void Lfm2AudioTask::take_token(Sequence& sequence, int32_t token, TaskHost& host) {
  using Config = Lfm2AudioConfig;
  const bool interleaved = options_.turns == AudioTurns::kInterleaved;
  if (token == Config::kTurnEnd) {
    if (!interleaved) news_.push_back({token});
    return end(StopReason::kEndOfText);
  }
  go_on(sequence, {token}, host);
  if (!interleaved) {
    in_audio_ = token == Config::kAudioStart;
    return;
  }
  if (token == Config::kTextEnd) text_is_over_ = true;
  if (left_ > 0 && !text_is_over_) return;
  in_audio_ = true;
  left_ = runner_.model().config().interleaved_audio;
}

void Lfm2AudioTask::take_frame(Sequence& sequence, Step codes, TaskHost& host) {
  const int32_t last = runner_.model().config().audio_end();
  const bool ends = codes.front() == last;
  if (ends) std::fill(codes.begin(), codes.end(), last);
  go_on(sequence, std::move(codes), host);
  if (options_.turns == AudioTurns::kInterleaved && left_ <= 0 && !text_is_over_) {
    in_audio_ = false;
    left_ = runner_.model().config().interleaved_text;
  }
  if (ends) in_audio_ = false;
}

void Lfm2AudioTask::notify() {
  for (const Step& step : news_) {
    if (step.size() == 1 && listener_.text) listener_.text(step.front());
    if (step.size() > 1 && listener_.frame) listener_.frame(step);
  }
  news_.clear();
  if (!is_over() || has_told_) return;
  has_told_ = true;
  if (listener_.over) listener_.over(reason_.value_or(StopReason::kCancelled), error_ ? &*error_ : nullptr);
}

class Lfm2AudioRunner::AudioPass final : public Pass {
 public:
  AudioPass(StepPlan plan, const Lfm2Audio& model, Tensor thought)
      : Pass(std::move(plan)), model_(model), thought_(std::move(thought)), made_(plan_.size()) {
    for (const Planned& planned : plan_) rows_.push_back(planned.reaches_end() ? wanted_++ : -1);
  }

  void fetch() override {
    std::vector<size_t> speaking, writing;
    for (size_t i = 0; i < plan_.size(); ++i) {
      if (rows_[i] < 0) continue;
      task_of(i).begin_step();
      (task_of(i).in_audio_ ? speaking : writing).push_back(i);
    }
    if (!writing.empty()) {
      const Tensor logits = model_.text_logits(thoughts_of(writing)).to_device(Device::cpu()).contiguous();
      for (size_t i = 0; i < writing.size(); ++i) {
        made_[writing[i]] = {task_of(writing[i]).draw_token(row_of(logits, i))};
      }
    }
    if (speaking.empty()) return;
    const auto frames = model_.depth()(thoughts_of(speaking), [&](size_t i, int64_t, std::span<const float> logits) {
      return task_of(speaking[i]).draw_code(logits);
    });
    for (size_t i = 0; i < speaking.size(); ++i) made_[speaking[i]] = frames[i];
  }
  int64_t take(size_t i, TaskHost& host) override {
    if (made_[i].empty()) return 0;
    Lfm2AudioTask& task = task_of(i);
    if (task.in_audio_) {
      task.take_frame(*plan_[i].sequence, made_[i], host);
    } else {
      task.take_token(*plan_[i].sequence, made_[i].front(), host);
    }
    return 0;
  }
  void leave(const Sequence& sequence) override {
    for (size_t i = plan_.size(); i-- > 0;) {
      if (plan_[i].sequence != &sequence) continue;
      rows_.erase(rows_.begin() + static_cast<ptrdiff_t>(i));
      made_.erase(made_.begin() + static_cast<ptrdiff_t>(i));
    }
    Pass::leave(sequence);
  }

 private:
  Lfm2AudioTask& task_of(size_t i) const { return static_cast<Lfm2AudioTask&>(*plan_[i].sequence->task); }
  Tensor thoughts_of(const std::vector<size_t>& which) const {
    std::vector<int64_t> rows;
    for (const size_t i : which) rows.push_back(rows_[i]);
    const auto count = std::ssize(rows);
    return index_select(thought_, 0, from_vector(rows, {count}).to_device(thought_.device()));
  }

  const Lfm2Audio& model_;
  Tensor thought_;             // of the parts that reach their end
  std::vector<int64_t> rows_;  // in it, of each planned sequence; -1: it is still reading
  int64_t wanted_ = 0;
  std::vector<std::vector<int32_t>> made_;  // a token or a frame
};

std::unique_ptr<Pass> Lfm2AudioRunner::start(const StepPlan& plan) {
  ForwardBatch batch;
  std::vector<InputEmbeddings> given;
  given.reserve(plan.size());
  for (const Planned& planned : plan) {
    Sequence& sequence = *planned.sequence;
    const auto& task = static_cast<const Lfm2AudioTask&>(*sequence.task);
    const int64_t begin = sequence.computed, end = begin + planned.tokens, read = task.prompt_.dim(0);
    std::vector<Tensor> rows;
    if (begin < read) rows.push_back(narrow(task.prompt_, 0, begin, std::min(read, end) - begin));
    for (int64_t at = std::max(begin, read); at < end; ++at) {
      const auto& step = task.steps_[static_cast<size_t>(at - read)];
      rows.push_back(step.size() == 1 ? model_.text_rows(step) : model_.frame_rows(step));
    }
    given.push_back({begin, rows.size() == 1 ? rows.front() : concat(rows, 0)});
    batch.tokens.insert(batch.tokens.end(), static_cast<size_t>(planned.tokens), 0);
    batch.sequences.push_back({planned.tokens, begin, sequence.blocks, &sequence.state, nullptr, {&given.back(), 1}});
    if (planned.reaches_end()) batch.logit_rows.push_back(std::ssize(batch.tokens) - 1);
  }
  return std::make_unique<AudioPass>(plan, model_, model_.backbone().forward(batch, *cache_));
}

}  // namespace wick
