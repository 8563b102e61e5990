#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kv/block_pool.h"
#include "nn/recurrent_state.h"

namespace wick {

// A text as those who may share it write it.
struct SaltedTokens {
  template <typename Tokens>
  requires std::convertible_to<const Tokens&, std::span<const int32_t>> SaltedTokens(
      const Tokens& all, std::string_view of = {})  // NOLINT(google-explicit-constructor): tokens without salt
      : tokens(all), salt(of) {}

  std::span<const int32_t> tokens;
  std::string_view salt;
};

// What is known of the beginning of a text.
struct PrefixMatch {
  std::vector<int32_t> blocks;                  // the caller is a user of each now, and releases them to the pool
  int64_t tokens = 0;                           // in them
  std::shared_ptr<const RecurrentState> state;  // behind the last of them, if asked for; clone it before a pass
};

// A block that begins with what a text goes on with behind its full blocks.
struct PartialBlock {
  int32_t block = kNoBlock;       // the caller is a user of it now: alone, or it must copy before it writes
  int64_t begin = 0, tokens = 0;  // the text's tokens from `begin` on are in its first positions
  std::shared_ptr<const RecurrentState> state;  // behind them, if asked for

  bool operator==(const PartialBlock&) const = default;
};

struct PrefixCounters {
  int64_t hits = 0, misses = 0;  // calls of match()
  int64_t splits = 0;            // of runs in two
  int64_t evictions = 0;         // blocks that became free
  int64_t states_saved = 0, states_dropped = 0;
};

// Which blocks hold the keys and values of which texts, so that what texts begin with in common is computed once. A
// radix tree over full blocks: a node holds a run of them, and is split where texts part. The index is one user of each
// block it knows, and gives up those used longest ago. Texts of different salts have nothing in common. States of
// recurrent models are kept at the ends of runs. Time counts calls. Blocks must hold what the model alone makes of the
// tokens: nothing that hooks have changed. Not thread-safe.
class PrefixIndex {
 public:
  // The pool must live longer and have no other index. States are kept as long as they fit `most_state_bytes`.
  explicit PrefixIndex(BlockPool& pool, int64_t most_state_bytes = 0);
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  // The longest known beginning in full blocks of at most `most_tokens`; with `needs_state`, one with a state behind
  // it.
  PrefixMatch match(const SaltedTokens& text, int64_t most_tokens, bool needs_state = false);
  // What match() would find. Counts as no use.
  struct Peek {
    int64_t tokens = 0;
    int64_t idle_blocks = 0;  // of those that hold them: nobody else uses them now
  };
  Peek peek(const SaltedTokens& text, int64_t most_tokens, bool needs_state = false) const;

  // Makes the full blocks of a text known: blocks[i] holds the tokens from i * kKvBlockTokens on. Where a block is
  // known for the same text already that one is kept and the caller keeps its own. Ends before the first unknown
  // kNoBlock. The state is the one behind all the tokens, which must be full blocks then.
  void insert(const SaltedTokens& text, std::span<const int32_t> blocks,
              std::shared_ptr<const RecurrentState> state = nullptr);

  // Texts end inside blocks, and part there. insert_partial() makes the block behind the full ones of a text known,
  // which holds its last tokens; all before it must be known. take_partial() finds the block with most of what a text
  // goes on with, up to `most_tokens` of it; with `needs_state`, one that ends where its state is, nobody else using
  // it. One that nobody else uses, and that nothing known lies behind, is the caller's: the index forgets it.
  void insert_partial(const SaltedTokens& text, int32_t block, std::shared_ptr<const RecurrentState> state = nullptr);
  std::optional<PartialBlock> take_partial(const SaltedTokens& text, int64_t most_tokens, bool needs_state = false);

  // Frees `blocks` blocks, or all of reclaimable() if they are fewer, from the ends of the texts used longest ago.
  // Returns how many. Blocks in use stay known unless idle ones lie before them.
  int64_t evict(int64_t blocks);
  void clear();
  // The same where it may be left in disorder, and without giving blocks up: the pool is reset then.
  void forget() noexcept;

  int64_t blocks() const { return blocks_; }            // known
  int64_t reclaimable() const { return pool_.idle(); }  // of them, in use by nobody else
  bool holds(int32_t block) const { return pool_.is_indexed(block); }
  int64_t state_bytes() const { return state_bytes_; }
  const PrefixCounters& counters() const { return counters_; }

 private:
  // The tokens of a block: fewer than a block has where it is the partial one at the end of a text.
  using BlockTokens = std::vector<int32_t>;
  struct IsBefore {
    using is_transparent = void;
    bool operator()(std::span<const int32_t> a, std::span<const int32_t> b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    }
  };
  struct Node {
    Node* parent = nullptr;
    std::vector<int32_t> blocks, tokens;                              // of the run; the root's is empty
    std::map<BlockTokens, std::unique_ptr<Node>, IsBefore> children;  // by their first block
    int64_t last_used = 0;
    std::shared_ptr<const RecurrentState> state;  // behind the run
    int64_t state_used = 0;
  };
  // The way down to a place in a run.
  struct Place {
    Node* node;
    size_t taken;   // blocks of the node's run, at least 1 but in the root
    int64_t depth;  // blocks from the root
  };

  Place find(const SaltedTokens& text, int64_t most_blocks, bool needs_state) const;
  Node* root_of(std::string_view salt) const;  // nobody_ while no text of the salt is known
  bool is_leaf(const Node& node) const { return node.parent && node.children.empty(); }
  Node* split(const Place& place);
  void use(Node* node);
  Node* append(Node* node, std::span<const int32_t> tokens, int32_t block);
  Node* add_child(Node* node, std::span<const int32_t> tokens, int32_t block);
  static BlockTokens key_of(const Node& node);
  void drop_last(Node* leaf);
  int64_t free_ends(int64_t most);
  void uncover();
  void save_state(Node* node, std::shared_ptr<const RecurrentState> state);
  void drop_state(Node* node);

  BlockPool& pool_;
  int64_t most_state_bytes_;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> roots_;  // by salt
  std::unique_ptr<Node> nobody_;                                     // always empty
  // By the time of their last use, which no two leaves share: a call uses the nodes of one path.
  std::map<int64_t, Node*> leaves_, states_;
  int64_t clock_ = 0, blocks_ = 0, state_bytes_ = 0;
  PrefixCounters counters_;
};

}  // namespace wick
