#include "engine/sampling/grammar_guide.h"

#include <algorithm>

#include "base/error.h"

namespace wick {

GrammarGuide::GrammarGuide(const Grammar& grammar, const GrammarStart& start,
                           std::shared_ptr<const TokenVocabulary> vocabulary, int64_t vocabulary_size)
    : start_(start),
      vocabulary_(std::move(vocabulary)),
      state_(grammar, vocabulary_),
      mask_((static_cast<size_t>(vocabulary_size) + 31) / 32),
      stage_(start.is_thinking ? Stage::kThinking : Stage::kBeginning) {}

void GrammarGuide::allow(int32_t token) {
  const auto word = static_cast<size_t>(token) / 32;
  if (token >= 0 && word < mask_.size()) mask_[word] |= 1u << (token % 32);
}

std::span<const uint32_t> GrammarGuide::mask() {
  if (stage_ == Stage::kFree) return {};
  if (stage_ == Stage::kThinking) {  // the answer must not end before it has begun
    std::fill(mask_.begin(), mask_.end(), ~0u);
    for (const uint32_t end : vocabulary_->end_tokens()) {
      if (end / 32 < mask_.size()) mask_[end / 32] &= ~(1u << (end % 32));
    }
    return mask_;
  }
  if (forced_ < start_.forced.size()) {
    std::fill(mask_.begin(), mask_.end(), 0);
    allow(start_.forced[forced_]);
  } else if (!state_.mask(mask_)) {
    throw Error(ErrorCode::kInvalidArgument, "no token of the vocabulary continues the text as the grammar asks");
  }
  if (stage_ == Stage::kBeginning) allow(start_.think_open);
  if (stage_ == Stage::kBeginning || stage_ == Stage::kThought) allow(start_.leave);
  return mask_;
}

void GrammarGuide::accept(int32_t token) {
  switch (stage_) {
    case Stage::kFree: return;
    case Stage::kThinking:
      if (token == start_.think_close) stage_ = Stage::kThought;
      return;
    case Stage::kBeginning:
      if (token == start_.think_open) {
        stage_ = Stage::kThinking;
        return;
      }
      [[fallthrough]];
    case Stage::kThought:
      if (token == start_.leave) {
        stage_ = Stage::kFree;
        return;
      }
      [[fallthrough]];
    default: break;
  }
  stage_ = Stage::kInside;
  if (forced_ < start_.forced.size()) {
    ++forced_;
  } else {
    state_.accept(token);
  }
}

}  // namespace wick
