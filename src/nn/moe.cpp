#include "nn/moe.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/binary.h"
#include "ops/index.h"
#include "ops/rearrange.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

// With ops, expert by expert, for what no kernel takes. A row's experts are added by their number.
Tensor mix_one_by_one(const Tensor& x, const RoutedExperts& routed, std::span<const Mlp> experts, int layer) {
  const Device device = x.device();
  const BatchHooks unhooked;
  const Tensor dense = dense_routing_weights(routed, static_cast<int64_t>(experts.size()));
  Tensor out = zeros(x.shape(), DType::kF32, device);
  for (size_t expert = 0; expert < experts.size(); ++expert) {
    std::vector<int64_t> rows;
    std::vector<float> parts;
    for (int64_t row = 0; row < x.dim(0); ++row) {
      const float part = dense.data<float>()[row * dense.dim(1) + static_cast<int64_t>(expert)];
      if (part == 0) continue;
      rows.push_back(row);
      parts.push_back(part);
    }
    if (rows.empty()) continue;
    const auto count = static_cast<int64_t>(rows.size());
    const Tensor index = from_vector(rows, {count}).to_device(device);
    const Tensor y = experts[expert]({index_select(x, 0, index)}, {}, unhooked, layer);
    out = index_add(out, 0, index, mul(y, from_vector(parts, {count, 1}, device)));
  }
  return out;
}

// Two experts for each row of scores f32 [rows, experts], by Routing::one_by_one.
RoutedExperts choose_one_by_one(const Tensor& scores, float tolerance) {
  const Tensor host = scores.to_device(Device::cpu()).contiguous();
  const int64_t rows = host.dim(0), experts = host.dim(1);
  const RoutedExperts routed{empty({rows, 2}, DType::kI32), empty({rows, 2}, DType::kF32)};
  for (int64_t row = 0; row < rows; ++row) {
    const float* score = host.data<float>() + row * experts;
    int32_t chosen[2] = {-1, -1};
    float weight[2] = {};
    for (int turn = 0; turn < 2; ++turn) {
      int32_t best = -1;
      for (int32_t i = 0; i < experts; ++i) {
        if (i != chosen[0] && (best < 0 || score[i] > score[best])) best = i;
      }
      double sum = 0;
      for (int32_t i = 0; i < experts; ++i) {
        if (i == chosen[0]) continue;
        const float distance = (score[best] - score[i]) / std::max(std::abs(score[i]), score[best]);
        if (!(distance > 2 * tolerance)) sum += std::exp(static_cast<double>(score[i]) - score[best]);
      }
      chosen[turn] = best;
      weight[turn] = static_cast<float>(1 / sum);
    }
    const int first = chosen[0] < chosen[1] ? 0 : 1;
    for (int i = 0; i < 2; ++i) {
      routed.ids.mutable_data<int32_t>()[row * 2 + i] = chosen[i ^ first];
      routed.weights.mutable_data<float>()[row * 2 + i] = weight[i ^ first];
    }
  }
  return {routed.ids.to_device(scores.device()), routed.weights.to_device(scores.device())};
}

// The rows of two matrices f32 [rows, columns] on the host that differ.
std::vector<int64_t> rows_that_differ(const Tensor& a, const Tensor& b) {
  std::vector<int64_t> rows;
  const int64_t columns = a.dim(1);
  for (int64_t row = 0; row < a.dim(0); ++row) {
    const float *left = a.data<float>() + row * columns, *right = b.data<float>() + row * columns;
    if (std::memcmp(left, right, static_cast<size_t>(columns) * sizeof(float)) != 0) rows.push_back(row);
  }
  return rows;
}

// Rows of `from` in the places of those of x.
Tensor with_rows_at(const Tensor& x, const std::vector<int64_t>& rows, const Tensor& from) {
  std::vector<int64_t> picks(static_cast<size_t>(x.dim(0)));
  for (size_t i = 0; i < picks.size(); ++i) picks[i] = static_cast<int64_t>(i);
  for (size_t i = 0; i < rows.size(); ++i) picks[static_cast<size_t>(rows[i])] = x.dim(0) + static_cast<int64_t>(i);
  const Tensor index = from_vector(picks, {x.dim(0)}).to_device(x.device());
  return index_select(concat(std::vector<Tensor>{x, from}, 0), 0, index);
}

}  // namespace

void Moe::prepare() {
  for (Linear Mlp::*part : {&Mlp::gate, &Mlp::up, &Mlp::down}) {
    std::vector<Tensor> biases;
    for (const Mlp& expert : experts) {
      if ((expert.*part).bias.defined()) biases.push_back((expert.*part).bias);
    }
    if (biases.empty() || biases.size() != experts.size()) continue;
    const Tensor all = stack(biases, 0);
    for (size_t i = 0; i < experts.size(); ++i) {
      (experts[i].*part).bias = reshape(narrow(all, 0, static_cast<int64_t>(i), 1), {all.dim(1)});
    }
  }
  const Activation activation = experts.front().activation;
  gate_ = activation == Activation::kSilu ? ExpertGate::kSilu : ExpertGate::kClamped;
  const auto suits = [&](const Mlp& expert) {
    return expert.activation == activation && expert.gate.defined() && expert.gate.is_plain() && expert.up.is_plain() &&
           expert.down.is_plain();
  };
  if (activation != Activation::kSilu && activation != Activation::kClampedSwiglu) return;
  if (!std::all_of(experts.begin(), experts.end(), suits)) return;
  for (const Mlp& expert : experts) {
    weights_.push_back(
        {expert.gate.weight, expert.up.weight, expert.down.weight, expert.gate.bias, expert.up.bias, expert.down.bias});
  }
}

// Every row once for each of its experts, scaled by that one's routing weight.
Tensor Moe::mix_scaled(const LinearInput& input, const RoutedExperts& routed, int layer) const {
  const Tensor x = materialize(input);
  const int64_t rows = routed.ids.dim(0), chosen = routed.ids.dim(1);
  const Tensor each = mul(unsqueeze(x, 1), unsqueeze(routed.weights, 2));  // [rows, chosen, hidden]
  const RoutedExperts one{reshape(routed.ids, {rows * chosen, 1}), ones({rows * chosen, 1}, DType::kF32, x.device())};
  const LinearInput scaled{reshape(each, {rows * chosen, x.dim(1)})};
  Tensor out = weights_.empty() ? Tensor() : mix_experts(scaled, one, weights_, gate_, {});
  if (!out.defined()) out = mix_one_by_one(scaled.x, one, experts, layer);
  return chosen == 1 ? out : sum(reshape(out, {rows, chosen, x.dim(1)}), {1});
}

Tensor Moe::mix(const LinearInput& input, const RoutedExperts& routed, const Tensor& more, int layer) const {
  if (routing.scales_input) {
    const Tensor out = mix_scaled(input, routed, layer);
    return more.defined() ? add(more, out) : out;
  }
  if (!weights_.empty()) {
    if (const Tensor out = mix_experts(input, routed, weights_, gate_, more); out.defined()) return out;
  }
  const Tensor out = mix_one_by_one(materialize(input), routed, experts, layer);
  return more.defined() ? add(more, out) : out;
}

Tensor Moe::run_shared(const LinearInput& input, int layer) const {
  const BatchHooks unhooked;
  const Tensor y = shared(input, {}, unhooked, layer);
  return shared_gate.defined() ? mul(y, sigmoid(shared_gate(input, {}))) : y;
}

Tensor Moe::mix_as_edited(const LinearInput& input, const RoutedExperts& routed, const Tensor& more,
                          const BatchHooks& hooks, int layer) const {
  const Tensor dense = dense_routing_weights(routed, static_cast<int64_t>(experts.size()));
  const Tensor edited = hooks(HookPoint::kRouter, layer, dense).contiguous();
  const Tensor out = mix(input, routed, more, layer);
  const std::vector<int64_t> rows = rows_that_differ(dense, edited);
  if (rows.empty()) return out;
  // Only these take part again, so that the others stay as they are.
  const Tensor host_index = from_vector(rows, {static_cast<int64_t>(rows.size())});
  const Tensor index = host_index.to_device(input.x.device());
  const LinearInput some{index_select(input.x, 0, index), input.norm_weight, input.eps};
  const RoutedExperts other = routed_experts(index_select(edited, 0, host_index), input.x.device());
  return with_rows_at(out, rows, mix(some, other, more.defined() ? index_select(more, 0, index) : more, layer));
}

RoutedExperts Moe::route(const LinearInput& input) const {
  LinearInput read = input;
  if (!router.is_plain()) read.x = index_select(input.x, -1, router.input_order);
  RoutedExperts routed = routing.one_by_one
                             ? choose_one_by_one(router(input, {}), *routing.one_by_one)
                             : route_experts(read, {router.weight, router.bias, selection_bias}, routing);
  if (expert_scale.defined()) {
    const Tensor ids = reshape(routed.ids.to_dtype(DType::kI64), {-1});
    routed.weights = mul(routed.weights, reshape(take_rows(expert_scale, ids), routed.weights.shape()));
  }
  return routed;
}

Tensor Moe::operator()(const LinearInput& given, const Tensor& residual, const BatchHooks& hooks, int layer) const {
  // The host norms rows once; other devices do while they read them.
  const bool leaves_norm = !given.x.device().is_host() && router.is_plain();
  const LinearInput input = leaves_norm ? given : LinearInput{materialize(given)};
  const RoutedExperts routed = route(router_norm.present() ? LinearInput{router_norm(given.x)} : input);
  const bool is_shared = shared.up.defined(), is_edited = hooks.wants(HookPoint::kRouter, layer);
  if (!is_shared && !is_edited) return mix(input, routed, residual, layer);
  const Tensor more = is_shared ? run_shared(input, layer) : Tensor();
  const Tensor out = is_edited ? mix_as_edited(input, routed, more, hooks, layer) : mix(input, routed, more, layer);
  return residual.defined() ? add(residual, out) : out;
}

}  // namespace wick
