// Kernels of CUDA against the reference, over all dtypes, awkward layouts and sizes.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "backends/cuda/devices.h"
#include "nn/kv_cache.h"
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
    // Parts of k end within blocks of 256 columns; rows that do not fill the last of them.
    for (const int64_t k : {256, 1280, block_weights(dtype) == 32 ? 416 : 2560}) {
      const Tensor w = packed_weights(67, k, dtype, 5), there = w.to_device(Device::cuda());
      expect_identical(there.to_dtype(DType::kF32), w.to_dtype(DType::kF32), name + " decoded");
      const Tensor x = mul(randn({90, k}, 11), 3.0), x_there = x.to_device(Device::cuda());
      const Tensor want = matmul(x, transpose(w.to_dtype(DType::kF32), 0, 1));
      const double spread = std::sqrt(mean(sqr(want)).item());
      const Tensor all = matmul(x_there, transpose(there, 0, 1));
      expect_close(div(all.to_device(Device::cpu()), spread), div(want, spread), 4e-3, name);
      for (const int64_t rows : {1, 2, 5, 8, 11, 16, 17, 40, 64, 65}) {
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

// More rows of weights than all warps of a device take at once, and too few to give each of them some.
TEST_F(CudaOps, PackedWeightsOfManyAndFewRows) {
  for (const DType dtype : {DType::kQ4_K, DType::kQ6_K, DType::kQ8_0}) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{36001, 256}, {5, 4096}, {4099, 512}}) {
      const Tensor w = packed_weights(n, k, dtype, 8), x = randn({70, k}, 9).to_device(Device::cuda());
      const Tensor all = matmul(x, transpose(w.to_device(Device::cuda()), 0, 1)).to_device(Device::cpu());
      const Tensor want = matmul(narrow(x.to_device(Device::cpu()), 0, 0, 2), transpose(w.to_dtype(DType::kF32), 0, 1));
      const double spread = std::sqrt(mean(sqr(want)).item());
      const std::string what = cat(to_string(dtype), " ", n, " x ", k);
      expect_close(div(narrow(all, 0, 0, 2).contiguous(), spread), div(want, spread), 4e-3, what);
      for (const int64_t rows : {1, 3, 9, 33}) {
        expect_identical(matmul(narrow(x, 0, 0, rows), transpose(w.to_device(Device::cuda()), 0, 1)),
                         narrow(all, 0, 0, rows).contiguous(), cat(what, ": ", rows, " rows"));
      }
    }
  }
}

// Several packed matrices with one input, a bias and a residual have the bits of each product alone.
TEST_F(CudaOps, PackedProductsTogether) {
  const FusedKernels& fused = *fused_kernels(Device::cuda());
  const std::array<int64_t, 3> sizes{67, 20, 130};
  for (const DType dtype : {DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kQ4_0}) {
    for (const int64_t m : {1, 3, 12, 40, 70}) {
      const Tensor x = randn({m, 768}, 1).to_device(Device::cuda());
      std::vector<LinearJob> jobs;
      for (size_t i = 0; i < sizes.size(); ++i) {
        jobs.push_back({packed_weights(sizes[i], 768, dtype, i).to_device(Device::cuda()),
                        randn({sizes[i]}, 10 + i).to_device(Device::cuda()),
                        i == 1 ? Tensor() : randn({m, sizes[i]}, 20 + i).to_device(Device::cuda()),
                        empty({m, sizes[i]}, DType::kF32, Device::cuda())});
      }
      fused.linear({x, {}, 0, {}}, jobs);
      for (const LinearJob& job : jobs) {
        Tensor want = matmul(x, transpose(job.weight, 0, 1)).to_device(Device::cpu());
        want = add(want, job.bias.to_device(Device::cpu()));
        if (job.residual.defined()) want = add(want, job.residual.to_device(Device::cpu()));
        expect_identical(job.out, want, cat(to_string(dtype), ": ", m, " rows, ", job.out.dim(1), " columns"));
      }
    }
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

struct Mixture {
  int64_t experts, chosen, tokens;
  bool sigmoid;
};

// Against the experts one by one on the host: tokens few and many, experts that are as good as others, sizes that fill
// no tile.
TEST_F(CudaOps, MixesExperts) {
  const FusedKernels& fused = *fused_kernels(Device::cuda());
  const int64_t hidden = 136, inner = 72;
  for (const auto& [count, chosen, tokens, sigmoids] :
       {Mixture{5, 2, 1, false}, {37, 8, 3, true}, {128, 8, 9, false}, {40, 3, 70, true}, {128, 8, 300, false}}) {
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
    const Tensor x = randn({tokens, hidden}, 1000), norm = randn({hidden}, 1001), residual = randn(x.shape(), 1002);
    Tensor router = randn({count, hidden}, 1003);  // each second expert scores as the one before it
    for (int64_t i = 1; i < count; i += 2) {
      std::memcpy(router.mutable_data<float>() + i * hidden, router.data<float>() + (i - 1) * hidden,
                  static_cast<size_t>(hidden) * sizeof(float));
    }
    const Tensor bias = sigmoids ? mul(randn({count}, 1004), 0.2) : Tensor();
    const auto away = [](const Tensor& y) { return y.defined() ? y.to_device(Device::cuda()) : y; };
    const auto mix = [&](const Tensor& rows, const Tensor& beside) {
      const Tensor out = empty(rows.shape(), DType::kF32, Device::cuda());
      EXPECT_TRUE(fused.mix_experts({away(rows), away(norm), 1e-6f, {}}, {away(router), {}, away(bias)},
                                    {chosen, true, 1.5f, sigmoids}, experts, away(beside), out));
      return out;
    };
    const Tensor out = mix(x, residual);

    const Tensor normed = rms_norm(x, norm, 1e-6f), logits = matmul(normed, transpose(router, 0, 1));
    const Tensor scores = (sigmoids ? sigmoid(logits) : softmax(logits, -1)).contiguous();
    const Tensor choosing = (sigmoids ? add(scores, bias) : scores).contiguous();
    Tensor want = zeros({tokens, hidden});
    for (int64_t token = 0; token < tokens; ++token) {
      const std::vector<float> row = narrow(choosing, 0, token, 1).contiguous().to_vector<float>();
      std::vector<size_t> order(row.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row[a] > row[b]; });
      order.resize(static_cast<size_t>(chosen));
      const float* score = scores.data<float>() + token * count;
      float sum = 0;
      for (const size_t i : order) sum += score[i];
      const Tensor of_token = narrow(normed, 0, token, 1).contiguous().to_dtype(DType::kBF16).to_dtype(DType::kF32);
      Tensor mixed = narrow(residual, 0, token, 1).contiguous();
      for (const size_t i : order) {
        const auto times = [&](const Tensor& y, size_t part) {
          return matmul(y, transpose(here[i][part].to_dtype(DType::kF32), 0, 1));
        };
        const Tensor inside = mul(silu(times(of_token, 0)), times(of_token, 1));
        mixed = add(mixed, mul(times(inside.to_dtype(DType::kBF16).to_dtype(DType::kF32), 2),
                               static_cast<double>(score[i] * 1.5f / sum)));
      }
      std::memcpy(want.mutable_data<float>() + token * hidden, mixed.data<float>(),
                  static_cast<size_t>(hidden) * sizeof(float));
    }
    const double spread = std::sqrt(mean(sqr(want)).item());
    expect_close(div(out.to_device(Device::cpu()), spread), div(want, spread), 2e-2, cat(count, " experts"));
    // A token's bits do not depend on the others.
    for (int64_t token = 0; token < tokens; token += token < 8 ? 1 : 61) {
      const auto of = [&](const Tensor& y) { return narrow(y, 0, token, 1).contiguous(); };
      expect_identical(mix(of(x), of(residual)), of(out), cat("token ", token, " of ", tokens));
    }
  }
}

// Against the ops one after the other: single tokens behind others, at the edges of blocks and splits, and a prompt.
TEST_F(CudaOps, AttendsToWhatItStores) {
  const FusedKernels& fused = *fused_kernels(Device::cuda());
  struct Case {
    int64_t heads, kv_heads, dim, pairs;
    DType dtype;
    bool interleaved, normed;
    std::vector<int64_t> tokens;
  };
  const std::vector<int64_t> ones(6, 1);
  for (const Case& of : {Case{4, 2, 128, 64, DType::kF16, false, true, ones},
                         {6, 1, 64, 16, DType::kBF16, true, false, ones},
                         {40, 2, 128, 64, DType::kF16, false, true, ones},
                         {4, 2, 96, 48, DType::kF16, false, true, ones},
                         {4, 4, 64, 32, DType::kI8, false, true, ones},
                         {4, 2, 128, 64, DType::kF16, false, true, {1, 5, 20, 1, 2, 3}}}) {
    const std::vector<int64_t> positions{0, 15, 16, 127, 128, 300};
    constexpr int64_t kWidth = 24;
    const auto sequences = static_cast<int64_t>(positions.size());
    std::vector<int32_t> starts{0}, first, table;
    for (int64_t s = 0; s < sequences; ++s) {
      starts.push_back(starts.back() + static_cast<int32_t>(of.tokens[static_cast<size_t>(s)]));
      first.push_back(static_cast<int32_t>(positions[static_cast<size_t>(s)]));
      for (int64_t b = 0; b < kWidth; ++b) table.push_back(static_cast<int32_t>(b * sequences + s));
    }
    const int64_t rows = starts.back();
    const Tensor query = randn({rows, of.heads, of.dim}, 1), key = randn({rows, of.kv_heads, of.dim}, 2),
                 value = randn({rows, of.kv_heads, of.dim}, 3), query_weight = randn({of.dim}, 4),
                 key_weight = randn({of.dim}, 5), angles = randn({rows, of.pairs}, 6);
    const auto paged = [&](Device device) {
      return PagedRows{from_vector(starts, {sequences + 1}, device), from_vector(first, {sequences}, device),
                       from_vector(table, {sequences, kWidth}, device)};
    };
    PagedAttentionOptions options;
    options.scale = 0.1f;
    const auto run = [&](Device device, bool together) {
      const KvShape shape{of.kv_heads, of.dim, of.dim};
      const KvCache cache({&shape, 1}, kWidth * sequences, of.dtype, device);
      const auto there = [&](const Tensor& y) { return y.to_device(device); };
      // What came before: other keys and values, stored as prompts.
      std::vector<int32_t> before{0}, zeros_(static_cast<size_t>(sequences), 0);
      for (const int64_t position : positions) before.push_back(before.back() + static_cast<int32_t>(position));
      const PagedRows past{from_vector(before, {sequences + 1}, device), from_vector(zeros_, {sequences}, device),
                           from_vector(table, {sequences, kWidth}, device)};
      store_kv(there(randn({before.back(), of.kv_heads, of.dim}, 7)),
               there(randn({before.back(), of.kv_heads, of.dim}, 8)), past, cache.layer(0));
      const Tensor c = there(cos(angles)), s = there(sin(angles));
      if (together) {
        const Tensor out = empty(query.shape(), DType::kF32, device);
        const HeadTurns turns{of.normed ? there(query_weight) : Tensor(),
                              of.normed ? there(key_weight) : Tensor(),
                              1e-6f,
                              c,
                              s,
                              of.interleaved};
        fused.attend({there(query), there(key), there(value)}, turns, cache.layer(0), paged(device), options, out);
        // What was stored is seen by whoever comes next.
        const Tensor again = paged_attention(there(query), cache.layer(0), paged(device), options);
        return cat(std::vector<Tensor>{out, again}, 0).to_device(Device::cpu());
      }
      const auto turned = [&](const Tensor& y, const Tensor& weight) {
        const Tensor normed = of.normed ? rms_norm(there(y), there(weight), 1e-6f) : there(y);
        return transpose(rope(transpose(normed, 0, 1), c, s, of.interleaved), 0, 1).contiguous();
      };
      store_kv(turned(key, key_weight), there(value), paged(device), cache.layer(0));
      const Tensor out = paged_attention(turned(query, query_weight), cache.layer(0), paged(device), options);
      const Tensor again = paged_attention(there(query), cache.layer(0), paged(device), options);
      return cat(std::vector<Tensor>{out, again}, 0).to_device(Device::cpu());
    };
    const Tensor together = run(Device::cuda(), true);
    expect_close(together, run(Device::cuda(), false), 2e-5, cat("apart, heads of ", of.dim));
    expect_close(together, run(Device::cpu(), false), of.dtype == DType::kBF16 ? 4e-2 : 1e-2,
                 cat("on the host, heads of ", of.dim));
  }
}

// Against a full sort; ties, rows without enough, what is no number.
TEST_F(CudaOps, PicksTheHighestLogits) {
  const FusedKernels& fused = *fused_kernels(Device::cuda());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const int64_t n : {1, 5, 1000, 4096, 32003, 151936}) {
    std::vector<float> values = randn({6, n}, static_cast<uint64_t>(n)).to_vector<float>();
    const auto row = [&](size_t i) {
      return std::span(values).subspan(i * static_cast<size_t>(n), static_cast<size_t>(n));
    };
    for (float& x : row(1)) x = std::round(x * 4) / 4;  // many ties
    std::ranges::fill(row(2), -kInfinity);
    row(2)[static_cast<size_t>(n) / 2] = -5;
    row(3)[static_cast<size_t>(n) - 1] = std::numeric_limits<float>::quiet_NaN();
    row(4)[0] = kInfinity;
    std::ranges::fill(row(5), -kInfinity);
    for (const int64_t k : {1, 2, 20, 128}) {
      if (k > n) continue;
      const Tensor out = empty({6, 2 * k}, DType::kI32, Device::cuda());
      fused.top_logits(from_vector(values, {6, n}, Device::cuda()), k, out);
      const std::vector<int32_t> got = out.to_device(Device::cpu()).to_vector<int32_t>();
      for (size_t r = 0; r < 6; ++r) {
        const std::span all = row(r);
        const int32_t* tokens = got.data() + r * static_cast<size_t>(2 * k);
        const auto usable = std::ranges::count_if(all, [](float x) { return x > -kInfinity; });
        const bool bad = r == 3 || r == 4 || usable < k;
        if (bad || (r == 1 && n > 1000)) {  // so many ties may be too many
          if (bad) {
            EXPECT_EQ(tokens[0], -1) << n << " " << k << " row " << r;
          }
          if (bad || tokens[0] == -1) continue;
        }
        std::vector<int32_t> order(all.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
          return all[static_cast<size_t>(a)] > all[static_cast<size_t>(b)];
        });
        order.resize(static_cast<size_t>(k));
        std::ranges::sort(order);
        for (int64_t i = 0; i < k; ++i) {
          ASSERT_EQ(tokens[i], order[static_cast<size_t>(i)]) << n << " " << k << " row " << r;
          ASSERT_EQ(std::bit_cast<float>(tokens[k + i]), all[static_cast<size_t>(tokens[i])]) << n << " " << k;
        }
      }
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
