#include "engine/kv/prefix_index.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr auto kBlockTokens = static_cast<size_t>(kKvBlockTokens);

std::span<const int32_t> block_of(std::span<const int32_t> tokens, int64_t block) {
  return tokens.subspan(static_cast<size_t>(block) * kBlockTokens, kBlockTokens);
}

int64_t common(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

int64_t full_blocks(std::span<const int32_t> tokens, int64_t most_tokens) {
  return std::clamp<int64_t>(most_tokens, 0, static_cast<int64_t>(tokens.size())) / kKvBlockTokens;
}

}  // namespace

PrefixIndex::PrefixIndex(BlockPool& pool, int64_t most_state_bytes)
    : pool_(pool), most_state_bytes_(most_state_bytes), nobody_(std::make_unique<Node>()) {}

PrefixIndex::~PrefixIndex() { clear(); }

PrefixIndex::Node* PrefixIndex::root_of(std::string_view salt) const {
  const auto found = roots_.find(salt);
  return found == roots_.end() ? nobody_.get() : found->second.get();
}

PrefixIndex::Place PrefixIndex::find(const SaltedTokens& text, int64_t most_blocks, bool needs_state) const {
  const std::span<const int32_t> tokens = text.tokens;
  Place place{root_of(text.salt), 0, 0}, with_state = place;
  while (place.depth < most_blocks && place.taken == place.node->blocks.size()) {
    const auto child = place.node->children.find(block_of(tokens, place.depth));
    if (child == place.node->children.end()) break;
    place.node = child->second.get();
    const std::vector<int32_t>& run = place.node->tokens;
    const auto rest = tokens.subspan(static_cast<size_t>(place.depth) * kBlockTokens,
                                     static_cast<size_t>(most_blocks - place.depth) * kBlockTokens);
    const auto differ = std::mismatch(run.begin(), run.end(), rest.begin(), rest.end()).first;
    place.taken = static_cast<size_t>(differ - run.begin()) / kBlockTokens;
    place.depth += static_cast<int64_t>(place.taken);
    if (place.node->state && place.taken == place.node->blocks.size()) with_state = place;
  }
  return needs_state ? with_state : place;
}

PrefixMatch PrefixIndex::match(const SaltedTokens& text, int64_t most_tokens, bool needs_state) {
  const Place place = find(text, full_blocks(text.tokens, most_tokens), needs_state);
  if (place.depth == 0) {
    ++counters_.misses;
    return {};
  }
  ++counters_.hits;
  Node* const last = split(place);
  use(last);
  PrefixMatch match;
  match.tokens = place.depth * kKvBlockTokens;
  match.blocks.resize(static_cast<size_t>(place.depth));
  auto end = match.blocks.end();
  for (const Node* node = last; node; node = node->parent) {
    end = std::copy_backward(node->blocks.begin(), node->blocks.end(), end);
  }
  for (const int32_t block : match.blocks) pool_.share(block);
  if (needs_state) {
    match.state = last->state;
    states_.erase(last->state_used);
    states_.emplace(last->state_used = clock_, last);
  }
  return match;
}

PrefixIndex::Peek PrefixIndex::peek(const SaltedTokens& text, int64_t most_tokens, bool needs_state) const {
  const Place place = find(text, full_blocks(text.tokens, most_tokens), needs_state);
  Peek peek{place.depth * kKvBlockTokens};
  size_t taken = place.taken;
  for (const Node* node = place.node; node; node = node->parent) {
    const auto first = node->blocks.begin(), last = first + static_cast<ptrdiff_t>(taken);
    peek.idle_blocks += std::count_if(first, last, [&](int32_t block) { return pool_.uses(block) == 1; });
    if (node->parent) taken = node->parent->blocks.size();
  }
  return peek;
}

void PrefixIndex::insert(const SaltedTokens& text, std::span<const int32_t> blocks,
                         std::shared_ptr<const RecurrentState> state) {
  const std::span<const int32_t> tokens = text.tokens;
  if (state && tokens.size() != blocks.size() * kBlockTokens) {
    throw Error(ErrorCode::kInternal, cat("a state behind ", tokens.size(), " tokens is to be kept at the end of ",
                                          blocks.size(), " blocks of ", kKvBlockTokens));
  }
  const int64_t all =
      std::min(full_blocks(tokens, static_cast<int64_t>(tokens.size())), static_cast<int64_t>(blocks.size()));
  if (all > 0 && blocks.front() != kNoBlock && !roots_.contains(text.salt)) {
    roots_.emplace(text.salt, std::make_unique<Node>());
  }
  const Place known = find(text, all, false);
  Node* node = split(known);
  use(node);
  int64_t depth = known.depth;
  for (; depth < all && blocks[static_cast<size_t>(depth)] != kNoBlock; ++depth) {
    node = append(node, block_of(tokens, depth), blocks[static_cast<size_t>(depth)]);
  }
  if (state && depth == all && depth > 0) save_state(node, std::move(state));
}

// The node that ends at the place: the upper part of a run cut in two there, or the place's own.
PrefixIndex::Node* PrefixIndex::split(const Place& place) {
  Node* const lower = place.node;
  if (place.taken == lower->blocks.size()) return lower;
  ++counters_.splits;
  const auto blocks = static_cast<ptrdiff_t>(place.taken), tokens = blocks * kKvBlockTokens;
  std::unique_ptr<Node>& link = lower->parent->children.at(key_of(*lower));
  auto upper = std::make_unique<Node>();
  upper->parent = lower->parent;
  upper->blocks.assign(lower->blocks.begin(), lower->blocks.begin() + blocks);
  upper->tokens.assign(lower->tokens.begin(), lower->tokens.begin() + tokens);
  lower->parent = upper.get();
  lower->blocks.erase(lower->blocks.begin(), lower->blocks.begin() + blocks);
  lower->tokens.erase(lower->tokens.begin(), lower->tokens.begin() + tokens);
  std::swap(link, upper);
  link->children.emplace(key_of(*lower), std::move(upper));
  return link.get();
}

void PrefixIndex::use(Node* node) {
  ++clock_;
  if (is_leaf(*node)) {
    leaves_.erase(node->last_used);
    leaves_.emplace(clock_, node);
  }
  for (; node; node = node->parent) node->last_used = clock_;
}

// One more block behind a node just used: at the end of its run, or in a child. Returns the node the block is in.
PrefixIndex::Node* PrefixIndex::append(Node* node, std::span<const int32_t> tokens, int32_t block) {
  if (!is_leaf(*node) || node->state) return add_child(node, tokens, block);
  pool_.share_with_index(block);
  ++blocks_;
  node->blocks.push_back(block);
  node->tokens.insert(node->tokens.end(), tokens.begin(), tokens.end());
  return node;
}

PrefixIndex::Node* PrefixIndex::add_child(Node* node, std::span<const int32_t> tokens, int32_t block) {
  pool_.share_with_index(block);
  ++blocks_;
  auto child = std::make_unique<Node>();
  child->parent = node;
  child->last_used = clock_;
  child->blocks.push_back(block);
  child->tokens.assign(tokens.begin(), tokens.end());
  if (is_leaf(*node)) leaves_.erase(node->last_used);
  leaves_.emplace(clock_, child.get());
  return node->children.emplace(child->tokens, std::move(child)).first->second.get();
}

PrefixIndex::BlockTokens PrefixIndex::key_of(const Node& node) {
  return {node.tokens.begin(),
          node.tokens.begin() + static_cast<ptrdiff_t>(std::min(node.tokens.size(), kBlockTokens))};
}

void PrefixIndex::insert_partial(const SaltedTokens& text, int32_t block, std::shared_ptr<const RecurrentState> state) {
  const std::span<const int32_t> tokens = text.tokens;
  const auto all = static_cast<int64_t>(tokens.size()) / kKvBlockTokens;
  const auto rest = tokens.subspan(static_cast<size_t>(all) * kBlockTokens);
  if (rest.empty() || block == kNoBlock) return;
  if (all == 0 && !roots_.contains(text.salt)) roots_.emplace(text.salt, std::make_unique<Node>());
  const Place place = find(text, all, false);
  if (place.depth < all) return;
  Node* const node = split(place);
  const auto known = node->children.find(rest);
  Node* const end = known == node->children.end() ? nullptr : known->second.get();
  use(end ? end : node);
  Node* const added = end ? end : add_child(node, rest, block);
  if (state) save_state(added, std::move(state));
}

std::optional<PartialBlock> PrefixIndex::take_partial(const SaltedTokens& text, int64_t most_tokens, bool needs_state) {
  const std::span<const int32_t> tokens = text.tokens;
  const int64_t most = std::clamp<int64_t>(most_tokens, 0, static_cast<int64_t>(tokens.size()));
  const Place place = find(text, most / kKvBlockTokens, false);
  PartialBlock found{kNoBlock, place.depth * kKvBlockTokens};
  const auto rest = tokens.first(static_cast<size_t>(most)).subspan(static_cast<size_t>(found.begin));
  Node* node = nullptr;
  size_t index = 0;  // of the block in the node
  if (place.taken < place.node->blocks.size()) {
    node = place.node;
    index = place.taken;
    found.tokens = needs_state ? 0 : common(rest, std::span(node->tokens).subspan(index * kBlockTokens));
  } else if (needs_state) {
    for (size_t length = std::min(rest.size(), kBlockTokens - 1); length > 0 && found.tokens == 0; --length) {
      const auto child = place.node->children.find(rest.first(length));
      if (child == place.node->children.end() || !child->second->state) continue;
      node = child->second.get();
      if (pool_.uses(node->blocks.front()) == 1) found.tokens = static_cast<int64_t>(length);
    }
  } else {
    // In the order of their tokens, what has most in common with the rest stands right before or behind it.
    auto& children = place.node->children;
    const auto behind = children.lower_bound(rest);
    for (auto each : {behind, behind == children.begin() ? children.end() : std::prev(behind)}) {
      const int64_t length = each == children.end() ? 0 : common(rest, each->first);
      if (length <= found.tokens) continue;
      found.tokens = length;
      node = each->second.get();
    }
  }
  if (found.tokens == 0) return std::nullopt;
  found.block = node->blocks[index];
  found.state = needs_state ? node->state : nullptr;
  use(node);
  pool_.share(found.block);
  const bool is_end = is_leaf(*node) && index + 1 == node->blocks.size();
  if (is_end && pool_.uses(found.block) == 2) drop_last(node);
  return found;
}

// Takes the last block off a leaf, and the leaf out of the tree if that was all of it.
void PrefixIndex::drop_last(Node* leaf) {
  drop_state(leaf);
  const int32_t block = leaf->blocks.back();
  pool_.release_from_index(block);
  --blocks_;
  leaf->blocks.pop_back();
  if (!leaf->blocks.empty()) {
    leaf->tokens.resize(leaf->tokens.size() - kBlockTokens);
    return;
  }
  Node* const parent = leaf->parent;
  leaves_.erase(leaf->last_used);
  parent->children.erase(parent->children.find(key_of(*leaf)));
  if (is_leaf(*parent)) leaves_.emplace(parent->last_used, parent);
  if (!parent->parent && parent->children.empty()) {
    std::erase_if(roots_, [&](const auto& each) { return each.second.get() == parent; });
  }
}

int64_t PrefixIndex::evict(int64_t blocks) {
  const int64_t wanted = std::clamp<int64_t>(blocks, 0, reclaimable());
  int64_t freed = 0;
  while (freed < wanted) {
    freed += free_ends(wanted - freed);
    if (freed < wanted) uncover();
  }
  counters_.evictions += freed;
  return freed;
}

// Frees the idle ends of leaves, those used longest ago first.
int64_t PrefixIndex::free_ends(int64_t most) {
  int64_t freed = 0;
  for (auto each = leaves_.begin(); freed < most && each != leaves_.end();) {
    const auto [time, leaf] = *each;
    if (pool_.uses(leaf->blocks.back()) > 1) {
      ++each;
      continue;
    }
    const bool is_last = leaf->blocks.size() == 1;
    drop_last(leaf);
    ++freed;
    // The parent, used no earlier, may be a leaf now.
    if (is_last) each = leaves_.lower_bound(time);
  }
  return freed;
}

// Forgets blocks in use that keep idle ones before them from being freed: of a text that has given up what lies before
// its window, or that was computed at the same time as another, whose blocks are the known ones.
void PrefixIndex::uncover() {
  const auto is_idle = [&](int32_t block) { return pool_.uses(block) == 1; };
  for (const auto& entry : leaves_) {
    Node* const leaf = entry.second;
    const Node* node = leaf;
    while (node && std::none_of(node->blocks.begin(), node->blocks.end(), is_idle)) node = node->parent;
    if (!node) continue;
    for (size_t left = leaf->blocks.size(); left > 0 && !is_idle(leaf->blocks.back()); --left) {
      drop_last(leaf);
      if (left == 1) return;
    }
    return;
  }
}

void PrefixIndex::clear() {
  while (!leaves_.empty()) {
    Node* const leaf = leaves_.begin()->second;
    for (size_t left = leaf->blocks.size(); left > 0; --left) drop_last(leaf);
  }
}

void PrefixIndex::forget() noexcept {
  leaves_.clear();
  states_.clear();
  roots_.clear();
  blocks_ = state_bytes_ = 0;
}

void PrefixIndex::save_state(Node* node, std::shared_ptr<const RecurrentState> state) {
  if (node->state) {
    states_.erase(node->state_used);
  } else {
    const int64_t bytes = state->bytes();
    if (bytes > most_state_bytes_) return;
    while (state_bytes_ + bytes > most_state_bytes_) drop_state(states_.begin()->second);
    node->state = std::move(state);
    state_bytes_ += bytes;
    ++counters_.states_saved;
  }
  states_.emplace(node->state_used = clock_, node);
}

void PrefixIndex::drop_state(Node* node) {
  if (!node->state) return;
  state_bytes_ -= node->state->bytes();
  states_.erase(node->state_used);
  node->state = nullptr;
  ++counters_.states_dropped;
}

}  // namespace wick
