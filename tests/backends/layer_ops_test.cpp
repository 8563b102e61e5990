// What decoder layers are made of, on every device: against the reference, and bit for bit against the ops that each
// stands for.
#include "support/kernel_cases.h"
#include "support/packed_weights.h"
#include "support/paged_cases.h"

namespace wick {
namespace {

Tensor weights(int64_t n, int64_t k, DType dtype, uint64_t seed, Device device) {
  const Tensor w =
      is_packed(dtype) ? packed_weights(n, k, dtype, seed) : mul(randn({n, k}, seed), 0.05).to_dtype(dtype);
  return w.to_device(device);
}

const std::vector<DType> kWeightTypes = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_K,
                                         DType::kQ6_K, DType::kQ8_0, DType::kQ4_0, DType::kMXFP4};

TEST(Linear, HasTheBitsOfTheOpsOneAfterTheOther) {
  constexpr int64_t kColumns = 768;
  for (const Device device : test_devices()) {
    const auto there = [&](const Tensor& x) { return x.to_device(device); };
    for (const DType dtype : kWeightTypes) {
      for (const int64_t rows : {1, 2, 7, 19, 70}) {
        if (device == Device::reference() && rows > 2) continue;  // it takes its time
        const Tensor x = there(randn({rows, kColumns}, 1));
        const std::vector<std::pair<const char*, LinearInput>> inputs = {
            {"plain", {x}},
            {"normed", {x, there(randn({kColumns}, 2)), 1e-5f}},
            {"activated", {x, {}, 0, there(randn({rows, kColumns}, 3))}}};
        for (const auto& [what, input] : inputs) {
          // Types that share activations and types that do not; biases and residuals of some.
          std::vector<LinearJob> jobs = {
              {weights(67, kColumns, dtype, 4, device), there(randn({67}, 5)), there(randn({rows, 67}, 6))},
              {weights(20, kColumns, DType::kQ8_0, 7, device), {}, there(randn({rows, 20}, 8))},
              {weights(130, kColumns, dtype, 9, device), there(randn({130}, 10))},
              {weights(8, kColumns, DType::kF32, 11, device)}};
          linear(input, jobs);
          for (const LinearJob& job : jobs) {
            Tensor y = matmul(materialize(input), transpose(job.weight, 0, 1));
            if (job.bias.defined()) y = add(y, job.bias);
            if (job.residual.defined()) y = add(job.residual, y);
            expect_identical(job.out, y, cat(dtype, ", ", rows, " rows, ", what, ", ", job.out.dim(1), " on ", device));
          }
        }
      }
    }
  }
}

TEST(Linear, GatedHasTheBitsOfTwoProducts) {
  constexpr int64_t kColumns = 512, kInner = 131;
  for (const Device device : test_devices()) {
    for (const DType dtype : kWeightTypes) {
      for (const int64_t rows : {1, 5, 33, 100}) {
        if (device == Device::reference() && rows > 1) continue;
        const LinearInput input{randn({rows, kColumns}, 1).to_device(device), randn({kColumns}, 2).to_device(device),
                                1e-6f};
        std::vector<LinearJob> jobs = {
            {weights(kInner, kColumns, dtype, 3, device), randn({kInner}, 4).to_device(device)},
            {weights(kInner, kColumns, dtype, 5, device)}};
        const Tensor together = gated_linear(input, jobs[0], jobs[1], {}, true);
        linear(input, jobs);
        if (!together.defined()) continue;  // such a device multiplies them apart
        expect_identical(together, mul(silu(jobs[0].out), jobs[1].out), cat(dtype, ", ", rows, " rows on ", device));
      }
    }
  }
}

TEST(Linear, RefusesWhatDoesNotFit) {
  const auto message = [](const LinearInput& input, LinearJob job) -> std::string {
    try {
      linear(input, {&job, 1});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const Tensor x = randn({3, 8}, 1), w = randn({5, 8}, 2);
  EXPECT_EQ(message({x}, {randn({5, 7}, 2)}), "linear: x [3, 8] with weight [5, 7]: inner dimensions 8 and 7 differ");
  EXPECT_EQ(message({x}, {w, randn({4}, 3)}), "linear: bias has shape [4], expected [5]");
  EXPECT_EQ(message({x}, {w, {}, randn({3, 4}, 3)}), "linear: residual has shape [3, 4], expected [3, 5]");
  EXPECT_EQ(message({x, randn({7}, 3)}, {w}), "linear: norm_weight has shape [7], expected [8]");
  EXPECT_EQ(message({x, randn({8}, 3), 0, x}, {w}), "linear: an input is normed or activated, not both");
  EXPECT_EQ(message({x}, {w}), "");
}

// Gradients are those of the ops.
TEST(Linear, RecordsGradients) {
  const Var x(randn({3, 8}, 1)), w(randn({5, 8}, 2)), b(randn({5}, 3)), r(randn({3, 5}, 4));
  LinearJob job{w, b, r};
  linear({x}, {&job, 1});
  const Gradients made = backward(sum(sqr(job.out)));
  const Gradients expected = backward(sum(sqr(add(r, add(matmul(x, transpose(w, 0, 1)), b)))));
  for (const Var* each : {&x, &w, &b, &r}) {
    ASSERT_TRUE(made.of(*each).defined());
    expect_identical(made.of(*each), expected.of(*each), "gradient");
  }
}

TEST(Attend, HasTheBitsOfTheOpsOnTheHost) {
  for (const Device device : {Device::reference(), Device::cpu()}) {
    for (const bool norms : {false, true}) {
      for (const bool interleaved : {false, true}) {
        for (const int64_t pairs : {0, 5, 12}) {
          PagedCase paged{.heads = 6,
                          .kv_heads = 2,
                          .dim = 24,
                          .value_dim = 24,
                          .dtype = DType::kF16,
                          .device = device,
                          .sequences = {{0, 5}, {17, 1}, {30, 20}}};
          paged.make();
          const PagedRows rows = paged.all_rows();
          const int64_t tokens = 26;
          const auto make = [&](const Shape& shape, uint64_t seed) { return randn(shape, seed).to_device(device); };
          const AttendInput input{make({tokens, 6, 24}, 1), make({tokens, 2, 24}, 2), make({tokens, 2, 24}, 3)};
          HeadRotation rotation;
          if (norms) rotation = {make({24}, 4), make({24}, 5), 1e-6f};
          if (pairs > 0) rotation.cos = make({tokens, pairs}, 6), rotation.sin = make({tokens, pairs}, 7);
          rotation.interleaved = interleaved;
          PagedAttentionOptions options;
          options.scale = 0.3f;
          const Attended plain = attend(input, rotation, paged.blocks, rows, options, false);
          const Attended watched = attend(input, rotation, paged.blocks, rows, options, true);
          const auto rotated = [&](const Tensor& x, const Tensor& weight) {
            const Tensor normed = norms ? rms_norm(x, weight, 1e-6f) : x;
            return pairs == 0 ? normed
                              : transpose(rope(transpose(normed, 0, 1), rotation.cos, rotation.sin, interleaved), 0, 1);
          };
          const Tensor query = rotated(input.query, rotation.query_weight);
          store_kv(rotated(input.key, rotation.key_weight), input.value, rows, paged.blocks);
          const std::string what = cat(norms, " ", interleaved, " ", pairs, " on ", device);
          expect_identical(plain.out, paged_attention(query, paged.blocks, rows, options), what);
          expect_identical(watched.out, plain.out, what + ", watched");
          expect_identical(watched.queries, query, what + ", queries");
          EXPECT_FALSE(plain.queries.defined());
        }
      }
    }
  }
}

struct ExpertCase {
  int64_t experts, chosen, groups = 1, chosen_groups = 1;
  bool sigmoid = false, biased = false;
};

class Mixture {
 public:
  static constexpr int64_t kHidden = 96, kInner = 40;

  Mixture(const ExpertCase& of, DType dtype, Device device)
      : choice{of.chosen, true, 1.5f, of.sigmoid, of.groups, of.chosen_groups}, device_(device) {
    const auto there = [&](const Tensor& x) { return x.to_device(device); };
    router = {
        there(randn({of.experts, kHidden}, 1)), {}, of.sigmoid ? there(mul(randn({of.experts}, 2), 0.2)) : Tensor()};
    const Tensor biases = there(randn({3 * of.experts, kHidden}, 3));
    for (int64_t i = 0; i < of.experts; ++i) {
      const auto seed = static_cast<uint64_t>(10 * i);
      experts.push_back({weights(kInner, kHidden, dtype, seed, device),
                         weights(kInner, kHidden, dtype, seed + 1, device),
                         weights(kHidden, kInner, dtype, seed + 2, device)});
      if (of.biased) {
        experts.back().gate_bias = reshape(narrow(narrow(biases, 0, 3 * i, 1), 1, 0, kInner), {kInner}).contiguous();
        experts.back().down_bias = reshape(narrow(biases, 0, 3 * i + 1, 1), {kHidden}).contiguous();
      }
    }
  }

  Tensor run(const Tensor& x, const Tensor& residual, ExpertGate gate) const {
    const LinearInput input{x.to_device(device_), randn({kHidden}, 4).to_device(device_), 1e-6f};
    return mix_experts(input, route_experts(input, router, choice), experts, gate, residual.to_device(device_));
  }

  ExpertChoice choice;
  ExpertRouter router;
  std::vector<ExpertWeights> experts;

 private:
  Device device_;
};

TEST(Experts, AgreeWithTheReferenceAndDoNotSeeOtherRows) {
  for (const ExpertCase& of : {ExpertCase{5, 2}, {16, 4, 4, 2, true}, {7, 7}, {12, 3, 1, 1, false, true}}) {
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      for (const ExpertGate gate : {ExpertGate::kSilu, ExpertGate::kClamped}) {
        const Tensor x = randn({23, Mixture::kHidden}, 7), residual = randn(x.shape(), 8);
        const Tensor expected = Mixture(of, dtype, Device::reference()).run(x, residual, gate);
        const Mixture mixture(of, dtype, Device::cpu());
        const Tensor out = mixture.run(x, residual, gate);
        expect_close(out, expected, 1e-5, cat(of.experts, " experts of ", dtype));
        for (const int64_t row : {0, 11, 22}) {
          const auto alone = [&](const Tensor& y) { return narrow(y, 0, row, 1).contiguous(); };
          expect_identical(mixture.run(alone(x), alone(residual), gate), alone(out), cat("row ", row));
        }
      }
    }
  }
}

TEST(Experts, EqualScoresGoToTheLowerNumber) {
  const Tensor scores = from_vector<float>({0.2f, 0.5f, 0.5f, 0.2f, 0.5f, NAN}, {1, 6});
  for (const Device device : test_devices()) {
    // Logits that are the scores: x is one, and the router's columns hold them.
    const LinearInput input{ones({1, 8}).to_device(device)};
    Tensor router = zeros({6, 8});
    for (int64_t i = 0; i < 6; ++i) router.mutable_data<float>()[i * 8] = scores.data<float>()[i];
    const RoutedExperts routed = route_experts(input, {router.to_device(device)}, {.chosen = 2, .sigmoid = true});
    EXPECT_EQ(routed.ids.to_vector<int32_t>(), (std::vector<int32_t>{1, 2})) << to_string(device);
    expect_close(routed.weights, from_vector<float>({0.5f, 0.5f}, {1, 2}), 1e-6, cat("routing weights on ", device));
  }
}

TEST(Experts, SharesBecomeAMatrixAndComeBack) {
  const RoutedExperts routed{from_vector<int32_t>({0, 3, 1, 2}, {2, 2}),
                             from_vector<float>({0.25f, 0.75f, 0.5f, 0}, {2, 2})};
  const Tensor dense = dense_routing_weights(routed, 4);
  expect_identical(dense, from_vector<float>({0.25f, 0, 0, 0.75f, 0, 0.5f, 0, 0}, {2, 4}), "matrix");
  const RoutedExperts back = routed_experts(dense, Device::cpu());
  EXPECT_EQ(back.ids.to_vector<int32_t>(), (std::vector<int32_t>{0, 3, 0, 1}));
  EXPECT_EQ(back.weights.to_vector<float>(), (std::vector<float>{0.25f, 0.75f, 0, 0.5f}));
}

// Sequences of some rows each; the states are made anew for every run.
struct Sequences {
  std::vector<StateRows> rows;

  Sequences(const std::vector<int64_t>& counts, const Shape& state, Device device) {
    int64_t begin = 0;
    for (const int64_t count : counts) {
      rows.push_back({begin, count, randn(state, static_cast<uint64_t>(begin + 1)).to_device(device)});
      begin += count;
    }
  }
};

using Scan = std::function<Tensor(const std::function<Tensor(const Tensor&)>& part, std::span<const StateRows>)>;

// Against the reference, and the whole against chunks of it; states are compared, too.
void expect_scan(const Shape& state, const Scan& scan, double tolerance, const std::string& what) {
  const std::vector<int64_t> counts = {9, 1, 13};
  const auto run = [&](Device device) {
    const Sequences sequences(counts, state, device);
    std::vector<Tensor> results{scan([&](const Tensor& x) { return x.to_device(device); }, sequences.rows)};
    for (const StateRows& of : sequences.rows) results.push_back(of.state);
    return results;
  };
  const std::vector<Tensor> expected = run(Device::reference());
  for (const Device device : tuned_devices()) {
    const std::vector<Tensor> made = run(device);
    for (size_t i = 0; i < made.size(); ++i) expect_close(made[i], expected[i], tolerance, cat(what, " on ", device));
    Tensor one = Sequences({9}, state, device).rows[0].state;
    std::vector<Tensor> parts;
    for (const auto& [begin, count] : {std::pair<int64_t, int64_t>{0, 2}, {2, 1}, {3, 6}}) {
      const StateRows rows{0, count, one};
      parts.push_back(
          scan([&, from = begin, size = count](const Tensor& x) { return narrow(x, 0, from, size).to_device(device); },
               {&rows, 1}));
    }
    expect_identical(concat(parts, 0).to_device(Device::cpu()), narrow(made[0], 0, 0, 9).to_device(Device::cpu()),
                     what + " in chunks");
    expect_identical(one, made[1], what + ", state in chunks");
  }
}

TEST(Recurrence, ScansAgreeWithTheReferenceAndWithChunks) {
  constexpr int64_t kRows = 23, kInner = 70, kStates = 5;
  const auto matrix = [](int64_t columns, uint64_t seed) { return randn({kRows, columns}, seed); };
  for (const int64_t taps : {1, 2, 4, 12}) {
    const Tensor x = matrix(kInner, 1), weight = randn({taps, kInner}, 2), bias = randn({kInner}, 3);
    expect_scan(
        {taps - 1, kInner},
        [&](const auto& part, std::span<const StateRows> rows) {
          const Device device = rows[0].state.device();
          return causal_conv(part(x), weight.to_device(device), bias.to_device(device), rows);
        },
        1e-5, cat("convolution of ", taps));
  }
  const Tensor u = matrix(kInner, 4), dt = softplus(matrix(kInner, 5)), b = matrix(kStates, 6), c = matrix(kStates, 7);
  const Tensor a = neg(exp(randn({kStates, kInner}, 8))), d = randn({kInner}, 9);
  expect_scan(
      {kStates, kInner},
      [&](const auto& part, std::span<const StateRows> rows) {
        const Device device = rows[0].state.device();
        return mamba_scan(part(u), part(dt), part(b), part(c), a.to_device(device), d.to_device(device), rows);
      },
      1e-4, "mamba");

  constexpr int64_t kHeads = 6, kDim = 7, kGroups = 2;
  const Tensor x = matrix(kHeads * kDim, 10), steps = softplus(matrix(kHeads, 11)), in = matrix(kGroups * kStates, 12),
               out = matrix(kGroups * kStates, 13), decay = neg(exp(randn({kHeads}, 14))), skip = randn({kHeads}, 15);
  expect_scan(
      {kHeads, kStates, kDim},
      [&](const auto& part, std::span<const StateRows> rows) {
        const Device device = rows[0].state.device();
        return mamba2_scan(part(x), part(steps), part(in), part(out), decay.to_device(device), skip.to_device(device),
                           rows);
      },
      1e-4, "mamba 2");
  // States that fade by exponents of each row, and nothing of x itself.
  const Tensor exponents = neg(softplus(matrix(kHeads, 25)));
  expect_scan(
      {kHeads, kStates, kDim},
      [&](const auto& part, std::span<const StateRows> rows) {
        return mamba2_scan(part(x), part(steps), part(in), part(out), part(exponents), {}, rows);
      },
      1e-4, "mamba 2 by row");

  const Tensor keys = matrix(kInner, 16), values = matrix(kInner, 17), bonus = randn({kInner}, 18);
  const Tensor falls = broadcast_as(exp(randn({1, kInner}, 19)), {kRows, kInner});
  expect_scan(
      {3, kInner},
      [&](const auto& part, std::span<const StateRows> rows) {
        const Device device = rows[0].state.device();
        return rwkv_scan(part(keys), part(values), part(falls), bonus.to_device(device), rows);
      },
      1e-4, "rwkv");

  constexpr int64_t kKeyHeads = 2, kKeyDim = 11;
  for (const int64_t dim : {1, 7, 37, 130}) {  // columns for single lanes, for vectors, for several of them
    const auto unit = [&](uint64_t seed) { return mul(matrix(kKeyHeads * kKeyDim, seed), 0.3); };
    const Tensor queries = unit(20), names = unit(21), told = matrix(kHeads * dim, 22),
                 fades = softplus(matrix(kHeads, 23)), betas = sigmoid(matrix(kHeads, 24));
    expect_scan(
        {kHeads, kKeyDim, dim},
        [&](const auto& part, std::span<const StateRows> rows) {
          return delta_rule_scan(part(queries), part(names), part(told), part(fades), part(betas), rows);
        },
        1e-4, cat("delta rule of ", dim));
  }
}

}  // namespace
}  // namespace wick
