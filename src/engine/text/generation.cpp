#include "engine/text/generation.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace wick {

Generation::Generation(const TextModel& model, const GenerationParams& params, std::span<const int32_t> prompt)
    : model_(model),
      params_(params),
      sampler_(params.sampling, model.model().facts().vocabulary,
               [tokenizer = &model.tokenizer()](int32_t id) { return tokenizer->bytes(id); }),
      stream_(model.tokenizer(), params.stop, params.show_special) {
  sampler_.start(prompt);
  if (params.grammar) {
    guide_.emplace(*params.grammar, params.grammar_start, model.grammar_vocabulary(), model.model().facts().vocabulary);
  }
}

// A model with damaged weights is named as such, with the tensor at fault.
void Generation::check_numbers(std::span<const float> logits) const {
  int bad = 0;  // without leaving early: the compiler then looks at many at once
  for (const float x : logits) bad |= x != x;
  if (bad == 0) return;
  const std::string weight = model_.describe_bad_weight();
  throw Error(ErrorCode::kBadFile, cat(model_.name(), " computes NaN",
                                       weight.empty() ? ", though its weights are numbers" : cat(": ", weight)));
}

void Generation::add_draw(int64_t ahead, TokenDraws& to) {
  std::optional<TokenDraw> draw = guide_ && ahead > 0 ? std::nullopt : sampler_.plain_draw(ahead);
  if (draw && guide_) {
    try {
      const std::span<const uint32_t> mask = guide_->mask();
      const auto words = static_cast<size_t>(TokenDraws::mask_words(model_.model().facts().vocabulary));
      if (!mask.empty()) {
        draw->mask = static_cast<int32_t>(to.masks.size() / words);
        to.masks.insert(to.masks.end(), mask.begin(), mask.begin() + std::min(words, mask.size()));
        to.masks.resize((static_cast<size_t>(draw->mask) + 1) * words);  // no token beyond its end may come
      }
    } catch (const Error&) {
      draw.reset();  // take() says what is wrong
    }
  }
  if (draw) sampler_.add_edits(static_cast<int32_t>(to.rows.size()), to.edits);
  to.rows.push_back(draw.value_or(TokenDraw{.needs_row = true}));
}

Generation::Step Generation::take(const TokenLogits& logits) {
  Step step;
  if (logits.drawn >= 0) {
    step.sampled.token = logits.drawn;
  } else {
    check_numbers(logits.logits);
    step.sampled = sampler_.sample(logits.logits, guide_ ? guide_->mask() : std::span<const uint32_t>());
  }
  const int32_t token = step.sampled.token;
  if (model_.is_end(token) && !params_.ignore_end) {
    end(StopReason::kEndOfText);
    return step;
  }
  sampler_.accept(token);
  if (guide_) guide_->accept(token);
  tokens_.push_back(token);
  step.is_shown = true;
  step.text = stream_.push(token);
  text_ += step.text;
  if (stream_.stopped()) end(StopReason::kStopString);
  if (tokens_left() == 0) end(StopReason::kLength);
  return step;
}

int64_t Generation::tokens_left() const {
  if (params_.max_new_tokens < 0) return std::numeric_limits<int64_t>::max();
  return params_.max_new_tokens - static_cast<int64_t>(tokens_.size());
}

void Generation::end(StopReason reason) {
  if (!reason_) reason_ = reason;
}

std::string Generation::finish(GenerateResult& result) {
  std::string rest = stream_.finish();
  text_ += rest;
  if (stream_.stopped()) reason_ = StopReason::kStopString;
  result.tokens = tokens_;
  result.text = text_;
  result.reason = *reason_;
  result.stop = stream_.found();
  return rest;
}

}  // namespace wick
