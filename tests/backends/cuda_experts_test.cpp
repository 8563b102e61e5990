// Mixtures of experts on CUDA: against products one by one there, which have the same bits, and on the host.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "ops/device_graph.h"
#include "ops/layers/experts.h"
#include "support/kernel_cases.h"
#include "support/needs_cuda.h"
#include "support/packed_weights.h"

namespace wick {
namespace {

constexpr float kEps = 1e-6f, kScale = 1.5f;

Tensor there(const Tensor& x) { return x.defined() ? x.to_device(Device::cuda()) : x; }
Tensor rows_of(const Tensor& x, int64_t first, int64_t count) { return narrow(x, 0, first, count).contiguous(); }

struct Sizes {
  DType dtype, down_dtype;
  int64_t hidden, inner, experts, chosen;
  bool sigmoids = false;
  bool clamped = false;  // with biases, as gpt-oss has them
  int64_t groups = 1, chosen_groups = 1;
};

// Experts whose weights overlap: each begins 8 rows behind the one before.
class Mixture {
 public:
  explicit Mixture(const Sizes& of) : of_(of) {
    const int64_t experts = of.experts, hidden = of.hidden, inner = of.inner, more = 8 * (experts - 1);
    const auto random = [](int64_t n, int64_t k, DType dtype, uint64_t seed) {
      if (is_packed(dtype)) return packed_weights(n, k, dtype, seed);
      return mul(randn({n, k}, seed), 1 / std::sqrt(static_cast<double>(k))).to_dtype(dtype);
    };
    gates_ = random(inner + more, hidden, of.dtype, 1);
    ups_ = random(inner + more, hidden, of.dtype, 2);
    downs_ = random(hidden + more, inner, of.down_dtype, 3);
    const Tensor gates = there(gates_), ups = there(ups_), downs = there(downs_);
    gate_biases_ = mul(randn({experts, inner}, 10), 2);
    up_biases_ = mul(randn({experts, inner}, 11), 4);
    down_biases_ = randn({experts, hidden}, 12);
    const Tensor gate_biases = there(gate_biases_), up_biases = there(up_biases_), down_biases = there(down_biases_);
    for (int64_t i = 0; i < experts; ++i) {
      const auto bias = [&](const Tensor& all) { return reshape(narrow(all, 0, i, 1), {all.dim(1)}); };
      weights_.push_back({narrow(gates, 0, 8 * i, inner), narrow(ups, 0, 8 * i, inner), narrow(downs, 0, 8 * i, hidden),
                          bias(gate_biases), bias(up_biases), bias(down_biases)});
    }
    for (const auto& each : weights_) {
      experts_.push_back({each[0], each[1], each[2]});
      if (of.clamped) experts_.back() = {each[0], each[1], each[2], each[3], each[4], each[5]};
    }
    norm_ = randn({hidden}, 4);
    router_ = mul(randn({experts, hidden}, 5), 1.5 / std::sqrt(static_cast<double>(hidden)));
    bias_ = mul(randn({experts}, 6), 0.2);
    bias_.mutable_data<float>()[1] = -1000;  // nobody's choice
    norm_there_ = there(norm_);
    router_there_ = there(router_);
    bias_there_ = there(bias_);
  }

  // x and residual are on the device.
  bool mix(const Tensor& x, const Tensor& residual, const Tensor& out) const {
    const LinearInput input{x, norm_there_, kEps};
    const RoutedExperts routed = route_experts(input, {router_there_, bias_there_, {}}, choice());
    return kernels().mix_experts(input, routed, experts_, of_.clamped ? ExpertGate::kClamped : ExpertGate::kSilu,
                                 residual, out);
  }
  Tensor mix(const Tensor& x, const Tensor& residual) const {
    const Tensor out = empty(x.shape(), DType::kF32, Device::cuda());
    EXPECT_TRUE(mix(there(x), there(residual), out));
    return out;
  }

  ExpertChoice choice() const { return {of_.chosen, true, kScale, of_.sigmoids, of_.groups, of_.chosen_groups}; }

  // The experts that each token chooses, ascending, and their routing weights.
  struct Choice {
    std::vector<int64_t> experts;
    std::vector<float> weights;
  };
  std::vector<Choice> choose(const Tensor& x) const {
    const Tensor logits = add(matmul(rms_norm(x, norm_, kEps), transpose(router_, 0, 1)), bias_);
    const Tensor scores = (of_.sigmoids ? sigmoid(logits) : softmax(logits, -1)).contiguous();
    std::vector<Choice> choices;
    for (int64_t token = 0; token < x.dim(0); ++token) {
      const float* score = scores.data<float>() + token * scores.dim(1);
      std::vector<int64_t> order(static_cast<size_t>(scores.dim(1)));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
      if (of_.groups > 1) {
        const std::vector<int64_t> groups = best_groups(score);
        std::erase_if(order, [&](int64_t expert) {
          return std::find(groups.begin(), groups.end(), expert * of_.groups / of_.experts) == groups.end();
        });
      }
      order.resize(static_cast<size_t>(of_.chosen));
      float sum = 0;
      for (const int64_t expert : order) sum += score[expert];
      std::sort(order.begin(), order.end());
      Choice choice{order, {}};
      for (const int64_t expert : order) choice.weights.push_back(score[expert] * (kScale / sum));
      choices.push_back(choice);
    }
    return choices;
  }

  // The groups whose best experts, two with sigmoids, have the highest scores together.
  std::vector<int64_t> best_groups(const float* score) const {
    const int64_t size = of_.experts / of_.groups;
    std::vector<std::pair<float, int64_t>> groups;
    for (int64_t group = 0; group < of_.groups; ++group) {
      std::vector<float> scores(score + group * size, score + (group + 1) * size);
      std::sort(scores.begin(), scores.end(), std::greater<>());
      groups.emplace_back(-(of_.sigmoids ? scores[0] + scores[1] : scores[0]), group);
    }
    std::sort(groups.begin(), groups.end());
    std::vector<int64_t> best;
    for (int64_t i = 0; i < of_.chosen_groups; ++i) best.push_back(groups[static_cast<size_t>(i)].second);
    return best;
  }

  // answer(row of x, expert) for each token's experts, times their routing weights, and the residual.
  template <typename Answer>
  Tensor expected(const Tensor& x, const Tensor& residual, const Answer& answer) const {
    const std::vector<Choice> choices = choose(x);
    std::vector<Tensor> answers;
    for (size_t token = 0; token < choices.size(); ++token) {
      for (const int64_t expert : choices[token].experts)
        answers.push_back(answer(static_cast<int64_t>(token), expert));
    }
    Tensor out = zeros(x.shape());
    auto next = answers.begin();
    for (size_t token = 0; token < choices.size(); ++token) {
      float* sum = out.mutable_data<float>() + static_cast<int64_t>(token) * of_.hidden;
      for (const float weight : choices[token].weights) {
        const std::vector<float> of = (next++)->to_vector<float>();
        for (size_t i = 0; i < of.size(); ++i) sum[i] += of[i] * weight;
      }
    }
    return add(out, residual);
  }
  Tensor expected_on_device(const Tensor& x, const Tensor& residual) const {
    const Tensor x_there = there(x);
    return expected(x, residual, [&](int64_t token, int64_t expert) {
      const auto& of = weights_[static_cast<size_t>(expert)];
      Tensor inside = empty({1, of_.inner}, DType::kF32, Device::cuda());
      const Tensor answer = empty({1, of_.hidden}, DType::kF32, Device::cuda());
      const LinearInput row{narrow(x_there, 0, token, 1), norm_there_, kEps, {}};
      if (of_.clamped) {
        const Tensor up = empty(inside.shape(), DType::kF32, Device::cuda());
        const std::array<LinearJob, 2> jobs = {LinearJob{of[0], of[3], {}, inside}, {of[1], of[4], {}, up}};
        kernels().linear(row, jobs);
        inside = clamped(inside.to_device(Device::cpu()), up.to_device(Device::cpu())).to_device(Device::cuda());
      } else {
        EXPECT_TRUE(kernels().gated_linear(row, {of[0], {}, {}, inside}, {of[1], {}, {}, {}}));
      }
      const LinearJob down{of[2], of_.clamped ? of[5] : Tensor(), {}, answer};
      kernels().linear({inside, {}, 0, {}}, {&down, 1});
      return answer;
    });
  }
  Tensor expected_on_host(const Tensor& x, const Tensor& residual) const {
    const Tensor normed = rms_norm(x, norm_, kEps);
    const auto times = [&](const Tensor& y, const Tensor& weights, int64_t first, int64_t count) {
      return matmul(y, transpose(narrow(weights, 0, first, count), 0, 1));
    };
    return expected(x, residual, [&](int64_t token, int64_t expert) {
      const Tensor row = rows_of(normed, token, 1);
      const Tensor gate = times(row, gates_, 8 * expert, of_.inner), up = times(row, ups_, 8 * expert, of_.inner);
      if (!of_.clamped) return times(mul(silu(gate), up), downs_, 8 * expert, of_.hidden);
      const auto plus = [&](const Tensor& y, const Tensor& biases) { return add(y, rows_of(biases, expert, 1)); };
      const Tensor inside = clamped(plus(gate, gate_biases_), plus(up, up_biases_));
      return plus(times(inside, downs_, 8 * expert, of_.hidden), down_biases_);
    });
  }

  std::vector<ExpertWeights>& experts() { return experts_; }

 private:
  static const KernelTable& kernels() { return Device::cuda().kernels(); }
  // gate sigmoid(1.702 gate) (up + 1), both at most 7 and up at least -7.
  static Tensor clamped(const Tensor& gate, const Tensor& up) {
    Tensor out = empty(gate.shape());
    for (int64_t i = 0; i < out.numel(); ++i) {
      const double low = std::min<double>(gate.data<float>()[i], 7);
      const double near = std::clamp<double>(up.data<float>()[i], -7, 7);
      out.mutable_data<float>()[i] = static_cast<float>(low / (1 + std::exp(-1.702 * low)) * (near + 1));
    }
    return out;
  }

  Sizes of_;
  Tensor gates_, ups_, downs_, gate_biases_, up_biases_, down_biases_;
  Tensor norm_, router_, bias_, norm_there_, router_there_, bias_there_;
  std::vector<std::array<Tensor, 6>> weights_;
  std::vector<ExpertWeights> experts_;
};

class CudaExperts : public NeedsCuda<> {};

// Of tokens few and many, at sizes that fill no tile, with experts that no token is routed to.
TEST_F(CudaExperts, AsOneByOne) {
  for (const Sizes& of : {Sizes{DType::kQ4_K, DType::kQ6_K, 2048, 768, 128, 8, false},
                          Sizes{DType::kQ4_K, DType::kQ4_K, 512, 768, 5, 2, false},
                          Sizes{DType::kQ6_K, DType::kQ5_K, 2304, 1280, 40, 3, true},
                          Sizes{DType::kQ5_K, DType::kQ8_0, 768, 256, 70, 5, true},
                          Sizes{DType::kQ8_0, DType::kQ8_0, 512, 768, 16, 4, false},
                          Sizes{DType::kQ4_0, DType::kQ4_1, 256, 512, 33, 2, false},
                          Sizes{DType::kQ4_1, DType::kGroup4, 512, 2560, 9, 2, false},
                          Sizes{DType::kGroup4, DType::kQ4_0, 1280, 1024, 6, 2, true},
                          Sizes{DType::kQ8_0, DType::kQ4_0, 288, 96, 6, 3, false},
                          // Codebooks, and formats of which rows need not fill a block of 256.
                          Sizes{DType::kIQ2_XXS, DType::kIQ3_S, 512, 1280, 30, 3, false},
                          Sizes{DType::kIQ1_M, DType::kQ2_K, 256, 768, 12, 2, true},
                          Sizes{DType::kI8Channel, DType::kGroup8, 320, 448, 7, 2, false},
                          // Biases and the clamped activation, also of experts that are not packed.
                          Sizes{DType::kMXFP4, DType::kMXFP4, 384, 448, 32, 4, false, true},
                          Sizes{DType::kMXFP4, DType::kMXFP4, 2880, 1472, 20, 4, false, true},
                          Sizes{DType::kMXFP4, DType::kMXFP4, 704, 192, 70, 3, true, false},
                          Sizes{DType::kQ4_K, DType::kQ6_K, 512, 256, 8, 2, false, true},
                          Sizes{DType::kBF16, DType::kBF16, 264, 136, 32, 4, false, true},
                          Sizes{DType::kF16, DType::kF16, 520, 1032, 6, 3, true, true},
                          // Groups.
                          Sizes{DType::kQ4_K, DType::kQ6_K, 256, 512, 256, 8, true, false, 8, 4},
                          Sizes{DType::kBF16, DType::kBF16, 256, 136, 60, 6, false, false, 10, 3}}) {
    const Mixture mixture(of);
    const std::string what = cat(of.dtype, " ", of.down_dtype, " ", of.hidden, " ", of.inner);
    constexpr int64_t kTokens = 300;
    const Tensor x = randn({kTokens, of.hidden}, 7), residual = mul(randn(x.shape(), 8), 0.05);
    const Tensor out = mixture.mix(x, residual);
    const auto spread = [](const Tensor& y) { return std::sqrt(mean(sqr(y)).item()); };
    const Tensor want = mixture.expected_on_device(x, residual), here = out.to_device(Device::cpu());
    // What is rounded again behind the activation, which is computed otherwise here, may be rounded the other way.
    expect_close(div(here, spread(want)), div(want, spread(want)), of.clamped ? 5e-3 : 1e-5, what);
    // Activations are rounded to 8 bits twice, and what differs in the last bit may be rounded the other way.
    const auto first = [](const Tensor& y) { return rows_of(y, 0, 9); };
    const Tensor on_host = mixture.expected_on_host(first(x), first(residual));
    EXPECT_LE(spread(sub(first(here), on_host)), 1e-2 * spread(on_host)) << what;
    for (const int64_t tokens : {1, 2, 3, 8, 9, 40, 129}) {
      const auto some = [&](const Tensor& y) { return rows_of(y, 0, tokens); };
      expect_identical(mixture.mix(some(x), some(residual)), some(out), cat(what, ": ", tokens, " of ", kTokens));
    }
    for (const int64_t token : {1, 62, 170, 299}) {
      const auto alone = [&](const Tensor& y) { return rows_of(y, token, 1); };
      expect_identical(mixture.mix(alone(x), alone(residual)), alone(out), cat(what, ": token ", token));
    }
  }
}

// The host is never asked: what is captured gives the same bits whenever it is started, for any x.
TEST_F(CudaExperts, AreCaptured) {
  const Mixture mixture({DType::kQ4_K, DType::kQ6_K, 512, 768, 20, 4});
  for (const int64_t tokens : {1, 3, 70}) {
    const Tensor x = there(randn({tokens, 512}, 1)), residual = there(randn({tokens, 512}, 2));
    const Tensor out = empty(x.shape(), DType::kF32, Device::cuda());
    ASSERT_TRUE(mixture.mix(x, residual, out));
    const auto graph = capture_graph(Device::cuda(), [&] { EXPECT_TRUE(mixture.mix(x, residual, out)); });
    for (const uint64_t seed : {3, 4, 3}) {
      const Tensor other = randn({tokens, 512}, seed);
      device_memory(Device::cuda())
          .copy_from_host(Device::cuda(), x.raw(), other.raw(), static_cast<size_t>(tokens) * 512 * sizeof(float));
      for (int i = 0; i < 3; ++i) graph->start();
      expect_identical(out, mixture.mix(other, residual), cat(tokens, " tokens"));
    }
  }
}

TEST_F(CudaExperts, WeightsThatDoNotFitAreLeftToOthers) {
  Mixture mixture({DType::kQ4_K, DType::kQ4_K, 256, 256, 4, 2});
  const Tensor x = there(randn({2, 256}, 1)), out = empty(x.shape(), DType::kF32, Device::cuda());
  const auto with = [&](DType dtype, Tensor ExpertWeights::*part) {
    const Tensor other =
        there(is_packed(dtype) ? packed_weights(256, 256, dtype, 9) : randn({256, 256}, 9).to_dtype(dtype));
    std::vector<ExpertWeights> experts = mixture.experts();
    experts[3].*part = other;
    std::swap(experts, mixture.experts());
    const bool mixed = mixture.mix(x, {}, out);
    std::swap(experts, mixture.experts());
    return mixed;
  };
  EXPECT_TRUE(mixture.mix(x, {}, out));
  EXPECT_FALSE(with(DType::kQ6_K, &ExpertWeights::up));
  EXPECT_FALSE(with(DType::kQ6_K, &ExpertWeights::down));
  EXPECT_FALSE(with(DType::kF16, &ExpertWeights::down));
  EXPECT_FALSE(Mixture({DType::kQ8_K, DType::kQ4_K, 256, 256, 4, 2}).mix(x, {}, out));
  // Biases that not all have, or that lie elsewhere.
  Mixture biased({DType::kQ4_K, DType::kQ4_K, 256, 256, 4, 2, false, true});
  EXPECT_TRUE(biased.mix(x, {}, out));
  const Tensor other = there(randn({256}, 10));
  for (const Tensor& bias : {Tensor(), other}) {
    const Tensor before = std::exchange(biased.experts()[2].down_bias, bias);
    EXPECT_FALSE(biased.mix(x, {}, out));
    biased.experts()[2].down_bias = before;
  }
}

}  // namespace
}  // namespace wick
#endif
