#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "speech/ctc/ctc_decode.h"

namespace wick {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr int64_t kMostCandidates = 64;

double log_sum(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

// Beginnings of texts as a tree: a node is the node before and a token.
class Beginnings {
 public:
  static uint64_t key(int32_t parent, int32_t token) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(parent)) << 32) | static_cast<uint32_t>(token);
  }
  int32_t node(int32_t parent, int32_t token) {
    const auto [place, is_new] = known_.try_emplace(key(parent, token), static_cast<int32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({parent, token});
    return place->second;
  }
  int32_t parent(int32_t node) const { return nodes_[static_cast<size_t>(node)].parent; }
  int32_t token(int32_t node) const { return nodes_[static_cast<size_t>(node)].token; }

 private:
  struct Node {
    int32_t parent, token;
  };
  std::vector<Node> nodes_ = {{-1, -1}};  // the empty text
  std::unordered_map<uint64_t, int32_t> known_;
};

// A beginning with the ways that lead to it, apart by what they end in.
struct Followed {
  int32_t parent = -1, token = -1;  // -1, -1: the empty text
  double in_blank = kNever, in_token = kNever;
  int32_t node = 0;  // -1: not in the tree yet
  double total = 0;  // of both, once the frame is done
};

// The likeliest tokens of a frame, without the blank.
void find_candidates(const float* row, const CtcFrames& frames, std::vector<int32_t>& candidates) {
  candidates.resize(static_cast<size_t>(frames.vocabulary));
  std::iota(candidates.begin(), candidates.end(), 0);
  candidates.erase(candidates.begin() + frames.blank);
  if (std::ssize(candidates) <= kMostCandidates) return;
  std::nth_element(candidates.begin(), candidates.begin() + kMostCandidates, candidates.end(),
                   [&](int32_t a, int32_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
  candidates.resize(kMostCandidates);
  std::sort(candidates.begin(), candidates.end());
}

}  // namespace

CtcText ctc_beam(const CtcFrames& frames, int64_t beams) {
  if (beams < 1) throw Error(ErrorCode::kInvalidArgument, cat("CTC: ", beams, " beams"));
  check_frames(frames);
  Beginnings tree;
  std::vector<Followed> beam = {{.in_blank = 0, .total = 0}}, next;
  std::unordered_map<uint64_t, size_t> places;  // in `next`
  std::vector<int32_t> candidates;
  const auto entry = [&](int32_t parent, int32_t token) -> Followed& {
    const auto [place, is_new] = places.try_emplace(Beginnings::key(parent, token), next.size());
    if (is_new) next.push_back({.parent = parent, .token = token, .node = -1});
    return next[place->second];
  };
  for (int64_t at = 0; at < frames.count(); ++at) {
    const float* row = frames.row(at);
    find_candidates(row, frames, candidates);
    next.clear();
    places.clear();
    for (const Followed& from : beam) {
      Followed& same = entry(from.parent, from.token);
      same.node = from.node;
      same.in_blank = log_sum(same.in_blank, from.total + row[frames.blank]);
      if (from.token >= 0) same.in_token = log_sum(same.in_token, from.in_token + row[from.token]);
      for (const int32_t token : candidates) {
        // The same token again is a new one only behind a blank.
        Followed& longer = entry(from.node, token);
        longer.in_token = log_sum(longer.in_token, (token == from.token ? from.in_blank : from.total) + row[token]);
      }
    }
    for (Followed& one : next) one.total = log_sum(one.in_blank, one.in_token);
    const auto kept = std::min(beams, std::ssize(next));
    std::stable_sort(next.begin(), next.end(), [](const Followed& a, const Followed& b) { return a.total > b.total; });
    next.resize(static_cast<size_t>(kept));
    for (Followed& one : next) {
      if (one.node < 0) one.node = tree.node(one.parent, one.token);
    }
    std::swap(beam, next);
  }
  std::vector<int32_t> text;
  for (int32_t node = beam.front().node; node != 0; node = tree.parent(node)) text.push_back(tree.token(node));
  std::reverse(text.begin(), text.end());
  const auto aligned = ctc_align(frames, text);
  return {aligned ? aligned->tokens : std::vector<CtcToken>(), beam.front().total};
}

}  // namespace wick
