#pragma once

#include <memory>
#include <span>

#include "base/function_ref.h"
#include "tensor/tensor.h"

namespace wick {

struct KvBlocks;  // these three: ops/layers/paged_attention.h
struct PagedRows;
struct PagedAttentionOptions;
struct LinearInput;  // these two: ops/layers/linear.h
struct LinearJob;
struct AttendInput;  // these two: ops/layers/paged_attention.h
struct HeadRotation;
struct ExpertRouter;  // these four: ops/layers/experts.h
struct ExpertChoice;
struct RoutedExperts;
struct ExpertWeights;
struct StateRows;   // ops/layers/recurrence.h
struct TokenDraws;  // ops/layers/token_draw.h
class DeviceGraph;  // ops/device_graph.h
enum class ExpertGate : uint8_t;

enum class UnaryOp : uint8_t {
  kNeg,
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kSqr,
  kRecip,
  kRelu,
  kGelu,
  kGeluTanh,
  kSilu,
  kSigmoid,
  kSoftplus,
  kTanh,
  kSin,
  kCos,
  kErf,
  kFloor,
  kCeil,
  kRound,
};
enum class BinaryOp : uint8_t { kAdd, kSub, kMul, kDiv, kPow, kMaximum, kMinimum };
enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };
enum class ReduceOp : uint8_t { kSum, kMean, kMax, kMin };
enum class ArgReduceOp : uint8_t { kArgMax, kArgMin };
enum class Triangle : uint8_t { kLower, kUpper };

struct AttentionParams {
  float scale = 1;
  bool causal = false;  // query i of n sees keys up to i + (keys - n): the last query sees all
};

// 2-d convolution; the 1-d ops use height 1.
struct Conv2dParams {
  int64_t stride_h = 1, stride_w = 1;
  int64_t padding_h = 0, padding_w = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t groups = 1;
};

struct Pool2dParams {
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1;
};

// What a device can do. The ops check shapes and dtypes, allocate the output and call one entry; a null entry means
// "not supported here" and the op says so. Kernels accept any strides on inputs unless noted; outputs are row-major
// unless noted. They never throw for shapes; memory they need in between comes from the caller's arena or is their own.
struct KernelTable {
  // Writes src into dst: same shape, any strides on both, any two dtypes (floats to integers truncate and saturate).
  void (*copy)(const Tensor& src, const Tensor& dst) = nullptr;

  // Element-wise. Inputs have the shape of `out` (broadcast with stride 0) and one dtype; compare writes u8.
  void (*unary)(UnaryOp op, const Tensor& x, const Tensor& out) = nullptr;
  void (*binary)(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) = nullptr;
  void (*compare)(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) = nullptr;
  void (*where)(const Tensor& condition, const Tensor& a, const Tensor& b,
                const Tensor& out) = nullptr;  // u8 condition
  void (*clamp)(const Tensor& x, double low, double high, const Tensor& out) = nullptr;

  // Reductions. `out` has the rank of x, with size 1 in every reduced dimension. kSum of integers writes i64, kMean of
  // integers f64; max and min propagate NaN. Empty sums are 0.
  void (*reduce)(ReduceOp op, const Tensor& x, const Tensor& out) = nullptr;
  void (*variance)(const Tensor& x, int64_t correction, const Tensor& out) = nullptr;
  // `out` is i64; the first of equal values wins; NaN counts as the largest (argmax) and smallest (argmin).
  void (*arg_reduce)(ArgReduceOp op, const Tensor& x, int dim, const Tensor& out) = nullptr;
  void (*cumsum)(const Tensor& x, int dim, const Tensor& out) = nullptr;
  // Stable; NaN sorts as the largest value. `indices` is i64.
  void (*sort)(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) = nullptr;
  // The first values.dim(dim) entries that a stable sort would give.
  void (*topk)(const Tensor& x, int dim, bool largest, const Tensor& values, const Tensor& indices) = nullptr;

  // a [batch..., m, k] x b [batch..., k, n] -> out [batch..., m, n]; batch dims are broadcast with stride 0.
  // Floats only; a and b may differ in dtype (f32 activations, bf16 weights); sums in f32, or f64 for f64.
  // A row of out depends only on that row of a and on b, bit for bit.
  void (*matmul)(const Tensor& a, const Tensor& b, const Tensor& out) = nullptr;
  // x [rows, k] in f32, f16 or bf16, row-major; w [n, k] packed, rows of whole blocks -> out [rows, n] in x's dtype.
  // Activations are rounded to 8 bits in blocks. A row of out depends only on that row of x and on w, bit for bit.
  void (*matmul_packed)(const Tensor& x, const Tensor& w, const Tensor& out) = nullptr;
  // w [n, k] packed, rows of whole blocks; `rows` [count] (i64, in range; undefined: all) -> out [count, k] f32.
  void (*dequantize)(const Tensor& w, const Tensor& rows, const Tensor& out) = nullptr;
  // q [batch, heads, queries, dim], k [batch, kv_heads, keys, dim], v [batch, kv_heads, keys, value_dim];
  // mask (may be undefined) is f32, added to the scores, broadcast to [batch, heads, queries, keys].
  // A query that may see no key at all gets zeros.
  void (*attention)(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                    const AttentionParams& params, const Tensor& out) = nullptr;

  // Both take what ops/layers/paged_attention.h describes, checked: unit strides in the last dimension of all, blocks
  // row-major within one head, ids in range. store_kv rounds to nearest even and leaves all other places of the blocks
  // alone.
  void (*store_kv)(const Tensor& key, const Tensor& value, const PagedRows& rows, const KvBlocks& blocks) = nullptr;
  // Looks up no block that no row sees and mixes no value that a row does not see into it. A row of out depends only on
  // its query, its position and its sequence's keys and values, bit for bit.
  void (*paged_attention)(const Tensor& query, const KvBlocks& blocks, const PagedRows& rows,
                          const PagedAttentionOptions& options, const Tensor& out) = nullptr;

  // Over the last dimension; weight and bias are [dim] and may be undefined.
  void (*layer_norm)(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps, const Tensor& out) = nullptr;
  void (*rms_norm)(const Tensor& x, const Tensor& weight, float eps, const Tensor& out) = nullptr;
  void (*softmax)(const Tensor& x, int dim, const Tensor& out) = nullptr;
  void (*log_softmax)(const Tensor& x, int dim, const Tensor& out) = nullptr;
  // x [..., tokens, dim]; cos, sin [tokens, rotary / 2] in f32. The first `rotary` components of each vector rotate;
  // the rest pass through. Pairs are (i, i + rotary/2), or (2i, 2i + 1) when interleaved.
  void (*rope)(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved, const Tensor& out) = nullptr;

  // Several ops in one: what a decoder layer is made of. Each gives the bits of the ops one after the other, and a
  // row's bits never depend on the other rows.
  //
  // job.out = (input weight^T + bias) + residual for each job, where the input may be normed or activated first.
  void (*linear)(const LinearInput& input, std::span<const LinearJob> jobs) = nullptr;
  // silu(gate) * up of the two products, to gate.out, which may have the dtype of the weights; up.out stays undefined.
  // False, and nothing is done, where products of so many rows or such weights are better left apart.
  bool (*gated_linear)(const LinearInput& input, const LinearJob& gate, const LinearJob& up) = nullptr;
  // Norms and rotates the heads of queries and keys, puts keys and values into their blocks as store_kv does, and
  // writes what paged_attention gives to `out`. `rotated`, where defined, holds the queries as attention sees them.
  void (*attend)(const AttendInput& input, const HeadRotation& rotation, const KvBlocks& blocks, const PagedRows& rows,
                 const PagedAttentionOptions& options, const Tensor& rotated, const Tensor& out) = nullptr;
  // The experts that each row's router logits choose, ascending, and their routing weights.
  // False, and nothing is done, for routers that the device does not read as they are.
  bool (*route_experts)(const LinearInput& input, const ExpertRouter& router, const ExpertChoice& choice,
                        const RoutedExperts& routed) = nullptr;
  // out = residual + the sum over a row's experts, in their order, of routing weight * (down(gate(x) * up(x))). False,
  // and nothing is done, for weights that the device does not read as they are.
  bool (*mix_experts)(const LinearInput& input, const RoutedExperts& routed, std::span<const ExpertWeights> experts,
                      ExpertGate gate, const Tensor& residual, const Tensor& out) = nullptr;

  // What moves from one row of a sequence to the next, in place: see ops/layers/recurrence.h, whose shapes these have.
  // All f32, the last dimension dense; rows of inputs may lie apart. A row's bits do not depend on where rows are cut.
  void (*causal_conv)(const Tensor& x, const Tensor& weight, const Tensor& bias, std::span<const StateRows> sequences,
                      const Tensor& out) = nullptr;
  void (*mamba_scan)(const Tensor& u, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a,
                     const Tensor& d, std::span<const StateRows> sequences, const Tensor& out) = nullptr;
  void (*mamba2_scan)(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a,
                      const Tensor& d, std::span<const StateRows> sequences, const Tensor& out) = nullptr;
  void (*rwkv_scan)(const Tensor& keys, const Tensor& values, const Tensor& decay, const Tensor& bonus,
                    std::span<const StateRows> sequences, const Tensor& out) = nullptr;
  void (*delta_rule_scan)(const Tensor& queries, const Tensor& keys, const Tensor& values, const Tensor& falls,
                          const Tensor& betas, std::span<const StateRows> sequences, const Tensor& out) = nullptr;

  // x [batch, in, h, w], weight [out, in / groups, kh, kw], bias [out] or undefined -> out [batch, out, oh, ow].
  void (*conv2d)(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                 const Tensor& out) = nullptr;
  // The transpose of conv2d, which is also its gradient by x: x [batch, in, h, w], weight [in, out / groups, kh, kw].
  void (*conv_transpose2d)(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                           const Tensor& out) = nullptr;
  // The gradient of conv2d by its weight: x and grad (of conv2d's output) -> out shaped like the weight.
  void (*conv2d_weight_grad)(const Tensor& x, const Tensor& grad, const Conv2dParams& params,
                             const Tensor& out) = nullptr;
  void (*avg_pool2d)(const Tensor& x, const Pool2dParams& params, const Tensor& out) = nullptr;
  void (*avg_pool2d_grad)(const Tensor& grad, const Pool2dParams& params, const Tensor& out) = nullptr;
  // `indices` (i64) is the position h * width + w of each maximum in its plane.
  void (*max_pool2d)(const Tensor& x, const Pool2dParams& params, const Tensor& out, const Tensor& indices) = nullptr;
  // Separable resampling of x [batch, channels, h, w]. Output row i is the weighted sum of input rows
  // rows_index[i, t] with rows_weight[i, t] ([out_h, taps]; i64, and f32 or for f64 images f64); the same for columns.
  void (*resample2d)(const Tensor& x, const Tensor& rows_index, const Tensor& rows_weight, const Tensor& cols_index,
                     const Tensor& cols_weight, const Tensor& out) = nullptr;

  // Indices are i64 and already checked to be in range.
  void (*gather)(const Tensor& x, int dim, const Tensor& index, const Tensor& out) = nullptr;
  // Both start from `out` holding a copy of the target. scatter: the last of several writes to one place wins.
  void (*scatter)(const Tensor& out, int dim, const Tensor& index, const Tensor& src) = nullptr;
  void (*scatter_add)(const Tensor& out, int dim, const Tensor& index, const Tensor& src) = nullptr;
  void (*index_select)(const Tensor& x, int dim, const Tensor& index, const Tensor& out) = nullptr;  // index [n]
  void (*index_add)(const Tensor& out, int dim, const Tensor& index, const Tensor& src) = nullptr;
  // Keeps columns j <= i + diagonal (lower) or j >= i + diagonal (upper) of the last two dims; zeros elsewhere.
  void (*triangle)(Triangle part, const Tensor& x, int64_t diagonal, const Tensor& out) = nullptr;

  // Draws a token from each row of logits, f32 [rows, n], row-major, n at most kMostExactWeights, which the edits
  // change: out, i32 [rows]. The same as on the host. -1 for a row with NaN or +inf, or with nothing but -inf.
  void (*draw_tokens)(const Tensor& logits, const TokenDraws& draws, const Tensor& out) = nullptr;
  // What draw_tokens gave, i32 [rows], as ids, i64 [rows]; 0 where no token was drawn.
  void (*place_tokens)(const Tensor& drawn, const Tensor& ids) = nullptr;
  // Writes down what `body` would start, without running it: see ops/device_graph.h.
  std::unique_ptr<DeviceGraph> (*capture_graph)(Device device, FunctionRef<void()> body) = nullptr;
};

// One table per backend, each defined in backends/<name>/table.cpp.
const KernelTable& reference_kernels();
const KernelTable& cpu_kernels();
#if WICK_CUDA
const KernelTable& cuda_kernels();
#endif

}  // namespace wick
