#pragma once

#include <span>

#include "tensor/tensor.h"

namespace wick {

struct KvBlocks;  // these two: ops/paged_attention.h
struct PagedRows;

// What FusedKernels::linear multiplies: x, its RMS norm, or silu(x) * up. All f32 and row-major.
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

// What FusedKernels::prepare_attention does to heads.
struct HeadTurns {
  Tensor query_weight, key_weight;  // f32 [dim], of an RMS norm over each head; undefined: none
  float eps = 0;
  Tensor cos, sin;  // f32 [tokens, rotary / 2], row-major, as in rope; undefined: none
  bool interleaved = false;
};

// How FusedKernels::mix_experts chooses: the best by score, their weights scaled, and before that made to add up to
// one.
struct ExpertChoice {
  int64_t chosen = 0;
  bool renormalize = true;
  float scale = 1;
};
struct ExpertWeights {  // [inner, hidden] twice, [hidden, inner]
  const Tensor *gate = nullptr, *up = nullptr, *down = nullptr;
};

// Several ops in one, for devices where starting a kernel costs as much as a small one takes. They give the
// results of the ops one after the other up to rounding, a row's bits never depend on other rows, and like
// KernelTable's entries take what the caller has checked.
struct FusedKernels {
  // out = input weight^T + bias + residual for each job.
  void (*linear)(const LinearInput& input, std::span<const LinearJob> jobs) = nullptr;
  // silu(gate) * up of the two products, to gate.out; up.out stays undefined. False, and nothing is done, where
  // products of so many rows or such weights are better left apart.
  bool (*gated_linear)(const LinearInput& input, const LinearJob& gate, const LinearJob& up) = nullptr;
  // Norms and rotates the heads of queries and keys, puts keys and values into their blocks as store_kv does, and
  // writes the queries to `out`. query, key, value, out: f32 [tokens, heads, dim], row-major; dim at most 512.
  void (*prepare_attention)(const Tensor& query, const Tensor& key, const Tensor& value, const HeadTurns& turns,
                            const PagedRows& rows, const KvBlocks& blocks, const Tensor& out) = nullptr;
  // out [tokens, hidden] = for each row of x [tokens, hidden], the answers down(silu(gate x) * up x) of the experts
  // with the best scores [tokens, experts] (plus selection_bias [experts], where defined), times their weights. All f32
  // and row-major. False, and nothing is done, for many tokens and weights that are not f16 or bf16.
  bool (*mix_experts)(const Tensor& x, const Tensor& scores, const Tensor& selection_bias, const ExpertChoice& choice,
                      std::span<const ExpertWeights> experts, const Tensor& out) = nullptr;
};

// Null where there are none.
const FusedKernels* fused_kernels(Device device);

}  // namespace wick
