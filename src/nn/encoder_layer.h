#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "hooks/batch_hooks.h"
#include "nn/mlp.h"
#include "nn/relative_bias.h"
#include "nn/rope.h"

namespace wick {

// What the layers of an encoder need to know of the rows they are given.
struct EncoderStep {
  explicit EncoderStep(std::span<const int64_t> of, const BatchHooks* hooked = nullptr) : lengths(of), hooks(hooked) {}

  std::span<const int64_t> lengths;  // of the texts or windows, which follow each other; rows see those of their own
  const BatchHooks* hooks = nullptr;
  // Which keys `length` rows see that see `window` to each side, u8 [1, 1, length, length]; made once.
  const Tensor& band(int64_t length, int64_t window);
  // Of a text's rows from `first` on, kRowsAtOnce or those that are left; made once where they are all.
  static constexpr int64_t kRowsAtOnce = 512;
  Tensor bias(const RelativeBias& relative, int64_t length, int64_t first);

 private:
  std::map<std::pair<int64_t, int64_t>, Tensor> bands_;
  std::map<std::pair<const RelativeBias*, int64_t>, Tensor> biases_;
};

// `count` rows of a fused weight, from `begin` on, with their biases.
Linear weight_rows(const Linear& whole, int64_t begin, int64_t count);

// Attention in both directions and an MLP, each adding to its input: behind a norm (Whisper, ModernBERT), or with the
// norm behind the sum (BERT). A row's result depends on its text alone, bit for bit.
struct EncoderLayer {
  Norm attn_norm, mlp_norm;
  Norm attn_post_norm, mlp_post_norm;  // of what a part gives, before it is added
  Norm q_norm, k_norm;                 // of each head, before it is rotated
  bool norms_sums = false;             // the norms stand behind the sums
  Linear q, k, v, out;
  int64_t heads = 0, kv_heads = 0;               // kv_heads 0: as many
  int64_t window = 0;                            // rows that a row sees to each side; 0: all
  std::shared_ptr<const RelativeBias> relative;  // null: none; not beside a window
  std::optional<float> scale;                    // of scores; 1 / sqrt(head_dim) when empty
  bool causal = false;                           // rows see those before them and themselves
  Tensor attn_scale, mlp_scale;                  // f32 [width]: of what each half adds; undefined: none
  Mlp mlp;

  // x [rows, width]; `rope` undefined: positions are not rotated.
  Tensor operator()(const Tensor& x, EncoderStep& step, const RopeRows& rope, bool interleaved, int layer) const;

 private:
  Tensor attend(const LinearInput& input, EncoderStep& step, const RopeRows& rope, bool interleaved, int layer) const;
};

}  // namespace wick
