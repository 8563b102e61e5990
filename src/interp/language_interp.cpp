#include "interp/language_interp.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "nn/kv_blocks_for.h"

namespace wick {
namespace {

constexpr int64_t kMostLogits = int64_t{1} << 24;  // of several texts in one pass

}  // namespace

int64_t first_hooked_position(const HookSpec& hooks, int64_t tokens) {
  if (!hooks.all_captures().empty()) return 0;
  int64_t first = tokens;
  for (const HookEdit& edit : hooks.all_edits()) {
    // A state has no rows: which one an edit meets depends on where passes end. The rounding of an edited attention map
    // depends on how many rows it has.
    const HookPoint point = edit.site.point;
    const bool needs_all =
        point == HookPoint::kState || point == HookPoint::kAttnScores || point == HookPoint::kAttnPattern;
    if (needs_all || edit.kind == HookEdit::Kind::kFunction || edit.part.positions.empty()) return 0;
    for (const int64_t position : edit.part.positions) first = std::min(first, position);
  }
  return std::max<int64_t>(first, 0);
}

LanguageInterp::LanguageInterp(std::shared_ptr<const LanguageModel> model, LanguageInterpOptions options)
    : model_(std::move(model)), options_(std::move(options)) {
  const ModelFacts& facts = model_->facts();
  facts_.family = facts.family;
  facts_.layers = static_cast<int>(facts.layers);
  facts_.hidden = facts.hidden;
  facts_.vocabulary = facts.vocabulary;
  facts_.max_context = facts.max_context;
  for (int layer = 0; layer < facts_.layers; ++layer) {
    const int64_t heads = model_->stream_writer(layer, HookPoint::kAttnOut).heads;
    if (heads == 0) continue;
    facts_.heads = heads;
    facts_.attention_layers.push_back(layer);
  }
}

// The passes of one call: texts in groups, in one cache.
class LanguageInterp::Passes {
 public:
  Passes(const LanguageInterp& interp, std::span<const InterpText> texts, LogitRows rows)
      : interp_(interp), model_(*interp.model_), texts_(texts), rows_(rows) {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].tokens.empty()) throw Error(ErrorCode::kInvalidArgument, cat("text ", i, " has no tokens"));
      if (texts[i].hooks) check_hooks(interp, *texts[i].hooks);
      starts_.push_back(0);
    }
    share_beginning();
    int64_t most = 0;
    for (size_t begin = 0; begin < texts.size();) {
      const size_t end = group_end(begin);
      int64_t blocks = 0;
      for (size_t i = begin; i < end; ++i) blocks += own_blocks(i);
      most = std::max(most, blocks);
      begin = end;
    }
    shared_blocks_ = kv_blocks_for(shared_tokens_);
    const std::vector<KvShape>& layers = model_.facts().kv_layers;
    cache_ = KvCache(layers, layers.empty() ? 0 : shared_blocks_ + most, interp.options_.kv_dtype, model_.device());
  }

  void run(EachLogits each) {
    read_beginning();
    for (size_t begin = 0; begin < texts_.size();) {
      const size_t end = group_end(begin);
      run_group(begin, end, each);
      begin = end;
    }
  }

 private:
  int64_t length(size_t i) const { return static_cast<int64_t>(texts_[i].tokens.size()); }
  int64_t own_blocks(size_t i) const { return kv_blocks_for(length(i)) - starts_[i] / kKvBlockTokens; }

  // Texts that are all the same begin where their hooks do.
  void share_beginning() {
    if (rows_ != LogitRows::kLast || texts_.size() < 2) return;
    const std::span<const int32_t> first = texts_[0].tokens;
    for (const InterpText& text : texts_) {
      if (!std::equal(text.tokens.begin(), text.tokens.end(), first.begin(), first.end())) return;
    }
    for (size_t i = 0; i < texts_.size(); ++i) {
      const HookSpec* hooks = texts_[i].hooks;
      const int64_t last = length(i) - 1;  // its logits are wanted
      starts_[i] = hooks ? std::min(first_hooked_position(*hooks, last), last) : last;
      shared_tokens_ = std::max(shared_tokens_, starts_[i]);
    }
  }

  size_t group_end(size_t begin) const {
    size_t end = begin;
    for (int64_t rows = 0, logits = 0; end < texts_.size(); ++end) {
      rows += length(end) - starts_[end];
      logits += rows_ == LogitRows::kNone ? 0 : rows_ == LogitRows::kLast ? 1 : length(end);
      const bool fits = rows <= interp_.options_.rows_per_pass && logits <= kMostLogits / interp_.facts_.vocabulary;
      if (end > begin && !fits) break;
    }
    return end;
  }

  // Cut where a text begins if there is a state, which cannot be wound back.
  void read_beginning() {
    if (shared_tokens_ == 0) return;
    std::vector<int32_t> blocks(static_cast<size_t>(shared_blocks_));
    std::iota(blocks.begin(), blocks.end(), 0);
    RecurrentState state = model_.new_state();
    std::set<int64_t> cuts{shared_tokens_};
    if (!state.empty()) cuts.insert(starts_.begin(), starts_.end());
    cuts.erase(0);
    int64_t position = 0;
    for (const int64_t cut : cuts) {
      ForwardBatch batch;
      const auto part = texts_[0].tokens.subspan(static_cast<size_t>(position), static_cast<size_t>(cut - position));
      batch.tokens.assign(part.begin(), part.end());
      batch.sequences.push_back({cut - position, position, blocks, state.empty() ? nullptr : &state});
      interp_.run_pass([&] {
        const ArenaScope scope(interp_.arena_);
        model_.forward(batch, cache_);
      });
      if (!state.empty()) states_[cut] = state.clone();
      position = cut;
    }
  }

  void run_group(size_t begin, size_t end, EachLogits each) {
    const size_t count = end - begin;
    std::vector<std::vector<int32_t>> tables(count);
    std::vector<RecurrentState> states(count);
    std::vector<SequenceHooks> hooks(count);
    ForwardBatch batch;
    auto next_block = static_cast<int32_t>(shared_blocks_);
    for (size_t i = begin; i < end; ++i) {
      const InterpText& text = texts_[i];
      const int64_t start = starts_[i];
      std::vector<int32_t>& table = tables[i - begin];
      table.resize(static_cast<size_t>(kv_blocks_for(length(i))));
      const int64_t whole = start / kKvBlockTokens;
      std::iota(table.begin(), table.begin() + whole, 0);
      for (auto block = table.begin() + whole; block != table.end(); ++block) *block = next_block++;
      if (start % kKvBlockTokens != 0 && cache_.layers() > 0) {
        cache_.copy_block(static_cast<int32_t>(whole), table[static_cast<size_t>(whole)]);
      }
      RecurrentState& state = states[i - begin];
      state = start > 0 && !states_.empty() ? states_.at(start).clone() : model_.new_state();
      hooks[i - begin] = {text.hooks, text.cache};
      const auto first_row = static_cast<int64_t>(batch.tokens.size()), rows = length(i) - start;
      batch.tokens.insert(batch.tokens.end(), text.tokens.begin() + start, text.tokens.end());
      batch.sequences.push_back({rows, start, table, state.empty() ? nullptr : &state, &hooks[i - begin]});
      if (rows_ == LogitRows::kLast) batch.logit_rows.push_back(first_row + rows - 1);
      for (int64_t row = 0; rows_ == LogitRows::kAll && row < rows; ++row) batch.logit_rows.push_back(first_row + row);
    }
    Tensor logits;
    interp_.run_pass([&] {
      const ArenaScope scope(interp_.arena_);
      const Tensor scratch = model_.forward(batch, cache_);
      const ArenaPause keep;
      logits = scratch.device() == Device::cpu() ? scratch.clone() : scratch.to_device(Device::cpu());
    });
    if (rows_ == LogitRows::kNone) return;
    int64_t row = 0;
    for (size_t i = begin; i < end; ++i) {
      const int64_t rows = rows_ == LogitRows::kLast ? 1 : length(i);
      each(i, logits.with_layout(logits.layout().narrow(0, row, rows)));
      row += rows;
    }
  }

  const LanguageInterp& interp_;
  const LanguageModel& model_;
  std::span<const InterpText> texts_;
  LogitRows rows_;
  std::vector<int64_t> starts_;  // the first position that is run, per text
  int64_t shared_tokens_ = 0, shared_blocks_ = 0;
  std::map<int64_t, RecurrentState> states_;  // of the shared beginning, by the tokens read
  KvCache cache_;
};

void LanguageInterp::run_pass(FunctionRef<void()> pass) const {
  if (options_.around_pass) {
    options_.around_pass(pass);
  } else {
    pass();
  }
}

void LanguageInterp::forward(std::span<const InterpText> texts, LogitRows rows, EachLogits each) const {
  if (texts.empty()) return;
  Passes(*this, texts, rows).run(each);
}

Tensor LanguageInterp::project_to_vocab(const Tensor& rows, bool final_norm) const {
  if (rows.rank() != 2 || rows.dim(1) != facts_.hidden) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("project_to_vocab: the rows are ", rows.shape(), ", expected [rows, ", facts_.hidden, "]"));
  }
  Tensor logits;
  run_pass([&] {
    const ArenaScope scope(arena_);
    const Tensor x = rows.to_dtype(DType::kF32).contiguous().to_device(model_->device());
    const Tensor scratch = model_->project_to_vocab(x, final_norm);
    const ArenaPause keep;
    logits = scratch.device() == Device::cpu() ? scratch.clone() : scratch.to_device(Device::cpu());
  });
  return logits;
}

StreamWriter LanguageInterp::writer(int layer, HookPoint point) const {
  check_layer(*this, layer);
  return model_->stream_writer(layer, point);
}

}  // namespace wick
