#include "engine/sampling/logits.h"

#include <algorithm>

#include "ops/layers/draw_tokens.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {

bool Logits::can_draw(const LanguageModel& model) { return can_draw_tokens(model.device(), model.facts().vocabulary); }

Logits::Logits(Tensor logits, const TokenDraws& draws) : logits_(std::move(logits)) {
  if (std::ranges::all_of(draws.rows, &TokenDraw::needs_row)) return;
  for (const TokenDraw& draw : draws.rows) is_wanted_.push_back(!draw.needs_row);
  logits_ = logits_.contiguous();
  drawn_ = draw_tokens(logits_, draws);
  copy_ = start_host_copy(drawn_);
}

Tensor Logits::drawn() const {
  const bool all = !is_wanted_.empty() && std::ranges::all_of(is_wanted_, [](char is) { return is != 0; });
  return all ? drawn_ : Tensor();
}

bool Logits::all_drawn() const {
  return drawn().defined() && std::ranges::all_of(tokens_, [](int32_t token) { return token >= 0; });
}

void Logits::fetch() {
  if (is_wanted_.empty()) {
    logits_ = logits_.to_device(Device::cpu());
    return;
  }
  const auto* tokens = static_cast<const int32_t*>(copy_->wait());
  tokens_.assign(tokens, tokens + is_wanted_.size());
  rows_.resize(is_wanted_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    const bool is_drawn = is_wanted_[i] && tokens_[i] >= 0;
    if (!is_drawn) rows_[i] = narrow(logits_, 0, static_cast<int64_t>(i), 1).to_device(Device::cpu()).contiguous();
  }
}

TokenLogits Logits::row(int64_t i) const {
  const auto size = static_cast<size_t>(logits_.dim(1));
  if (is_wanted_.empty()) return {{logits_.data<float>() + i * logits_.dim(1), size}};
  const Tensor& row = rows_[static_cast<size_t>(i)];
  if (row.defined()) return {{row.data<float>(), size}};
  return {{}, tokens_[static_cast<size_t>(i)]};
}

}  // namespace wick
