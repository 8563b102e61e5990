#include "speech/qwen3_tts/tts_task.h"

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "base/text.h"
#include "models/forward_batch.h"
#include "nn/kv_blocks_for.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kSuppressed = 1024;  // the talker's last codes name no sounds
constexpr int64_t kLeastCodes = 2;     // before the end
constexpr int64_t kFewestPlaces = 8;

SamplingParams first_params(const TtsSampling& sampling) {
  SamplingParams params;
  params.temperature = sampling.temperature;
  params.top_k = sampling.top_k;
  params.top_p = sampling.top_p;
  params.repetition_penalty = sampling.repetition_penalty;
  params.seed = sampling.seed;
  return params;
}

SamplingParams group_params(const TtsSampling& sampling) {
  SamplingParams params;
  params.temperature = sampling.group_temperature;
  params.top_k = sampling.group_top_k;
  params.top_p = sampling.group_top_p;
  const auto random = philox_block(sampling.seed, 0, 1);  // a stream of its own
  params.seed = uint64_t{random[0]} << 32 | random[1];
  return params;
}

std::span<const float> row_of(const Tensor& rows, size_t i) {
  const auto width = static_cast<size_t>(rows.dim(1));
  return {rows.data<float>() + i * width, width};
}

}  // namespace

TtsTask::TtsTask(TtsRunner& runner, TtsPrompt prompt, const TtsSampling& sampling, int64_t context,
                 TtsListener listener, Client client, Priority priority)
    : runner_(runner),
      prompt_(std::move(prompt)),
      first_(first_params(sampling), runner.model().config().codes),
      group_(group_params(sampling), runner.model().config().group_entries),
      listener_(std::move(listener)),
      client_(std::move(client)),
      priority_(priority) {
  const int64_t read = prompt_.rows.dim(0), room = context - read;
  if (room < kLeastCodes) {
    throw Error(ErrorCode::kInvalidArgument, cat("the text takes ", read, " positions, the context is ", context,
                                                 ": that leaves no room for sound"));
  }
  if (sampling.max_frames < 1) {
    throw Error(ErrorCode::kInvalidArgument, cat("at most ", sampling.max_frames, " frames are asked for"));
  }
  most_frames_ = std::min(sampling.max_frames, room);
  is_context_short_ = room < sampling.max_frames;
}

Runner* TtsTask::runner() const { return &runner_; }
int64_t TtsTask::groups() const { return runner_.model().config().code_groups; }

std::span<const int32_t> TtsTask::frame(int64_t i) const {
  return std::span(codes_).subspan(static_cast<size_t>(i * groups()), static_cast<size_t>(groups()));
}

void TtsTask::begin(TaskHost& host) {
  auto sequence = std::make_unique<Sequence>();
  sequence->tokens.assign(static_cast<size_t>(prompt_.rows.dim(0)), 0);
  sequence->prompt_tokens = std::ssize(sequence->tokens);
  host.add(std::move(sequence));
}

void TtsTask::end(StopReason reason) {
  if (!is_over()) reason_ = reason;
}

void TtsTask::fail(const Error& error) { error_ = error; }

int32_t TtsTask::draw_first(std::span<const float> logits) {
  const int32_t code = first_.sample(logits, runner_.allowed(first_.accepted() >= kLeastCodes)).token;
  first_.accept(code);
  return code;
}

int32_t TtsTask::draw_group(std::span<const float> logits) {
  const int32_t code = group_.sample(logits).token;
  group_.accept(code);
  return code;
}

void TtsTask::take_frame(Sequence& sequence, std::span<const int32_t> codes, TaskHost& host) {
  codes_.insert(codes_.end(), codes.begin(), codes.end());
  sequence.tokens.push_back(1);
  host.yielded(sequence);
  if (std::ssize(codes_) / groups() < most_frames_) return;
  end(is_context_short_ ? StopReason::kContextFull : StopReason::kLength);
}

void TtsTask::notify() {
  if (heard_ < codes_.size()) {
    const auto news = std::span<const int32_t>(codes_).subspan(heard_);
    heard_ = codes_.size();
    if (listener_.frames) listener_.frames(news);
  }
  if (!is_over() || has_told_) return;
  has_told_ = true;
  if (listener_.over) listener_.over(reason_.value_or(StopReason::kCancelled), error_ ? &*error_ : nullptr);
}

TtsRunner::TtsRunner(const Qwen3Tts& model) : model_(model) {
  const TtsConfig& config = model.config();
  const auto words = static_cast<size_t>((config.codes + 31) / 32);
  without_end_.resize(words);
  for (int64_t code = 0; code < config.codes - kSuppressed; ++code) {
    without_end_[static_cast<size_t>(code / 32)] |= 1u << (code % 32);
  }
  with_end_ = without_end_;
  const auto allow = [](std::vector<uint32_t>& mask, int32_t code, bool is_allowed) {
    const uint32_t bit = 1u << (code % 32);
    uint32_t& word = mask[static_cast<size_t>(code / 32)];
    word = is_allowed ? word | bit : word & ~bit;
  };
  allow(with_end_, config.ids.eos, true);
  allow(without_end_, config.ids.eos, false);
}

// What the talker reads of each planned part: rows of prompts, and of frames with the text that goes with them.
std::vector<InputEmbeddings> TtsRunner::inputs(const StepPlan& plan) const {
  std::vector<int32_t> codes;
  std::vector<Tensor> texts;
  for (const Planned& planned : plan) {
    const auto& task = static_cast<const TtsTask&>(*planned.sequence->task);
    const int64_t begin = planned.sequence->computed, end = begin + planned.tokens, read = task.prompt().rows.dim(0);
    for (int64_t at = std::max(begin, read); at < end; ++at) {
      const auto frame = task.frame(at - read);
      codes.insert(codes.end(), frame.begin(), frame.end());
      const TtsPrompt& prompt = task.prompt();
      texts.push_back(at - read < prompt.trailing.dim(0) ? narrow(prompt.trailing, 0, at - read, 1) : prompt.pad);
    }
  }
  const Tensor frames = codes.empty() ? Tensor() : add(model_.frame_rows(codes), concat(texts, 0));
  std::vector<InputEmbeddings> inputs;
  int64_t next = 0;
  for (const Planned& planned : plan) {
    const auto& task = static_cast<const TtsTask&>(*planned.sequence->task);
    const int64_t begin = planned.sequence->computed, read = task.prompt().rows.dim(0);
    const int64_t old = std::clamp<int64_t>(read - begin, 0, planned.tokens), made = planned.tokens - old;
    std::vector<Tensor> parts;
    if (old > 0) parts.push_back(narrow(task.prompt().rows, 0, begin, old));
    if (made > 0) parts.push_back(narrow(frames, 0, next, made));
    next += made;
    inputs.push_back({begin, parts.size() == 1 ? parts[0] : concat(parts, 0)});
  }
  return inputs;
}

// All further codes of the frames whose first ones the tasks have drawn from `thought` [frames, hidden].
std::vector<std::vector<int32_t>> TtsRunner::predict(std::span<TtsTask* const> tasks, const Tensor& thought) {
  const int64_t groups = model_.config().code_groups;
  const Tensor logits = model_.first_logits(thought).to_device(Device::cpu());
  std::vector<std::vector<int32_t>> frames(tasks.size());
  std::vector<size_t> open;
  std::vector<int64_t> rows;
  for (size_t i = 0; i < tasks.size(); ++i) {
    frames[i] = {tasks[i]->draw_first(row_of(logits, i))};
    if (frames[i][0] == model_.config().ids.eos) continue;
    open.push_back(i);
    rows.push_back(static_cast<int64_t>(i));
  }
  const auto count = static_cast<int64_t>(open.size());
  if (count == 0) return frames;
  const LanguageModel& predictor = model_.predictor();
  const int64_t blocks_each = kv_blocks_for(groups);
  if (count > frame_places_) {
    const ArenaPause keep;
    frame_places_ = std::max(count, std::max(kFewestPlaces, 2 * frame_places_));
    frames_ = KvCache(predictor.facts().kv_layers, frame_places_ * blocks_each, DType::kF32, predictor.device());
  }
  std::vector<std::vector<int32_t>> blocks(open.size());
  for (size_t i = 0; i < open.size(); ++i) {
    for (int64_t j = 0; j < blocks_each; ++j) {
      blocks[i].push_back(static_cast<int32_t>(static_cast<int64_t>(i) * blocks_each + j));
    }
  }
  const Tensor first = model_.predictor_rows(
      count == thought.dim(0) ? thought : index_select(thought, 0, from_vector(rows, {count}, thought.device())));
  std::vector<int32_t> last(open.size());
  for (int64_t group = 1; group < groups; ++group) {
    for (size_t i = 0; i < open.size(); ++i) last[i] = frames[open[i]].back();
    // Of each frame a row, or two to begin with: what the talker thought, and the first code.
    const Tensor drawn = model_.group_rows(group - 1, last);
    const Tensor input = group == 1 ? reshape(stack({first, drawn}, 1), {2 * count, -1}) : drawn;
    const int64_t each = group == 1 ? 2 : 1, position = group == 1 ? 0 : group;
    ForwardBatch batch;
    std::vector<InputEmbeddings> given;
    given.reserve(open.size());
    batch.tokens.assign(static_cast<size_t>(count * each), 0);
    for (int64_t i = 0; i < count; ++i) {
      given.push_back({position, narrow(input, 0, i * each, each)});
      batch.sequences.push_back({each, position, blocks[static_cast<size_t>(i)], nullptr, nullptr, {&given.back(), 1}});
      batch.logit_rows.push_back((i + 1) * each - 1);
    }
    const Tensor made = model_.group_logits(group, predictor.forward(batch, frames_)).to_device(Device::cpu());
    for (size_t i = 0; i < open.size(); ++i) frames[open[i]].push_back(tasks[open[i]]->draw_group(row_of(made, i)));
  }
  return frames;
}

class TtsRunner::TtsPass final : public Pass {
 public:
  TtsPass(StepPlan plan, TtsRunner& runner, Tensor thought)
      : Pass(std::move(plan)), runner_(runner), thought_(std::move(thought)), frames_(plan_.size()) {
    for (const Planned& planned : plan_) rows_.push_back(planned.reaches_end() ? wanted_++ : -1);
  }

  void fetch() override {
    std::vector<TtsTask*> tasks;
    std::vector<size_t> begun;
    std::vector<int64_t> rows;
    for (size_t i = 0; i < plan_.size(); ++i) {
      if (rows_[i] < 0) continue;
      tasks.push_back(&task_of(i));
      begun.push_back(i);
      rows.push_back(rows_[i]);
    }
    if (tasks.empty()) return;
    const auto count = std::ssize(rows);
    const auto frames = runner_.predict(
        tasks, count == wanted_ ? thought_
                                : index_select(thought_, 0, from_vector(rows, {count}).to_device(thought_.device())));
    for (size_t i = 0; i < begun.size(); ++i) frames_[begun[i]] = frames[i];
  }
  void leave(const Sequence& sequence) override {
    for (size_t i = plan_.size(); i-- > 0;) {
      if (plan_[i].sequence != &sequence) continue;
      rows_.erase(rows_.begin() + static_cast<ptrdiff_t>(i));
      frames_.erase(frames_.begin() + static_cast<ptrdiff_t>(i));
    }
    Pass::leave(sequence);
  }
  int64_t take(size_t i, TaskHost& host) override {
    const std::vector<int32_t>& frame = frames_[i];
    if (frame.size() == 1) task_of(i).end(StopReason::kEndOfText);
    if (frame.size() > 1) task_of(i).take_frame(*plan_[i].sequence, frame, host);
    return 0;
  }

 private:
  TtsTask& task_of(size_t i) const { return static_cast<TtsTask&>(*plan_[i].sequence->task); }

  TtsRunner& runner_;
  Tensor thought_;             // of the parts that reach their end
  std::vector<int64_t> rows_;  // in it, of each planned sequence; -1: it is still reading
  int64_t wanted_ = 0;
  std::vector<std::vector<int32_t>> frames_;  // of each planned sequence; empty: it is still reading
};

std::unique_ptr<Pass> TtsRunner::start(const StepPlan& plan) {
  const std::vector<InputEmbeddings> given = inputs(plan);
  ForwardBatch batch;
  for (size_t i = 0; i < plan.size(); ++i) {
    const Planned& planned = plan[i];
    batch.tokens.insert(batch.tokens.end(), static_cast<size_t>(planned.tokens), 0);
    batch.sequences.push_back(
        {planned.tokens, planned.sequence->computed, planned.sequence->blocks, nullptr, nullptr, {&given[i], 1}});
    if (planned.reaches_end()) batch.logit_rows.push_back(std::ssize(batch.tokens) - 1);
  }
  return std::make_unique<TtsPass>(plan, *this, model_.talker().forward(batch, *cache_));
}

}  // namespace wick
