#include "engine/kv/kv_memory.h"

#include <algorithm>

#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "nn/kv_blocks_for.h"
#include "tensor/available_memory.h"

namespace wick {
namespace {

SaltedTokens text_of(const Sequence& sequence, std::span<const int32_t> tokens) {
  return {tokens, sequence.task->cache_salt()};
}
SaltedTokens text_of(const Sequence& sequence) { return text_of(sequence, sequence.tokens); }

constexpr int64_t kLeastContext = 512;           // tokens to which a context is lowered at most, unasked
constexpr int64_t kMostVirtualBlocks = 1 << 20;  // where blocks need no memory
constexpr double kFirstSwapRate = 4e9;           // bytes per second, until one was measured

int64_t default_bytes(Device device) {
  if (!device.is_host()) return available_memory(device) / 10 * 8;
  return machine_info().memory_available.value_or(int64_t{2} << 30) / 2;
}

// The end of the last full block before the last token, which is always computed again.
int64_t last_boundary(const Sequence& sequence) {
  return (static_cast<int64_t>(sequence.tokens.size()) - 1) / kKvBlockTokens * kKvBlockTokens;
}

struct Sizes {
  int64_t context, blocks, bytes;
};

Sizes sizes_of(const LanguageModel& model, const EngineOptions& options, int64_t context) {
  const int64_t each = KvCache::bytes_per_block(model.facts().kv_layers, options.kv_dtype);
  const int64_t most = std::max<int64_t>(options.max_running, 1) * kv_blocks_for(context);
  int64_t bytes = options.kv_bytes > 0 ? options.kv_bytes : default_bytes(model.device());
  if (each == 0) return {context, std::min(most, kMostVirtualBlocks), bytes};
  if (const int64_t source = kv_blocks_for(model.facts().source_positions); source > 0) {
    // What an encoder made of a text lies outside the blocks, and has keys and values of the same size. As much is left
    // for it as all sequences may need, or its share of what both need where that is too much.
    const int64_t both = source + kv_blocks_for(context);
    bytes -= std::min(
        std::max<int64_t>(options.max_running, 1) * source * each,
        static_cast<int64_t>(static_cast<double>(bytes) * static_cast<double>(source) / static_cast<double>(both)));
  }
  const int64_t blocks = std::min(bytes / each, most);
  if (blocks >= kv_blocks_for(context)) return {context, blocks, bytes};
  if (options.context == 0 && blocks * kKvBlockTokens >= kLeastContext) return {blocks * kKvBlockTokens, blocks, bytes};
  throw Error(ErrorCode::kOutOfMemory,
              cat("keys and values of ", context, " tokens need ", bytes_text(kv_blocks_for(context) * each), ", and ",
                  bytes_text(bytes), " are there for them: a shorter context or another type for them would fit"));
}

}  // namespace

KvMemory::KvMemory(const LanguageModel& model, const EngineOptions& options, int64_t context)
    : model_(model), context_(0), state_tokens_(options.state_tokens), pool_(0) {
  const Sizes sizes = sizes_of(model, options, context);
  context_ = sizes.context;
  cache_ = KvCache(model.facts().kv_layers, sizes.blocks, options.kv_dtype, model.device());
  pool_ = BlockPool(sizes.blocks);
  if (options.prefix_cache) index_ = std::make_unique<PrefixIndex>(pool_, sizes.bytes / 4);
  swap_bytes_ = options.swap_bytes >= 0 ? options.swap_bytes : sizes.blocks * cache_.bytes_per_block() / 4;
  swap_rate_ = kFirstSwapRate;
}

bool KvMemory::keeps(const Sequence& sequence) const {
  return index_ && sequence.step_cost == 0 && sequence.task->shares_prefix();
}

void KvMemory::begin(Sequence& sequence) {
  if (sequence.step_cost > 0) return;
  sequence.state = model_.new_state();
  sequence.lookahead = {};
  if (!keeps(sequence)) return;
  const bool needs_state = model_.facts().recurrent;
  const int64_t most = static_cast<int64_t>(sequence.tokens.size()) - 1;
  std::optional<PartialBlock> partial = index_->take_partial(text_of(sequence), most, needs_state);
  PrefixMatch match =
      index_->match(text_of(sequence), partial && needs_state ? partial->begin : most, needs_state && !partial);
  sequence.blocks = std::move(match.blocks);
  sequence.computed = match.tokens;
  if (match.state) sequence.state = match.state->clone();
  if (partial) add_partial(sequence, *partial);
}

// A block that others have, too, is copied at once: it must not stay in use for what is nice to have.
void KvMemory::add_partial(Sequence& sequence, const PartialBlock& partial) {
  const size_t index = sequence.blocks.size();
  sequence.blocks.push_back(partial.block);
  const bool is_own = pool_.uses(partial.block) == 1 || (make_free(1) && pool_.try_own(sequence.blocks, index, cache_));
  if (is_own) {
    sequence.computed += partial.tokens;
    if (partial.state) sequence.state = partial.state->clone();
  } else {
    pool_.release(partial.block);
    sequence.blocks.pop_back();
  }
}

PrefixIndex::Peek KvMemory::peek(const Sequence& sequence) const {
  if (!keeps(sequence) || sequence.saved) return {};
  return index_->peek(text_of(sequence), static_cast<int64_t>(sequence.tokens.size()) - 1, model_.facts().recurrent);
}

int64_t KvMemory::known(const Sequence& sequence) const { return peek(sequence).tokens; }

bool KvMemory::has_room(const Sequence& sequence, int64_t tokens) const {
  const PrefixIndex::Peek known = peek(sequence);  // what is idle of it is not there for others then
  return kv_blocks_for(tokens) - kv_blocks_for(known.tokens) + known.idle_blocks <= pool_.free() + pool_.idle();
}

int64_t KvMemory::shareable(const Sequence& sequence, const Sequence& other) const {
  if (sequence.task->cache_salt() != other.task->cache_salt()) return 0;
  const auto& [mine, theirs] =
      std::mismatch(sequence.tokens.begin(), sequence.tokens.end() - 1, other.tokens.begin(), other.tokens.end());
  const int64_t common = mine - sequence.tokens.begin();
  if (!model_.facts().recurrent) return common / kKvBlockTokens * kKvBlockTokens;
  if (state_tokens_ == 0) return 0;
  const int64_t last = last_boundary(other);
  return common >= last ? last : common / state_tokens_ * state_tokens_;
}

bool KvMemory::make_free(int64_t blocks) {
  const int64_t missing = blocks - pool_.free();
  if (missing <= 0) return true;
  return missing <= pool_.idle() && index_->evict(missing) >= missing;
}

bool KvMemory::try_reserve(Sequence& sequence, int64_t tokens) {
  const auto first = static_cast<size_t>(sequence.computed / kKvBlockTokens);  // that will be written to
  const bool is_shared = first < sequence.blocks.size() && pool_.uses(sequence.blocks[first]) > 1;
  const int64_t missing =
      std::max<int64_t>(kv_blocks_for(tokens) - static_cast<int64_t>(sequence.blocks.size()), 0) + is_shared;
  if (!make_free(missing)) return false;
  return (!is_shared || pool_.try_own(sequence.blocks, first, cache_)) && pool_.try_grow(sequence.blocks, tokens);
}

int64_t KvMemory::reservable(const Sequence& sequence) const {
  return (static_cast<int64_t>(sequence.blocks.size()) + pool_.free() + pool_.idle()) * kKvBlockTokens;
}

void KvMemory::fork(const Sequence& from, Sequence& to) {
  to.computed = from.computed;
  to.blocks = from.blocks;
  for (const int32_t block : to.blocks) {
    if (block != kNoBlock) pool_.share(block);
  }
  to.state = from.state.clone();
  to.lookahead = from.lookahead;
}

int64_t KvMemory::cut(const Sequence& sequence, int64_t end) const {
  if (!model_.facts().recurrent || state_tokens_ == 0 || !keeps(sequence)) return end;
  const int64_t next = (sequence.computed / state_tokens_ + 1) * state_tokens_;
  const int64_t last = last_boundary(sequence);
  if (sequence.computed < last) end = std::min(end, last);
  return std::min(end, next);
}

void KvMemory::remember(Sequence& sequence) {
  const bool has_state = model_.facts().recurrent;
  if (has_state && (sequence.computed == 0 || sequence.computed % kKvBlockTokens != 0)) return;
  const auto full = static_cast<size_t>(sequence.computed / kKvBlockTokens);
  const std::span<const int32_t> tokens(sequence.tokens);
  index_->insert(text_of(sequence, tokens.first(full * kKvBlockTokens)),
                 std::span<const int32_t>(sequence.blocks).first(full),
                 has_state ? std::make_shared<RecurrentState>(sequence.state.clone()) : nullptr);
}

void KvMemory::settle(Sequence& sequence) {
  pool_.shrink(sequence.blocks, sequence.computed + sequence.ahead);
  const bool at_state = model_.facts().recurrent && state_tokens_ > 0 && sequence.computed % state_tokens_ == 0;
  if (keeps(sequence) && (sequence.phase == SequencePhase::kPrefill || at_state)) remember(sequence);
  // Hooks may want to see attention whole.
  if (model_.facts().window > 0 && !sequence.task->is_watched()) {
    window_freed_ += pool_.give_up(sequence.blocks, sequence.computed - model_.facts().window + 1);
  }
}

// All that was computed, whose last tokens may fill a block in part.
void KvMemory::remember_end(Sequence& sequence) {
  const auto count = static_cast<size_t>(sequence.computed);
  const auto full = count / static_cast<size_t>(kKvBlockTokens);
  if (count == 0 || sequence.blocks.size() < static_cast<size_t>(kv_blocks_for(sequence.computed))) return;
  const auto tokens = std::span<const int32_t>(sequence.tokens).first(count);
  const auto state = model_.facts().recurrent ? std::make_shared<RecurrentState>(std::move(sequence.state)) : nullptr;
  const bool is_full = count % static_cast<size_t>(kKvBlockTokens) == 0;
  index_->insert(text_of(sequence, tokens.first(full * kKvBlockTokens)),
                 std::span<const int32_t>(sequence.blocks).first(full), is_full ? state : nullptr);
  if (!is_full) index_->insert_partial(text_of(sequence, tokens), sequence.blocks[full], state);
}

void KvMemory::release(Sequence& sequence, bool is_sound) {
  if (is_sound && keeps(sequence) && !sequence.saved) remember_end(sequence);
  pool_.shrink(sequence.blocks, 0);
  if (sequence.saved) swapped_bytes_ -= sequence.saved->contents.size();
  sequence.saved.reset();
  sequence.state = {};
  sequence.computed = 0;
}

void KvMemory::forget() noexcept {
  if (index_) index_->forget();
  pool_.reset();
  swapped_bytes_ = 0;
}

void KvMemory::preempt(Sequence& sequence, double seconds_per_token) {
  const auto held =
      std::count_if(sequence.blocks.begin(), sequence.blocks.end(), [](int32_t block) { return block != kNoBlock; });
  const int64_t bytes = held * cache_.bytes_per_block();
  const double swap_seconds = 2 * static_cast<double>(bytes) / swap_rate_;
  const bool is_cheaper = swap_seconds < static_cast<double>(sequence.computed) * seconds_per_token;
  // What hooks have seen they must not see twice.
  if (sequence.task->is_watched() || (is_cheaper && swapped_bytes_ + bytes <= swap_bytes_)) {
    const auto start = EngineClock::now();
    sequence.saved.emplace(Sequence::Saved{cache_.save_blocks(sequence.blocks), sequence.blocks});
    const double seconds = std::chrono::duration<double>(EngineClock::now() - start).count();
    if (bytes > 0 && seconds > 0) swap_rate_ = static_cast<double>(bytes) / seconds;
    swapped_bytes_ += sequence.saved->contents.size();
    swapped_blocks_ += held;
    pool_.shrink(sequence.blocks, 0);
    return;
  }
  recomputed_tokens_ += sequence.computed;
  release(sequence);
}

bool KvMemory::try_resume(Sequence& sequence) {
  if (!sequence.saved) {
    begin(sequence);
    recomputed_tokens_ -= sequence.computed;  // that much was still known
    return true;
  }
  if (!make_free(sequence.saved->contents.blocks)) return false;
  sequence.blocks = std::move(sequence.saved->table);
  for (int32_t& block : sequence.blocks) {
    if (block != kNoBlock) block = *pool_.try_take();
  }
  cache_.restore_blocks(sequence.saved->contents, sequence.blocks);
  swapped_bytes_ -= sequence.saved->contents.size();
  sequence.saved.reset();
  return true;
}

double KvMemory::pressure() const {
  const int64_t held = pool_.total() - pool_.free() - pool_.idle();
  return pool_.total() > 0 ? static_cast<double>(held) / static_cast<double>(pool_.total()) : 0;
}

void KvMemory::describe(EngineSnapshot& snapshot) const {
  snapshot.context = context_;
  snapshot.block_tokens = kKvBlockTokens;
  snapshot.blocks_total = pool_.total();
  snapshot.blocks_free = pool_.free();
  snapshot.blocks_cached = pool_.idle();
  snapshot.pressure = pressure();
  for (int32_t block = 0; block < pool_.total(); ++block) {
    snapshot.block_uses.push_back(static_cast<uint8_t>(std::min(pool_.uses(block), 255)));
    snapshot.block_is_cached.push_back(pool_.is_indexed(block));
  }
  EngineCounters& counters = snapshot.counters;
  counters.blocks_taken = pool_.taken();
  counters.blocks_freed = pool_.freed();
  counters.blocks_copied = pool_.copied();
  counters.window_freed = window_freed_;
  counters.swapped_blocks = swapped_blocks_;
  counters.recomputed_tokens = recomputed_tokens_;
  if (!index_) return;
  counters.prefix_hits = index_->counters().hits;
  counters.prefix_misses = index_->counters().misses;
  counters.prefix_splits = index_->counters().splits;
  counters.prefix_evictions = index_->counters().evictions;
}

}  // namespace wick
