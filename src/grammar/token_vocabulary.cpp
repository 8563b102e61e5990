#include "grammar/token_vocabulary.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "grammar/automaton/utf8_state.h"
#include "grammar/token_mask.h"

namespace wick {
namespace {

using namespace grammar;

constexpr int kMaxId = 1 << 24;
constexpr size_t kMaxTokenBytes = 60000;

using Utf8Table = std::array<std::array<uint8_t, 256>, 8>;
Utf8Table utf8_table() {
  Utf8Table table{};
  for (size_t state = 0; state < 8; ++state) {
    for (size_t byte = 0; byte < 256; ++byte) {
      table[state][byte] = utf8_next(static_cast<Utf8State>(state), static_cast<uint8_t>(byte));
    }
  }
  return table;
}

// The first eight bytes as a number that sorts like them.
uint64_t prefix_key(const std::string& text) {
  uint64_t key = 0;
  for (size_t i = 0; i < 8; ++i) key = key << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
  return key;
}

}  // namespace

TokenVocabulary::TokenVocabulary(std::vector<std::string> token_bytes, std::span<const int> special,
                                 std::span<const int> end)
    : bytes_(std::move(token_bytes)) {
  if (bytes_.size() > kMaxId) throw Error(ErrorCode::kInvalidArgument, "token vocabulary: more than 2^24 tokens");
  size_ = static_cast<int>(bytes_.size());
  for (const auto ids : {special, end}) {
    for (const int id : ids) {
      if (id < 0 || id >= kMaxId) throw Error(ErrorCode::kInvalidArgument, cat("token vocabulary: bad token id ", id));
      size_ = std::max(size_, id + 1);
    }
  }
  bytes_.resize(static_cast<size_t>(size_));
  kinds_.assign(static_cast<size_t>(size_), Kind::kText);
  for (const int id : special) kinds_[static_cast<size_t>(id)] = Kind::kSpecial;
  for (const int id : end) kinds_[static_cast<size_t>(id)] = Kind::kEnd;
  for (uint32_t id = 0; id < kinds_.size(); ++id) {
    if (kinds_[id] == Kind::kEnd) end_.push_back(id);
    // What is longer is no token of any text; leaving it out bounds the depth of the tree.
    if (bytes_[id].size() > kMaxTokenBytes) kinds_[id] = Kind::kSpecial;
  }
  sort_tokens();
  build_nodes();
  summarise();
  // What JSON strings are made of: nearly every grammar asks for it.
  RunCharacters json_string{.ascii = {}, .other = true};
  for (size_t c = 0x20; c < 0x80; ++c) json_string.ascii[c] = c != '"' && c != '\\';
  run_index(json_string)->by_length();
}

std::shared_ptr<const grammar::RunIndex> TokenVocabulary::run_index(const grammar::RunCharacters& characters) const {
  return run_indexes_->get(*this, characters);
}

std::string_view TokenVocabulary::text(int token) const {
  if (token < 0 || token >= size_ || kinds_[static_cast<size_t>(token)] != Kind::kText) return {};
  return bytes_[static_cast<size_t>(token)];
}

void TokenVocabulary::sort_tokens() {
  std::vector<std::pair<uint64_t, uint32_t>> keys;
  keys.reserve(bytes_.size());
  text_bits_.assign((static_cast<size_t>(size_) + 31) / 32, 0);
  for (uint32_t id = 0; id < bytes_.size(); ++id) {
    if (kinds_[id] != Kind::kText || bytes_[id].empty()) continue;
    keys.emplace_back(prefix_key(bytes_[id]), id);
    grammar::set_bit(text_bits_, id);
  }
  std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    const int order = bytes_[a.second].compare(bytes_[b.second]);
    return order != 0 ? order < 0 : a.second < b.second;
  });
  sorted_.reserve(keys.size());
  sorted_characters_.reserve(keys.size());
  for (const auto& [key, id] : keys) {
    sorted_.push_back(id);
    sorted_characters_.push_back(static_cast<uint16_t>(
        std::count_if(bytes_[id].begin(), bytes_[id].end(), [](char c) { return (c & 0xC0) != 0x80; })));
  }
}

void TokenVocabulary::build_nodes() {
  nodes_.push_back({});
  std::vector<uint32_t> path = {0};  // the node at each depth of the last text
  std::string_view last;
  const auto close_to = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodes_[path.back()].subtree_end = static_cast<uint32_t>(nodes_.size());
  };
  for (uint32_t i = 0; i < sorted_.size(); ++i) {
    const std::string_view text = bytes_[sorted_[i]];
    size_t common = 0;
    while (common < last.size() && common < text.size() && last[common] == text[common]) ++common;
    close_to(common);
    for (size_t depth = common; depth < text.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.subtree_end = 0,
                        .tokens_begin = i,
                        .depth = static_cast<uint16_t>(depth + 1),
                        .byte = static_cast<uint8_t>(text[depth])});
    }
    last = text;
  }
  close_to(0);
  nodes_[0].subtree_end = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(
      {.subtree_end = static_cast<uint32_t>(nodes_.size() + 1), .tokens_begin = static_cast<uint32_t>(sorted_.size())});
  nodes_.shrink_to_fit();
}

void TokenVocabulary::summarise() {
  const Utf8Table table = utf8_table();
  const auto count = static_cast<uint32_t>(nodes_.size() - 1);
  below_.resize(count);
  // Bit s: all ways down from here are UTF-8 when read from state s on.
  std::vector<uint8_t> readable(count, 0xFF);
  std::vector<uint32_t> parents(count, 0), path(1, 0);
  for (uint32_t node = 1; node < count; ++node) {
    path.resize(nodes_[node].depth);
    parents[node] = path.back();
    path.push_back(node);
  }
  for (uint32_t node = count - 1; node > 0; --node) {  // children before parents
    below_[node].is_utf8 = readable[node] & 1u << kBoundary;
    const uint8_t byte = nodes_[node].byte;
    Below& parent = below_[parents[node]];
    parent.ascii |= below_[node].ascii;
    byte < 0x80 ? void(parent.ascii.set(byte)) : void(parent.has_others = true);
    parent.has_others |= below_[node].has_others;
    const bool starts_character = byte < 0x80 || byte >= 0xC0;
    parent.max_characters = std::max<uint16_t>(parent.max_characters,
                                               static_cast<uint16_t>(below_[node].max_characters + starts_character));
    uint8_t from_parent = 0;
    for (size_t state = 0; state < 8; ++state) {
      const uint8_t then = table[state][byte];
      if (then != kBroken && (readable[node] >> then & 1)) from_parent |= static_cast<uint8_t>(1u << state);
    }
    readable[parents[node]] &= from_parent;
  }
  below_[0].is_utf8 = readable[0] & 1u << kBoundary;
}

}  // namespace wick
