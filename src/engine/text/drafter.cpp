#include "engine/text/drafter.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/text/context.h"
#include "engine/text/greedy_task.h"
#include "nn/kv_blocks_for.h"
#include "ops/rearrange.h"
#include "ops/view.h"

namespace wick {

std::vector<int32_t> LookupDrafter::find(std::span<const int32_t> text, int64_t most) const {
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t length = std::min(longest_, size - 1); length >= shortest_; --length) {
    const auto end = text.subspan(static_cast<size_t>(size - length));
    for (int64_t at = size - length - 1; at >= 0; --at) {
      if (!std::equal(end.begin(), end.end(), text.begin() + at)) continue;
      const int64_t next = at + length, count = std::min(most, size - next);
      return {text.begin() + next, text.begin() + next + count};
    }
  }
  return {};
}

void LookupDrafter::propose(std::span<Draft> drafts) {
  for (Draft& draft : drafts) draft.tokens = find(draft.text, draft.most);
}

namespace {

std::shared_ptr<const LanguageModel> checked(const std::shared_ptr<const TextModel>& draft, const TextModel& target) {
  const int mine = draft->tokenizer().vocab_size(), theirs = target.tokenizer().vocab_size();
  bool same = mine == theirs;
  for (int id = 0; same && id < mine; ++id) same = draft->tokenizer().piece(id) == target.tokenizer().piece(id);
  if (!same) {
    throw Error(ErrorCode::kInvalidArgument, cat("the draft model ", draft->name(), " and ", target.name(),
                                                 " have different vocabularies (", mine, " and ", theirs, " tokens)"));
  }
  return {draft, &draft->model()};
}

// As many sequences of the same length, in passes of their own within those of the engine that is drafted for.
EngineOptions draft_options(EngineOptions options) {
  options.context = options.kv_bytes = 0;  // what fits
  options.first_token_seconds = options.next_token_seconds = 0;
  options.locks_compute = false;
  options.drafter = nullptr;
  return options;
}

}  // namespace

ModelDrafter::ModelDrafter(std::shared_ptr<const TextModel> draft, const TextModel& target,
                           const EngineOptions& options)
    : ModelDrafter(checked(draft, target), options) {}

ModelDrafter::ModelDrafter(std::shared_ptr<const LanguageModel> draft, const EngineOptions& options)
    : draft_(std::move(draft)) {
  const int64_t most = draft_->facts().max_context > 0 ? draft_->facts().max_context : kDefaultContext;
  const int64_t wanted = options.context > 0 ? options.context : kDefaultContext;
  engine_ = std::make_unique<Engine>(*draft_, draft_options(options), std::min(wanted, most));
}

ModelDrafter::~ModelDrafter() = default;

void ModelDrafter::propose(std::span<Draft> drafts) {
  std::vector<std::pair<Draft*, std::shared_ptr<GreedyTask>>> tasks;
  for (Draft& draft : drafts) {
    const int64_t room = engine_->context() - static_cast<int64_t>(draft.text.size());
    if (room < 1) continue;
    const auto most = std::min(draft.most, room);
    tasks.emplace_back(&draft,
                       std::make_shared<GreedyTask>(std::vector<int32_t>(draft.text.begin(), draft.text.end()), most));
    engine_->submit(tasks.back().second);
  }
  while (engine_->step()) {
  }
  for (const auto& [draft, task] : tasks) draft->tokens = task->tokens();
}

MtpDrafter::MtpDrafter(const LanguageModel& model) : model_(model) {
  if (model.facts().looks_ahead) return;
  throw Error(ErrorCode::kUnsupported,
              cat("this ", model.facts().family, " was loaded without a layer that predicts further tokens"));
}

void MtpDrafter::propose(std::span<Draft> drafts) {
  std::vector<Draft*> going;
  for (Draft& draft : drafts) {
    if (draft.last.defined() && draft.cache && !draft.text.empty()) going.push_back(&draft);
  }
  Tensor last;
  for (int64_t step = 0; step < kMost; ++step) {
    std::vector<Tensor> rows;
    std::vector<Draft*> still;
    ForwardBatch batch;
    for (size_t i = 0; i < going.size(); ++i) {
      Draft& draft = *going[i];
      const int64_t position = std::ssize(draft.text) - 1 + step;
      if (step >= draft.most || kv_blocks_for(position + 1) > std::ssize(draft.blocks)) continue;
      batch.tokens.push_back(step == 0 ? draft.text.back() : draft.tokens.back());
      batch.sequences.push_back({1, position, draft.blocks});
      rows.push_back(step == 0 ? draft.last : narrow(last, 0, static_cast<int64_t>(i), 1));
      still.push_back(&draft);
    }
    going = std::move(still);
    if (going.empty()) return;
    const LanguageModel::Ahead ahead = model_.look_ahead(batch, concat(rows, 0), *going.front()->cache);
    const std::vector<float> logits = ahead.logits.to_vector<float>();
    const auto size = static_cast<ptrdiff_t>(logits.size() / going.size());
    for (size_t i = 0; i < going.size(); ++i) {
      const auto row = logits.begin() + static_cast<ptrdiff_t>(i) * size;
      going[i]->tokens.push_back(static_cast<int32_t>(std::max_element(row, row + size) - row));
    }
    last = ahead.rows;
  }
}

}  // namespace wick
