#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/automaton/codepoint_set.h"

namespace wick::grammar {

// A deterministic automaton over characters whose states are made as they are met. The opposite of what it accepts is
// what it does not.
class TextMachine {
 public:
  static constexpr int kDead = -1;  // nothing that goes on from here is accepted

  virtual ~TextMachine() = default;
  virtual int start() = 0;
  virtual int next(int state, uint32_t codepoint) = 0;
  virtual bool accepts(int state) = 0;
  // Whether it is seen that everything is accepted that goes on from here.
  virtual bool accepts_all(int) { return false; }
  // Adds where intervals of characters begin that the state treats alike; 0 need not be among them.
  virtual void add_interval_starts(int state, std::vector<uint32_t>& starts) = 0;

  bool matches(std::string_view utf8);
};

// A finite set of texts.
class TextList : public TextMachine {
 public:
  explicit TextList(const std::vector<std::string_view>& texts);
  int start() override { return 0; }
  int next(int state, uint32_t codepoint) override;
  bool accepts(int state) override { return nodes_[static_cast<size_t>(state)].is_end; }
  void add_interval_starts(int state, std::vector<uint32_t>& starts) override;

 private:
  struct Node {
    std::map<uint32_t, int> children;
    bool is_end = false;
  };
  std::vector<Node> nodes_;
};

// Several machines side by side, and their states together as one. Bounded: throws Error(kInvalidArgument) that begins
// with `place`.
class TextProduct {
 public:
  explicit TextProduct(std::string place) : place_(std::move(place)) {}

  // Of what use a machine is. Texts that do not matter, because a wanted one cannot accept them any more or an unwanted
  // one always will, are left out.
  enum class Use : uint8_t { kWanted, kUnwanted, kKnown };
  void add(TextMachine& machine, Use use) { machines_.push_back({&machine, use}); }

  struct Step {
    CodepointSet chars;
    int target = 0;
  };
  int start();
  const std::vector<Step>& steps(int state);
  bool accepts(int state, size_t machine) const;

 private:
  struct Machine {
    TextMachine* machine = nullptr;
    Use use = Use::kKnown;
  };
  bool is_over(size_t machine, int state) const;
  using Key = std::vector<int>;
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  int intern(Key key);

  std::string place_;
  std::vector<Machine> machines_;
  std::unordered_map<Key, int, KeyHash> known_;
  std::vector<const Key*> keys_;
  std::vector<std::optional<std::vector<Step>>> steps_;
  size_t work_ = 0;
};

// The code points of valid UTF-8.
std::vector<uint32_t> codepoints_of(std::string_view utf8);

}  // namespace wick::grammar
