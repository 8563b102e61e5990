#pragma once

#include <memory>
#include <vector>

#include "engine/sampling/sampler.h"
#include "models/language_model.h"
#include "tensor/host_copy.h"
#include "tensor/tensor.h"

namespace wick {

// Rows of logits [rows, vocabulary] where the model left them. Of a row from which the device can draw, no more than
// the token comes to the host.
class Logits {
 public:
  // Sets the device to work and does not wait for it. Where can_draw() is false, nothing needs to be said of the rows.
  Logits(Tensor logits, const TokenDraws& draws);
  static bool can_draw(const LanguageModel& model);

  // i32 [rows] on the device, if all rows are drawn there: what they will be, -1 where none can be; else undefined.
  Tensor drawn() const;
  void fetch();                      // waits for what row() gives
  bool all_drawn() const;            // once fetched: all are what drawn() has
  TokenLogits row(int64_t i) const;  // once fetched

 private:
  Tensor logits_, drawn_;           // see draw_tokens(); logits are on the host once fetched, if all are needed
  std::unique_ptr<HostCopy> copy_;  // of drawn_
  std::vector<int32_t> tokens_;     // what it brought
  std::vector<char> is_wanted_;     // whether the token of row i is; empty: none is drawn
  std::vector<Tensor> rows_;        // those that are not drawn, if others are
};

}  // namespace wick
