// Kernels of CUDA against the reference, over all dtypes, awkward layouts and sizes.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "backends/cuda/devices.h"
#include "ops/fused_kernels.h"
#include "quant/format.h"
#include "support/kernel_cases.h"

namespace wick {
namespace {

class CudaOps : public testing::Test {
 protected:
  void SetUp() override {
    const CudaDevices found = list_cuda_devices();
    if (found.devices.empty()) GTEST_SKIP() << found.problem;
  }
};

// The same bytes and layout on another device.
Tensor moved(const Tensor& x, Device device) {
  if (!x.defined()) return x;
  const auto bytes = static_cast<int64_t>(x.storage()->bytes());
  const Tensor whole = from_span<uint8_t>(
      {reinterpret_cast<const uint8_t*>(x.storage()->data()), static_cast<size_t>(bytes)}, {bytes}, device);
  return Tensor(whole.storage(), x.layout(), x.dtype());
}

void expect_like_reference(const Function& function, const Inputs& inputs, double tolerance, const std::string& what,
                           Device device) {
  Inputs there, plain;
  for (const Tensor& input : inputs) {
    there.push_back(moved(input, device));
    plain.push_back(moved(input, Device::reference()));
  }
  expect_close(function(there), function(plain), tolerance, what);
}

void compare(const Function& function, const Inputs& inputs, double tolerance, const std::string& what) {
  expect_like_reference(function, inputs, tolerance, what, Device::cuda());
}

TEST_F(CudaOps, ElementsOfAnyLayout) {
  const std::pair<const char*, Tensor (*)(const Tensor&)> functions[] = {
      {"exp", exp},    {"silu", silu},       {"gelu", gelu},         {"gelu_tanh", gelu_tanh},
      {"tanh", tanh},  {"sigmoid", sigmoid}, {"softplus", softplus}, {"sin", sin},
      {"cos", cos},    {"erf", erf},         {"neg", neg},           {"abs", abs},
      {"round", round}};
  for (const DType dtype : float_dtypes()) {
    for (const Tensor& x : awkward_views(13, 67, 1, dtype)) {
      for (const auto& [name, function] : functions) {
        compare([&](const Inputs& in) { return function(in[0]); }, {x}, 2 * rounding_of(dtype), name);
      }
    }
  }
  for (const DType dtype : all_dtypes()) {
    const auto left = awkward_views(9, 65, 2, dtype), right = awkward_views(9, 65, 3, dtype);
    for (size_t i = 0; i < left.size(); ++i) {
      const Inputs both{left[i], right[(i * 5 + 2) % right.size()]};
      compare([](const Inputs& in) { return add(in[0], in[1]); }, both, rounding_of(dtype), "add");
      compare([](const Inputs& in) { return mul(in[0], in[1]); }, both, rounding_of(dtype), "mul");
      compare([](const Inputs& in) { return maximum(in[0], in[1]); }, both, 0, "maximum");
      compare([](const Inputs& in) { return le(in[0], in[1]); }, both, 0, "le");
      compare([](const Inputs& in) { return where(lt(in[0], in[1]), in[0], in[1]); }, both, 0, "where");
      compare([](const Inputs& in) { return clamp(in[0], -1.5, 90); }, {left[i]}, 0, "clamp");
      compare([](const Inputs& in) { return tril(in[0], -1); }, {left[i]}, 0, "tril");
      for (const DType target : all_dtypes()) {
        compare([&](const Inputs& in) { return in[0].to_dtype(target); }, {left[i]}, 0,
                cat(to_string(dtype), " to ", to_string(target)));
      }
    }
  }
}

TEST_F(CudaOps, Reductions) {
  for (const DType dtype : all_dtypes()) {
    for (const Tensor& x : awkward_views(33, 129, 4, dtype)) {
      for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
        const double tolerance = rounding_of(dtype) * 4;
        compare([&](const Inputs& in) { return sum(in[0], dims); }, {x}, tolerance, "sum");
        compare([&](const Inputs& in) { return mean(in[0], dims); }, {x}, tolerance + 1e-15, "mean");
        compare([&](const Inputs& in) { return max(in[0], dims); }, {x}, 0, "max");
        if (is_float(dtype)) compare([&](const Inputs& in) { return var(in[0], dims); }, {x}, tolerance, "var");
      }
      for (const int dim : {0, 1}) {
        compare([&](const Inputs& in) { return argmax(in[0], dim); }, {x}, 0, "argmax");
        compare([&](const Inputs& in) { return argmin(in[0], dim); }, {x}, 0, "argmin");
        compare([&](const Inputs& in) { return sort(in[0], dim, true).indices; }, {x}, 0, "sort");
        compare([&](const Inputs& in) { return topk(in[0], 7, dim).values; }, {x}, 0, "topk");
        if (!is_float(dtype)) continue;
        compare([&](const Inputs& in) { return softmax(in[0], dim); }, {x}, rounding_of(dtype), "softmax");
        compare([&](const Inputs& in) { return log_softmax(in[0], dim); }, {x}, rounding_of(dtype), "log_softmax");
        compare([&](const Inputs& in) { return cumsum(in[0], dim); }, {x}, 4 * rounding_of(dtype), "cumsum");
      }
    }
  }
}

TEST_F(CudaOps, Norms) {
  for (const DType dtype : float_dtypes()) {
    for (const int64_t size : {65, 1000, 4097}) {
      const std::vector<Tensor> views = awkward_views(5, size, 5, dtype);
      for (size_t i = 0; i < views.size(); ++i) {
        if (i == 6 || i == 7) continue;  // rows of one value: what is left of them is rounding
        const Tensor& x = views[i];
        const Tensor weight = sample({size}, 6, DType::kF32), bias = sample({size}, 7, dtype);
        compare([](const Inputs& in) { return rms_norm(in[0], in[1]); }, {x, weight}, 4 * rounding_of(dtype), "rms");
        compare([](const Inputs& in) { return layer_norm(in[0], in[1], in[2]); }, {x, weight, bias},
                8 * rounding_of(dtype), "layer");
      }
    }
  }
}

double product_tolerance(DType a, DType b, int64_t k) {
  const double sum = std::sqrt(static_cast<double>(k) + 1);
  if (a == DType::kF64 || b == DType::kF64) return 2e-15 * (10 + sum);
  // f32 meets f16 or bf16 in that dtype.
  if (a == DType::kF32 && b == DType::kF16) return 1e-3 * sum;
  if (a == DType::kF32 && b == DType::kBF16) return 8e-3 * sum;
  if (a == DType::kF32 || b == DType::kF32 || a != b) return 2e-6 * (2 + sum);
  return (a == DType::kF16 ? 1.0 / 1024 : 1.0 / 128) + 1e-5 * sum;
}

TEST_F(CudaOps, Matmul) {
  for (const DType x : float_dtypes()) {
    for (const DType y : float_dtypes()) {
      for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 64, 65},
                                    {3, 600, 67},
                                    {8, 1032, 17},
                                    {9, 512, 37},
                                    {19, 67, 35},
                                    {65, 536, 20},
                                    {140, 136, 30},
                                    {1, 2052, 130},
                                    {1, 1, 1}}) {
        const Tensor a = randn({m, k}, 3, x), rows = randn({k, n}, 4, y), weights = randn({n, k}, 5, y);
        const std::string what = cat(to_string(x), " x ", to_string(y), " ", m, " ", k, " ", n);
        compare([](const Inputs& in) { return matmul(in[0], in[1]); }, {a, rows}, product_tolerance(x, y, k), what);
        compare([](const Inputs& in) { return matmul(in[0], transpose(in[1], 0, 1)); }, {a, weights},
                product_tolerance(x, y, k), cat(what, " transposed"));
      }
    }
  }
  const Tensor a = randn({3, 2, 5, 33}, 9), b = randn({3, 1, 33, 19}, 10);
  compare([](const Inputs& in) { return matmul(in[0], in[1]); }, {a, b}, 2e-5, "batches");
  compare([](const Inputs& in) { return matmul(in[0], flip(in[1], {0})); }, {a, randn({33, 19}, 11)}, 2e-5, "flipped");
  expect_identical(matmul(zeros({3, 0}).to_device(Device::cuda()), zeros({0, 4}).to_device(Device::cuda())),
                   zeros({3, 4}), "k = 0");
}

TEST_F(CudaOps, ARowOfAProductDoesNotDependOnTheOthers) {
  for (const auto& [x, y] : {std::pair{DType::kF32, DType::kF32},
                             {DType::kF32, DType::kBF16},
                             {DType::kBF16, DType::kBF16},
                             {DType::kF16, DType::kF16}}) {
    for (const int64_t k : {536, 4096}) {
      const Tensor a = randn({300, k}, 15, x).to_device(Device::cuda());
      // Many columns fill the device with large tiles, few do not.
      for (const int64_t n : {200, 6200}) {
        const Tensor w = transpose(randn({n, k}, 16, y).to_device(Device::cuda()), 0, 1);
        const Tensor all = matmul(a, w).to_device(Device::cpu());
        for (const int64_t m : {1, 2, 5, 8, 9, 16, 17, 33, 63, 64, 65, 128, 129, 200}) {
          for (const int64_t first : {0, 37, 99}) {
            expect_identical(matmul(narrow(a, 0, first, m), w), narrow(all, 0, first, m).contiguous(),
                             cat(to_string(x), " x ", to_string(y), " k ", k, " n ", n, ": ", m, " rows from ", first));
          }
        }
      }
    }
  }
}

// Weights around 0.02, as models have them: encoded, or random codes with a sane scale.
Tensor packed_weights(int64_t rows, int64_t k, DType dtype, uint64_t seed) {
  if (quant_format(dtype).encode) return quantize(mul(randn({rows, k}, seed), scalar(0.02)), dtype);
  Tensor w = empty({rows, k}, dtype);
  std::mt19937 random(static_cast<uint32_t>(seed));
  const int64_t bytes = bytes_of(dtype, rows * k), block = block_bytes(dtype);
  for (int64_t i = 0; i < bytes; ++i) w.raw()[i] = static_cast<std::byte>(random());
  for (int64_t at = 0; at < bytes; at += block) {
    if (dtype == DType::kIQ1_M) {  // the scale's top bits are the top bits of the last two bytes
      w.raw()[at + block - 1] = (w.raw()[at + block - 1] & std::byte{0x0f}) | std::byte{0x20};
    } else {
      const uint16_t scale = f32_to_f16_bits(0.001f * static_cast<float>(1 + random() % 9));
      std::memcpy(w.raw() + at +
                      (dtype == DType::kTQ1_0   ? 52
                       : dtype == DType::kTQ2_0 ? 64
                                                : 0),
                  &scale, sizeof(scale));
    }
  }
  return w;
}

TEST_F(CudaOps, PackedWeights) {
  for (int i = kElementDTypeCount; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::kF8E8M0) continue;  // only scales have it
    const std::string name(to_string(dtype));
    for (const int64_t k : {256, 1280}) {
      const Tensor w = packed_weights(67, k, dtype, 5), there = w.to_device(Device::cuda());
      expect_identical(there.to_dtype(DType::kF32), w.to_dtype(DType::kF32), name + " decoded");
      const Tensor x = mul(randn({90, k}, 11), 3.0), x_there = x.to_device(Device::cuda());
      const Tensor want = matmul(x, transpose(w.to_dtype(DType::kF32), 0, 1));
      const double spread = std::sqrt(mean(sqr(want)).item());
      const Tensor all = matmul(x_there, transpose(there, 0, 1));
      expect_close(div(all.to_device(Device::cpu()), spread), div(want, spread), 4e-3, name);
      for (const int64_t rows : {1, 2, 5, 8, 11, 16, 17, 40}) {
        const Tensor part = matmul(narrow(x_there, 0, 3, rows), transpose(there, 0, 1));
        expect_identical(part, narrow(all, 0, 3, rows).contiguous(), cat(name, ": ", rows, " rows, k ", k));
      }
    }
    const Tensor rows = from_vector(std::vector<int64_t>{5, 0, 66, 5}, {4});
    const Tensor w = packed_weights(67, 256, dtype, 6);
    expect_identical(embedding(rows.to_device(Device::cuda()), w.to_device(Device::cuda())), embedding(rows, w),
                     name + " rows");
  }
}

// Activations of any size keep their precision.
TEST_F(CudaOps, PackedWeightsTakeLargeAndSmallActivations) {
  const Tensor w = packed_weights(40, 512, DType::kQ4_K, 7);
  for (const double size : {1e-12, 1.0, 1e6, 1e20}) {
    const Tensor x = mul(randn({3, 512}, 8), size);
    const Tensor want = matmul(x, transpose(w.to_dtype(DType::kF32), 0, 1));
    const double spread = std::sqrt(mean(sqr(want.to_dtype(DType::kF64))).item());
    const Tensor got = matmul(x.to_device(Device::cuda()), transpose(w.to_device(Device::cuda()), 0, 1));
    expect_close(div(got.to_device(Device::cpu()).to_dtype(DType::kF64), spread),
                 div(want.to_dtype(DType::kF64), spread), 4e-3, cat(size));
  }
}

// silu(gate x) * up x in one kernel has the bits of the products one by one.
TEST_F(CudaOps, GatedProducts) {
  const FusedKernels& fused = *fused_kernels(Device::cuda());
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kQ4_K, DType::kQ6_K, DType::kQ8_0}) {
    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{256, 67}, {1280, 20}, {4864, 130}}) {
      const auto weights = [&](uint64_t seed) {
        return is_packed(dtype) ? packed_weights(n, k, dtype, seed).to_device(Device::cuda())
                                : mul(randn({n, k}, seed), 0.02).to_dtype(dtype).to_device(Device::cuda());
      };
      const Tensor gate = weights(1), up = weights(2), norm = randn({k}, 3).to_device(Device::cuda());
      const Tensor bias = randn({n}, 4).to_device(Device::cuda()), x = randn({1, k}, 5).to_device(Device::cuda());
      const auto out = [&] { return empty({1, n}, DType::kF32, Device::cuda()); };
      const LinearInput input{x, norm, 1e-5f, {}};
      const Tensor together = out(), first = out(), second = out();
      ASSERT_TRUE(fused.gated_linear(input, {gate, bias, {}, together}, {up, {}, {}, {}}));
      const std::array<LinearJob, 2> jobs{LinearJob{gate, bias, {}, first}, LinearJob{up, {}, {}, second}};
      fused.linear(input, jobs);
      const Tensor want = mul(silu(first.to_device(Device::cpu())), second.to_device(Device::cpu()));
      expect_close(together, want, 2e-6, cat(to_string(dtype), " ", k, " ", n));
    }
  }
}

// Rows among others have the bits they have alone: in one kernel for several products with biases and residuals, in one
// that puts gate and up together, at sizes that fill no tile.
TEST_F(CudaOps, RowsOfFusedProductsDoNotDependOnTheOthers) {
  const FusedKernels& fused = *fused_kernels(Device::cuda());
  const auto there = [](const Tensor& x) { return x.to_device(Device::cuda()); };
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{8, 8}, {200, 131}, {1032, 1000}, {4864, 264}}) {
      const int64_t sizes[] = {n, 72, 24};
      std::array<Tensor, 3> weights, biases, residuals;
      constexpr int64_t kRows = 300;
      for (size_t i = 0; i < 3; ++i) {
        weights[i] = there(mul(randn({sizes[i], k}, 21 + i), 0.05).to_dtype(dtype));
        biases[i] = i == 1 ? Tensor{} : there(randn({sizes[i]}, 31 + i));
        residuals[i] = i == 2 ? Tensor{} : there(randn({kRows, sizes[i]}, 41 + i));
      }
      const Tensor up = there(mul(randn({n, k}, 51), 0.05).to_dtype(dtype)), x = there(randn({kRows, k}, 52));
      // [rows, all results] of these rows of x.
      const auto results = [&](int64_t first, int64_t rows) {
        const LinearInput input{narrow(x, 0, first, rows), {}, 0, {}};
        std::vector<Tensor> outs;
        std::vector<LinearJob> jobs;
        for (size_t i = 0; i < 3; ++i) {
          outs.push_back(empty({rows, sizes[i]}, DType::kF32, Device::cuda()));
          jobs.push_back({weights[i], biases[i],
                          residuals[i].defined() ? narrow(residuals[i], 0, first, rows) : Tensor{}, outs.back()});
        }
        fused.linear(input, jobs);
        Tensor together = empty({rows, n}, DType::kF32, Device::cuda());
        if (!fused.gated_linear(input, {weights[0], biases[0], {}, together}, {up, biases[0], {}, {}})) {
          together = Tensor{};
        }
        outs.push_back(together);
        return outs;
      };
      std::array<std::vector<Tensor>, 4> alone;
      std::vector<int64_t> rows{0, 1, 7, 8, 15, 16, 31, 32, 62, 63, 64, 127, 128, 299};
      for (const int64_t row : rows) {
        const std::vector<Tensor> outs = results(row, 1);
        for (size_t i = 0; i < 4; ++i) {
          ASSERT_TRUE(outs[i].defined());
          alone[i].push_back(outs[i]);
        }
      }
      for (const int64_t m : {2, 8, 9, 16, 17, 33, 63, 64, 65, 129, 300}) {
        const std::vector<Tensor> outs = results(0, m);
        for (size_t i = 0; i < 4; ++i) {
          if (!outs[i].defined()) continue;  // better left apart
          for (size_t r = 0; r < rows.size() && rows[r] < m; ++r) {
            expect_identical(narrow(outs[i], 0, rows[r], 1).contiguous(), alone[i][r],
                             cat(to_string(dtype), " k ", k, " n ", n, ": row ", rows[r], " of ", m, ", product ", i));
          }
        }
      }
    }
  }
}

// Against the experts one by one on the host; more tokens than one, ties among the scores, sizes that fill no tile.
TEST_F(CudaOps, MixesExperts) {
  const FusedKernels& fused = *fused_kernels(Device::cuda());
  const int64_t hidden = 136, inner = 72;
  for (const auto& [count, chosen, tokens] : {std::array<int64_t, 3>{5, 2, 1}, {37, 8, 3}, {128, 8, 9}}) {
    std::vector<std::array<Tensor, 3>> here, there;
    std::vector<ExpertWeights> experts;
    for (int64_t i = 0; i < count; ++i) {
      const auto seed = static_cast<uint64_t>(3 * i);
      const auto weights = [](const Shape& shape, uint64_t seed) {
        return mul(randn(shape, seed), 0.1).to_dtype(DType::kBF16);
      };
      here.push_back(
          {weights({inner, hidden}, seed), weights({inner, hidden}, seed + 1), weights({hidden, inner}, seed + 2)});
    }
    for (const auto& of : here) {
      there.push_back(
          {of[0].to_device(Device::cuda()), of[1].to_device(Device::cuda()), of[2].to_device(Device::cuda())});
    }
    for (const auto& of : there) experts.push_back({&of[0], &of[1], &of[2]});
    const Tensor x = randn({tokens, hidden}, 1000).to_dtype(DType::kBF16).to_dtype(DType::kF32);
    // Few different values: many experts are as good as others.
    const Tensor scores = mul(add(round(mul(sigmoid(randn({tokens, count}, 1001)), 7.0)), 1.0), 0.125);
    const Tensor out = empty({tokens, hidden}, DType::kF32, Device::cuda());
    ASSERT_TRUE(fused.mix_experts(x.to_device(Device::cuda()), scores.to_device(Device::cuda()), {},
                                  {chosen, true, 1.5f}, experts, out));

    Tensor want = zeros({tokens, hidden});
    for (int64_t token = 0; token < tokens; ++token) {
      const std::vector<float> row = narrow(scores, 0, token, 1).contiguous().to_vector<float>();
      std::vector<size_t> order(row.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row[a] > row[b]; });
      order.resize(static_cast<size_t>(chosen));
      float sum = 0;
      for (const size_t i : order) sum += row[i];
      const Tensor of_token = narrow(x, 0, token, 1).contiguous();
      Tensor mixed = zeros({1, hidden});
      for (const size_t i : order) {
        const auto times = [&](const Tensor& y, size_t part) {
          return matmul(y, transpose(here[i][part].to_dtype(DType::kF32), 0, 1));
        };
        const Tensor inside = mul(silu(times(of_token, 0)), times(of_token, 1));
        mixed = add(mixed, mul(times(inside.to_dtype(DType::kBF16).to_dtype(DType::kF32), 2),
                               static_cast<double>(row[i] * 1.5f / sum)));
      }
      std::memcpy(want.mutable_data<float>() + token * hidden, mixed.data<float>(),
                  static_cast<size_t>(hidden) * sizeof(float));
    }
    const double spread = std::sqrt(mean(sqr(want)).item());
    expect_close(div(out.to_device(Device::cpu()), spread), div(want, spread), 1e-2, cat(count, " experts"));
    // A token's bits do not depend on the others.
    for (int64_t token = 0; token < tokens; ++token) {
      const Tensor alone = empty({1, hidden}, DType::kF32, Device::cuda());
      ASSERT_TRUE(fused.mix_experts(narrow(x, 0, token, 1).contiguous().to_device(Device::cuda()),
                                    narrow(scores, 0, token, 1).contiguous().to_device(Device::cuda()), {},
                                    {chosen, true, 1.5f}, experts, alone));
      expect_identical(alone, narrow(out, 0, token, 1).contiguous(), cat("token ", token));
    }
  }
}

TEST_F(CudaOps, Attention) {
  for (const DType dtype : float_dtypes()) {
    const Tensor q = randn({2, 4, 37, 48}, 1, dtype), k = randn({2, 2, 150, 48}, 2, dtype),
                 v = randn({2, 2, 150, 40}, 3, dtype), mask = randn({37, 150}, 4);
    for (const bool causal : {false, true}) {
      compare(
          [&](const Inputs& in) {
            AttentionOptions options;
            options.causal = causal;
            options.mask = in[3];
            return scaled_dot_product_attention(in[0], in[1], in[2], options);
          },
          {q, k, v, mask}, 4 * rounding_of(dtype), "attention");
    }
  }
}

TEST_F(CudaOps, MemoryIsUsedAgain) {
  const Tensor first = empty({1000}, DType::kF32, Device::cuda());
  const std::byte* place = first.raw();
  const Tensor other = empty({1000}, DType::kF32, Device::cuda());
  EXPECT_NE(other.raw(), place);
  { const Tensor gone = first; }
  Tensor again = add(other, other);  // while `first` is held, nothing takes its place
  EXPECT_NE(again.raw(), place);
}

}  // namespace
}  // namespace wick
#endif  // WICK_CUDA
