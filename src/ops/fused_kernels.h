#pragma once

#include <span>

#include "ops/token_draw.h"
#include "tensor/tensor.h"

namespace wick {

struct KvBlocks;  // these three: ops/paged_attention.h
struct PagedRows;
struct PagedAttentionOptions;

// What FusedKernels::linear multiplies: x, its RMS norm, or silu(x) * up. All f32 and row-major; x itself may also be
// in the dtype of f16 or bf16 weights.
struct LinearInput {
  Tensor x;                 // [rows, k]
  Tensor norm_weight = {};  // [k]; undefined: no norm
  float eps = 0;
  Tensor up = {};  // [rows, k]; undefined: x itself
};

// One product of FusedKernels::linear.
struct LinearJob {
  Tensor weight;    // [n, k] of f32, f16, bf16 or packed; its elements lie along k
  Tensor bias;      // f32 [n]; undefined: none
  Tensor residual;  // f32 [rows, n], row-major; undefined: none
  Tensor out;       // f32 [rows, n], row-major
};

// What FusedKernels::attend takes: f32 [tokens, heads, dim], [tokens, kv_heads, dim] twice, row-major; dim at most 512.
struct AttentionInput {
  Tensor query, key, value;
};
// What it does to their heads.
struct HeadTurns {
  Tensor query_weight, key_weight;  // f32 [dim], of an RMS norm over each head; undefined: none
  float eps = 0;
  Tensor cos, sin;  // f32 [tokens, rotary / 2], row-major, as in rope; undefined: none. Of a graph they are inputs
  bool interleaved = false;
};

// How FusedKernels::mix_experts chooses: by the softmax of the router's answers or the sigmoid of each, the best, their
// scores scaled, and before that made to add up to one.
struct ExpertRouter {
  Tensor weight;          // [experts, hidden] of f32, f16 or bf16; its elements lie along hidden
  Tensor bias;            // f32 [experts]; undefined: none
  Tensor selection_bias;  // f32 [experts], added to the scores for choosing only; undefined: none
};
struct ExpertChoice {
  int64_t chosen = 0;
  bool renormalize = true;
  float scale = 1;
  bool sigmoid = false;
  int64_t groups = 1, chosen_groups = 1;  // as in Routing of nn/moe.h
};
struct ExpertWeights {  // [inner, hidden] twice, [hidden, inner]
  const Tensor *gate = nullptr, *up = nullptr, *down = nullptr;
  // f32; of all experts or of none. Those of one kind lie one behind the other.
  const Tensor *gate_bias = nullptr, *up_bias = nullptr, *down_bias = nullptr;
};
enum class ExpertGate : uint8_t { kSilu, kClamped };  // silu(gate) * up, or Activation::kClampedSwiglu

// Several ops in one, for devices where starting a kernel costs as much as a small one takes. They give the
// results of the ops one after the other up to rounding, a row's bits never depend on other rows, and like
// KernelTable's entries take what the caller has checked.
struct FusedKernels {
  // out = input weight^T + bias + residual for each job.
  void (*linear)(const LinearInput& input, std::span<const LinearJob> jobs) = nullptr;
  // silu(gate) * up of the two products, to gate.out, which may have the dtype of the weights; up.out stays undefined.
  // False, and nothing is done, where products of so many rows or such weights are better left apart.
  bool (*gated_linear)(const LinearInput& input, const LinearJob& gate, const LinearJob& up) = nullptr;
  // Norms and rotates the heads of queries and keys, puts keys and values into their blocks as store_kv does, and
  // writes what paged_attention gives to `out`, f32 [tokens, heads, dim].
  void (*attend)(const AttentionInput& input, const HeadTurns& turns, const KvBlocks& blocks, const PagedRows& rows,
                 const PagedAttentionOptions& options, const Tensor& out) = nullptr;
  // out [tokens, hidden] = residual + for each row of the input [tokens, hidden], the answers
  // down(silu(gate x) * up x) of the experts that the router chooses, times their shares. All f32 and row-major. False,
  // and nothing is done, unless all weights are f16, all bf16, or of packed formats that the device reads as they are:
  // one for gate and up, one for down.
  bool (*mix_experts)(const LinearInput& input, const ExpertRouter& router, const ExpertChoice& choice,
                      std::span<const ExpertWeights> experts, ExpertGate gate, const Tensor& residual,
                      const Tensor& out) = nullptr;
  // Draws a token from each row of logits, f32 [rows, n], row-major, n at most kMostExactWeights, which the edits
  // change: out, i32 [rows]. The same as on the host. -1 for a row with NaN or +inf, or with nothing but -inf.
  void (*draw_tokens)(const Tensor& logits, const TokenDraws& draws, const Tensor& out) = nullptr;
  // What draw_tokens gave, i32 [rows], as ids, i64 [rows]; 0 where no token was drawn.
  void (*place_tokens)(const Tensor& drawn, const Tensor& ids) = nullptr;
};

// Null where there are none.
const FusedKernels* fused_kernels(Device device);

}  // namespace wick
