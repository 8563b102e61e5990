#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "graph/operators/attention.h"
#include "graph/operators/matmul.h"
#include "graph/operators/norm.h"
#include "graph/operators/quantised.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/rearrange.h"
#include "ops/reduction.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

// --- Activations ---

Tensor biased(OpRun& run) { return run.has(1) ? add(run.tensor(0), run.tensor(1)) : run.tensor(0); }
void gelu_op(OpRun& run) { run.set(0, gelu(biased(run))); }
void fast_gelu_op(OpRun& run) { run.set(0, gelu_tanh(biased(run))); }
void quick_gelu_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  run.set(0, mul(x, sigmoid(mul(x, static_cast<double>(run.get("alpha", 1.702f))))));
}

// --- Norms ---

// x, skip, gamma, then beta (of a layer norm) and bias.
template <bool kRms>
void skip_norm_op(OpRun& run) {
  const int beta = 3, bias = kRms ? 3 : 4;
  Tensor total = add(run.tensor(0), run.tensor(1));
  if (run.has(bias)) total = add(total, run.tensor(bias));
  const float epsilon = run.get("epsilon", kRms ? 1e-5f : 1e-12f);
  const int64_t columns = total.dim(-1);
  run.set(0, kRms ? rms_norm_rows(total, run.tensor(2), columns, epsilon)
                  : norm_rows(total, run.tensor(2), run.tensor_or_none(beta), columns, epsilon));
  if (run.wants(1) || run.wants(2)) throw not_offered("means and deviations are asked for");
  run.set(3, total);
}

// input_ids, segment_ids, word, position and segment embeddings, gamma, beta, mask, position_ids
void embed_norm_op(OpRun& run) {
  const Tensor ids = run.tensor(0).to_dtype(DType::kI64);
  if (ids.rank() != 2) throw Error(ErrorCode::kShape, cat("input_ids are ", ids.shape()));
  Tensor total = embedding(ids, run.tensor(2));
  const Tensor positions =
      run.has(8) ? run.tensor(8).to_dtype(DType::kI64) : arange(0, static_cast<double>(ids.dim(1)), 1, DType::kI64);
  total = add(total, embedding(positions, run.tensor(3)));
  if (run.has(1) && run.has(4)) total = add(total, embedding(run.tensor(1).to_dtype(DType::kI64), run.tensor(4)));
  run.set(0, norm_rows(total, run.tensor(5), run.tensor(6), total.dim(-1), run.get("epsilon", 1e-12f)));
  if (run.wants(1))
    run.set(1, run.has(7) ? sum(run.tensor(7).to_dtype(DType::kI32), {1}).to_dtype(DType::kI32)
                          : zeros({ids.dim(0)}, DType::kI32));
  run.set(2, total);
}

// --- Products ---

void fused_matmul_op(OpRun& run) {
  Tensor a = run.tensor(0), b = run.tensor(1);
  if (run.get("transBatchA", int64_t{0}) != 0 || run.get("transBatchB", int64_t{0}) != 0)
    throw not_offered("transBatchA or transBatchB is given");
  if (run.get("transA", int64_t{0}) != 0 && a.rank() > 1) a = transpose(a, -1, -2);
  if (run.get("transB", int64_t{0}) != 0 && b.rank() > 1) b = transpose(b, -1, -2);
  const double alpha = run.get("alpha", 1.0f);
  const Tensor out = multiply(a, b);
  run.set(0, alpha == 1 ? out : mul(out, alpha));
}

struct Unpacked {
  Tensor weight;  // f32 [n, k]
};

// B: [n, blocks, bytes] of numbers with `bits` bits, the lowest first; a scale and perhaps a zero point per block.
Tensor unpack_weight(OpRun& run, int64_t k, int64_t n, int64_t bits, int64_t block) {
  const int64_t blocks = ceil_div(k, block), per_byte = 8 / bits, bytes = ceil_div(block, per_byte),
                mask = (1 << bits) - 1;
  const Flat<uint8_t> packed(run.tensor(1));
  const Floats scales(run.tensor(2));
  if (packed.size() != n * blocks * bytes || scales.size() != n * blocks)
    throw Error(ErrorCode::kShape, cat("B ", packed.shape(), " and scales ", scales.shape(), " for [", n, ", ", k,
                                       "] in blocks of ", block));
  const int64_t zero_bytes = ceil_div(blocks, per_byte);
  const bool packed_zeros = run.has(3) && run.type(3) == ElementType::kU8;
  const Tensor zeros = run.tensor_or_none(3);
  if (zeros.defined() && zeros.numel() != (packed_zeros ? n * zero_bytes : n * blocks))
    throw Error(ErrorCode::kShape, cat("zero points ", zeros.shape()));
  const Floats zero_values(zeros.defined() ? zeros : scalar(0));
  Floats out(Shape{n, k});
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t b = 0; b < blocks; ++b) {
      float zero = static_cast<float>(1 << (bits - 1));
      if (packed_zeros) {
        const auto byte = static_cast<int64_t>(zero_values[row * zero_bytes + b / per_byte]);
        zero = static_cast<float>(byte >> (b % per_byte * bits) & mask);
      } else if (zeros.defined()) {
        zero = zero_values[row * blocks + b];
      }
      const float scale = scales[row * blocks + b];
      for (int64_t i = 0; i < std::min(block, k - b * block); ++i) {
        const int64_t byte = packed[(row * blocks + b) * bytes + i / per_byte];
        out.out()[row * k + b * block + i] = (static_cast<float>(byte >> (i % per_byte * bits) & mask) - zero) * scale;
      }
    }
  }
  return out.tensor();
}

// A, B, scales, zero_points, g_idx, bias
void matmul_nbits_op(OpRun& run) {
  const int64_t k = run.needed("K"), n = run.needed("N"), bits = run.get("bits", int64_t{4}),
                block = run.needed("block_size");
  if (run.has(4)) throw not_offered("g_idx is given");
  if ((bits != 2 && bits != 4 && bits != 8) || block < 16 || k < 1 || n < 1 || !checked_mul(k, n))
    throw bad_input(cat(bits, " bits in blocks of ", block, " of [", n, ", ", k, "]"));
  Tensor weight;
  const bool stays = run.is_constant(1) && run.is_constant(2) && (!run.has(3) || run.is_constant(3));
  if (stays) {
    Unpacked& kept = run.prepared<Unpacked>();
    if (!kept.weight.defined()) kept.weight = unpack_weight(run, k, n, bits, block);
    weight = kept.weight;
  } else {
    weight = unpack_weight(run, k, n, bits, block);
  }
  Tensor out = matmul(run.tensor(0).to_dtype(DType::kF32), transpose(weight, 0, 1));
  if (run.has(5)) out = add(out, run.tensor(5).to_dtype(DType::kF32));
  run.set(0, store(out, run.type(0)));
}

// A (u8 or i8), B, a_scale, b_scale, a_zero, b_zero, bias
void matmul_integer_to_float_op(OpRun& run) {
  const auto centred = [&](int input, int zero) {
    check_bytes(run, input);
    const Tensor x = run.tensor(input).to_dtype(DType::kF32);
    return run.has(zero) ? sub(x, run.tensor(zero).to_dtype(DType::kF32)) : x;
  };
  const Tensor sums = multiply_whole(centred(0, 4), centred(1, 5)).to_dtype(DType::kF32);
  Tensor out = mul(sums, mul(run.tensor(2), run.tensor(3)));
  if (run.has(6)) out = add(out, run.tensor(6));
  run.set(0, out);
}

// A (f32), B, b_scale, b_zero, bias: A is rounded to 8 bits as DynamicQuantizeLinear does.
void dynamic_quantize_matmul_op(OpRun& run) {
  const Tensor x = run.tensor(0).contiguous();
  const double low = x.numel() ? std::min(min(x).item(), 0.0) : 0, high = x.numel() ? std::max(max(x).item(), 0.0) : 0;
  const auto scale = static_cast<float>((high - low) / 255);
  Scaling s;
  s.scale = scalar(scale == 0 ? 1 : scale);
  const float zero = scale == 0 ? 0 : std::clamp(std::nearbyint(static_cast<float>(-low) / scale), 0.0f, 255.0f);
  s.zero = scalar(zero);
  check_bytes(run, 1);
  Tensor b = run.tensor(1).to_dtype(DType::kF32);
  if (run.has(3)) b = sub(b, run.tensor(3).to_dtype(DType::kF32));
  const Tensor sums = multiply_whole(sub(quantise(x, s, 0, 255), static_cast<double>(zero)), b).to_dtype(DType::kF32);
  Tensor out = mul(sums, mul(run.tensor(2), static_cast<double>(scale)));
  if (run.has(4)) out = add(out, run.tensor(4));
  run.set(0, out);
}

// input, weight, bias, input_scale, weight_scale, mask_index, input_zero, weight_zero: an Attention in 8 bits.
void qattention_op(OpRun& run) {
  if (run.has(5) || run.has(8)) throw not_offered("a mask or a past is given");
  const int64_t heads = run.needed("num_heads");
  const auto centred = [&](int input, int zero) {
    check_bytes(run, input);
    const Tensor x = run.tensor(input).to_dtype(DType::kF32);
    return run.has(zero) ? sub(x, run.tensor(zero).to_dtype(DType::kF32)) : x;
  };
  const Tensor sums = multiply_whole(centred(0, 6), centred(1, 7)).to_dtype(DType::kF32);
  const Tensor all = add(mul(sums, mul(run.tensor(3), run.tensor(4))), run.tensor(2));
  const int64_t size = all.dim(-1) / 3;
  AttendWays ways;
  ways.causal = run.get("unidirectional", int64_t{0}) != 0;
  ways.scale = run.get("scale", 0.0f);
  const auto part = [&](int64_t which) { return split_heads(narrow(all, -1, which * size, size), heads); };
  run.set(0, merge_heads(attend(part(0), part(1), part(2), ways)));
}

// --- Of 8-bit tensors, through f32 ---

Tensor wide(OpRun& run, int input) {  // x, scale, zero
  Tensor x = run.tensor(input).to_dtype(DType::kF32);
  if (run.has(input + 2)) x = sub(x, run.number_at(input + 2));
  return mul(x, run.number_at(input + 1));
}
void set_narrow(OpRun& run, const Tensor& x, int scale, int zero, ElementType type) {
  Scaling s;
  s.scale = scalar(run.number_at(scale));
  if (run.has(zero)) s.zero = scalar(run.number_at(zero));
  run.set(0, store(quantise(x, s, lowest_of(type), highest_of(type)), type));
}
void qlinear_add_op(OpRun& run) { set_narrow(run, add(wide(run, 0), wide(run, 3)), 6, 7, run.type(0)); }
void qlinear_mul_op(OpRun& run) { set_narrow(run, mul(wide(run, 0), wide(run, 3)), 6, 7, run.type(0)); }
void qlinear_sigmoid_op(OpRun& run) { set_narrow(run, sigmoid(wide(run, 0)), 3, 4, run.type(0)); }
void qlinear_leaky_relu_op(OpRun& run) {
  const Tensor x = wide(run, 0);
  set_narrow(run, maximum(x, mul(x, static_cast<double>(run.get("alpha", 0.01f)))), 3, 4, run.type(0));
}
void qlinear_softmax_op(OpRun& run) {
  const Tensor x = wide(run, 0);
  set_narrow(run, softmax(x, axis_of(run.get("axis", int64_t{-1}), x.rank())), 3, 4, run.type(0));
}
void qlinear_global_average_op(OpRun& run) {
  if (run.get("channels_last", int64_t{0}) != 0) throw not_offered("channels_last is given");
  const Tensor x = wide(run, 0);
  std::vector<int64_t> dims;
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  set_narrow(run, mean(x, dims, true), 3, 4, run.type(0));
}
void qlinear_concat_op(OpRun& run) {  // y_scale, y_zero, then x, scale, zero of each
  std::vector<Tensor> parts;
  for (int i = 2; i + 2 < run.input_count(); i += 3) parts.push_back(wide(run, i));
  if (parts.empty()) throw bad_input("there is nothing to join");
  set_narrow(run, concat(parts, axis_of(run.needed("axis"), parts[0].rank())), 0, 1, run.type(2));
}

// The same operators as in ai.onnx, by its other name.
void quantize_op(OpRun& run) { find_operator("", "QuantizeLinear")->run(run); }
void dequantize_op(OpRun& run) { find_operator("", "DequantizeLinear")->run(run); }
void conv_op(OpRun& run) { find_operator("", "Conv")->run(run); }

constexpr Operator kOperators[] = {
    {"Attention", microsoft_attention_op,
     "num_heads unidirectional scale mask_filter_value qkv_hidden_sizes do_rotary past_present_share_buffer"},
    {"BiasGelu", gelu_op},
    {"DequantizeLinear", dequantize_op, "axis block_size"},
    {"DynamicQuantizeMatMul", dynamic_quantize_matmul_op},
    {"EmbedLayerNormalization", embed_norm_op, "epsilon mask_index_type"},
    {"FastGelu", fast_gelu_op},
    {"FusedConv", conv_op, "auto_pad dilations group kernel_shape pads strides activation activation_params"},
    {"FusedMatMul", fused_matmul_op, "alpha transA transB transBatchA transBatchB"},
    {"Gelu", gelu_op},
    {"GroupQueryAttention", group_query_attention_op,
     "num_heads kv_num_heads scale softcap do_rotary rotary_interleaved local_window_size smooth_softmax k_quant_type "
     "v_quant_type kv_cache_bit_width"},
    {"MatMulIntegerToFloat", matmul_integer_to_float_op},
    {"MatMulNBits", matmul_nbits_op, "K N accuracy_level bits block_size"},
    {"MultiHeadAttention", multi_head_attention_op, "num_heads mask_filter_value scale unidirectional"},
    {"QAttention", qattention_op, "num_heads unidirectional scale"},
    {"QLinearAdd", qlinear_add_op},
    {"QLinearConcat", qlinear_concat_op, "axis"},
    {"QLinearGlobalAveragePool", qlinear_global_average_op, "channels_last"},
    {"QLinearLeakyRelu", qlinear_leaky_relu_op, "alpha"},
    {"QLinearMul", qlinear_mul_op},
    {"QLinearSigmoid", qlinear_sigmoid_op},
    {"QLinearSoftmax", qlinear_softmax_op, "axis opset"},
    {"QuantizeLinear", quantize_op, "axis block_size saturate"},
    {"QuickGelu", quick_gelu_op, "alpha"},
    {"RotaryEmbedding", microsoft_rotary_op, "interleaved is_packed_batching num_heads rotary_embedding_dim scale"},
    {"SimplifiedLayerNormalization", simplified_layer_norm_op, "axis epsilon stash_type"},
    {"SkipLayerNormalization", skip_norm_op<false>, "epsilon"},
    {"SkipSimplifiedLayerNormalization", skip_norm_op<true>, "epsilon"},
};

}  // namespace

Operators microsoft_operators() { return kOperators; }

}  // namespace wick::graph
