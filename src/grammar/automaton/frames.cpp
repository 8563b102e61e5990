#include "grammar/automaton/frames.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxReturns = 20000;

}  // namespace

FrameTable::FrameTable() {
  std::vector<ReturnTo> none;
  intern(true, none);
}

FrameId FrameTable::intern(bool is_outermost, std::vector<ReturnTo>& returns, const MarkSet& marks) {
  if (returns.size() > 1) {
    std::sort(returns.begin(), returns.end());
    returns.erase(std::unique(returns.begin(), returns.end()), returns.end());
  }
  if (returns.size() > kMaxReturns) {
    throw Error(ErrorCode::kUnsupported, cat("grammar: too ambiguous: more than ", kMaxReturns, " ways to go on"));
  }
  uint64_t hash = is_outermost;
  for (const ReturnTo& to : returns) hash = mix_hash(hash, uint64_t{to.position} << 32 | to.frame);
  for (const uint64_t word : marks) hash = mix_hash(hash, word);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    const Frame& frame = frames_[found->second];
    if (frame.is_outermost == is_outermost && frame.returns == returns && frame.marks == marks) return found->second;
  }
  Frame frame{.is_outermost = is_outermost, .depth = 0, .returns = returns, .marks = marks};
  for (const ReturnTo& to : returns) frame.depth = std::max(frame.depth, frames_[to.frame].depth + 1);
  bytes_ += sizeof(Frame) + 64 + returns.size() * sizeof(ReturnTo) + marks.size() * sizeof(uint64_t);
  frames_.push_back(std::move(frame));
  by_hash_.emplace(hash, static_cast<FrameId>(frames_.size() - 1));
  return static_cast<FrameId>(frames_.size() - 1);
}

FrameId FrameTable::unite(FrameId a, FrameId b) {
  if (a == b) return a;
  std::vector<ReturnTo> returns = frames_[a].returns;
  returns.insert(returns.end(), frames_[b].returns.begin(), frames_[b].returns.end());
  return intern(frames_[a].is_outermost || frames_[b].is_outermost, returns, frames_[a].marks);
}

FrameId FrameTable::with_marks(FrameId id, const MarkSet& more) {
  const Frame& frame = frames_[id];
  std::vector<ReturnTo> returns = frame.returns;
  MarkSet marks = frame.marks;
  add_marks(marks, more);
  return intern(frame.is_outermost, returns, marks);
}

}  // namespace wick::grammar
