// Fused kernels of CUDA against the ops that they stand for, and their rows against rows alone.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ops/kernel_table.h"
#include "ops/layers/draw_tokens.h"
#include "ops/layers/experts.h"
#include "quant/format.h"
#include "support/kernel_cases.h"
#include "support/needs_cuda.h"
#include "support/packed_weights.h"
#include "support/token_draws.h"

namespace wick {
namespace {

class CudaFused : public NeedsCuda<> {};

// Several packed matrices with one input, a bias and a residual have the bits of each product alone.
TEST_F(CudaFused, PackedProductsTogether) {
  const KernelTable& kernels = Device::cuda().kernels();
  const std::array<int64_t, 3> sizes{67, 20, 130};
  for (const DType dtype : {DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kQ4_0}) {
    for (const auto& [m, k] :
         {std::pair<int64_t, int64_t>{1, 768}, {3, 768}, {12, 768}, {40, 768}, {70, 768}, {1, 4096}}) {
      const Tensor x = randn({m, k}, 1).to_device(Device::cuda());
      std::vector<LinearJob> jobs;
      for (size_t i = 0; i < sizes.size(); ++i) {
        jobs.push_back({packed_weights(sizes[i], k, dtype, i).to_device(Device::cuda()),
                        randn({sizes[i]}, 10 + i).to_device(Device::cuda()),
                        i == 1 ? Tensor() : randn({m, sizes[i]}, 20 + i).to_device(Device::cuda()),
                        empty({m, sizes[i]}, DType::kF32, Device::cuda())});
      }
      kernels.linear({x, {}, 0, {}}, jobs);
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
TEST_F(CudaFused, GatedProducts) {
  const KernelTable& kernels = Device::cuda().kernels();
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kQ4_K, DType::kQ6_K, DType::kQ8_0}) {
    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{256, 67}, {1280, 20}, {4864, 130}, {4096, 67}}) {
      const auto weights = [&](uint64_t seed) {
        return is_packed(dtype) ? packed_weights(n, k, dtype, seed).to_device(Device::cuda())
                                : mul(randn({n, k}, seed), 0.02).to_dtype(dtype).to_device(Device::cuda());
      };
      const Tensor gate = weights(1), up = weights(2), norm = randn({k}, 3).to_device(Device::cuda());
      const Tensor bias = randn({n}, 4).to_device(Device::cuda()), x = randn({1, k}, 5).to_device(Device::cuda());
      const auto out = [&] { return empty({1, n}, DType::kF32, Device::cuda()); };
      const LinearInput input{x, norm, 1e-5f, {}};
      const Tensor together = out(), first = out(), second = out();
      ASSERT_TRUE(kernels.gated_linear(input, {gate, bias, {}, together}, {up, {}, {}, {}}));
      const std::array<LinearJob, 2> jobs{LinearJob{gate, bias, {}, first}, LinearJob{up, {}, {}, second}};
      kernels.linear(input, jobs);
      const Tensor want = mul(silu(first.to_device(Device::cpu())), second.to_device(Device::cpu()));
      expect_close(together, want, 2e-6, cat(to_string(dtype), " ", k, " ", n));
    }
  }
}

// Rows among others have the bits they have alone: in one kernel for several products with biases and residuals, in one
// that puts gate and up together, at sizes that fill no tile.
TEST_F(CudaFused, RowsOfFusedProductsDoNotDependOnTheOthers) {
  const KernelTable& kernels = Device::cuda().kernels();
  const auto there = [](const Tensor& x) { return x.to_device(Device::cuda()); };
  const auto make = [&](int64_t n, int64_t k, DType dtype, uint64_t seed) {
    return there(is_packed(dtype) ? packed_weights(n, k, dtype, seed) : mul(randn({n, k}, seed), 0.05).to_dtype(dtype));
  };
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kQ8_0,
                            DType::kQ4_0, DType::kQ4_1}) {
    for (auto [k, n] : {std::pair<int64_t, int64_t>{8, 8}, {200, 131}, {1032, 1000}, {4864, 264}}) {
      if (is_packed(dtype)) k = (k + 255) / 256 * 256;
      const int64_t sizes[] = {n, 72, 24};
      std::array<Tensor, 3> weights, biases, residuals;
      constexpr int64_t kRows = 300;
      for (size_t i = 0; i < 3; ++i) {
        weights[i] = make(sizes[i], k, dtype, 21 + i);
        biases[i] = i == 1 ? Tensor{} : there(randn({sizes[i]}, 31 + i));
        residuals[i] = i == 2 ? Tensor{} : there(randn({kRows, sizes[i]}, 41 + i));
      }
      const Tensor up = make(n, k, dtype, 51), x = there(randn({kRows, k}, 52));
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
        kernels.linear(input, jobs);
        Tensor together = empty({rows, n}, DType::kF32, Device::cuda());
        if (!kernels.gated_linear(input, {weights[0], biases[0], {}, together}, {up, biases[0], {}, {}})) {
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

// Products of one x with weights of several types run side by side; what comes behind sees the results of all.
TEST_F(CudaFused, ProductsOfSeveralTypes) {
  const KernelTable& kernels = Device::cuda().kernels();
  constexpr int64_t kColumns = 4096, kRows = 1000;
  const auto there = [](const Tensor& x) { return x.to_device(Device::cuda()); };
  const DType types[] = {DType::kQ4_K, DType::kQ4_K, DType::kQ6_K, DType::kQ8_0, DType::kBF16, DType::kQ5_K};
  constexpr size_t kTypes = std::size(types);
  std::array<Tensor, kTypes> weights, outs, alone;
  for (size_t i = 0; i < kTypes; ++i) {
    weights[i] = there(is_packed(types[i]) ? packed_weights(kRows, kColumns, types[i], i)
                                           : mul(randn({kRows, kColumns}, i), 0.02).to_dtype(types[i]));
    outs[i] = empty({1, kRows}, DType::kF32, Device::cuda());
    alone[i] = empty({1, kRows}, DType::kF32, Device::cuda());
  }
  const Tensor norm = there(randn({kColumns}, 10));
  for (uint64_t round = 0; round < 20; ++round) {
    // x is written just before, as by the layer before it.
    const Tensor x = add(there(randn({1, kColumns}, 20 + round)), 0.125);
    const LinearInput input{x, norm, 1e-5f, {}};
    std::vector<LinearJob> jobs;
    for (size_t i = 0; i < kTypes; ++i) jobs.push_back({weights[i], {}, {}, outs[i]});
    kernels.linear(input, jobs);
    std::array<Tensor, kTypes> seen;
    for (size_t i = 0; i < kTypes; ++i) seen[i] = add(outs[i], 1.0);
    for (size_t i = 0; i < kTypes; ++i) {
      jobs[i].out = alone[i];
      kernels.linear(input, {&jobs[i], 1});
      expect_identical(seen[i], add(alone[i], 1.0), cat(to_string(types[i]), ", round ", round));
    }
  }
}

struct Mixture {
  int64_t experts, chosen, tokens;
  bool sigmoid;
};

// Against the experts one by one on the host: tokens few and many, experts that are as good as others, sizes that fill
// no tile.
TEST_F(CudaFused, MixesExperts) {
  const KernelTable& kernels = Device::cuda().kernels();
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
    for (const auto& of : there) experts.push_back({of[0], of[1], of[2]});
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
      const LinearInput input{away(rows), away(norm), 1e-6f};
      const RoutedExperts routed = route_experts(input, {away(router), {}, away(bias)}, {chosen, true, 1.5f, sigmoids});
      EXPECT_TRUE(kernels.mix_experts(input, routed, experts, ExpertGate::kSilu, away(beside), out));
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

// Tokens are those of the host, to the last bit of every sum; ties, few usable ones, what is no number.
TEST_F(CudaFused, DrawsTokensAsTheHostDoes) {
  const KernelTable& kernels = Device::cuda().kernels();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr size_t kRows = 75;  // more than one launch takes
  for (const int64_t n : {1, 5, 255, 256, 1000, 4097, 32003, 151936, 262144}) {
    const auto size = static_cast<size_t>(n);
    std::vector<float> values = randn({static_cast<int64_t>(kRows), n}, static_cast<uint64_t>(n)).to_vector<float>();
    TokenDraws all;
    all.rows.resize(kRows);
    std::vector<TokenDraw>& draws = all.rows;
    for (size_t r = 0; r < kRows; ++r) {
      const std::span row = std::span(values).subspan(r * size, size);
      for (float& x : row) x *= r % 3 == 0 ? 1.0f : r % 3 == 1 ? 4.0f : 40.0f;
      if (r % 7 == 1) std::ranges::for_each(row, [](float& x) { x = std::round(x * 2) / 2; });
      if (r % 7 == 2) std::ranges::fill(row, 2.5f);
      if (r % 7 == 3) std::ranges::fill(row.first(size / 2), -kInfinity);
      if (r % 7 == 4) {
        std::ranges::for_each(row, [](float& x) { x = -std::abs(x) - 15; });
        row[size / 3] = 1;
      }
      draws[r].uniform = r == 2 ? 1 - 0x1p-53 : static_cast<double>(r * 7919 % kRows) / kRows;
      draws[r].temperature = r % 11 == 0 ? 0.0f : r % 11 == 1 ? 0.01f : 0.3f * static_cast<float>(r % 11);
      draws[r].top_p = r % 2 == 0 ? 1.0f : r % 5 == 0 ? 0.0f : r % 5 == 1 ? 0.999f : 0.9f;
      draws[r].top_k = r % 4 != 3 ? 0 : r % 8 == 3 ? 20 : 3000;
      if (r % 9 == 5) draws[r].log_min_p = std::log(0.05f);
    }
    values[20 * size + size - 1] = std::numeric_limits<float>::quiet_NaN();
    values[21 * size] = -std::numeric_limits<float>::quiet_NaN();
    values[22 * size + size / 2] = kInfinity;
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(23 * size), size, -kInfinity);
    const auto words = static_cast<size_t>(TokenDraws::mask_words(n));
    for (size_t r = 0; r < kRows; r += 3) {
      draws[r].mask = static_cast<int32_t>(r / 3);
      for (size_t i = 0; i < words; ++i)
        all.masks.push_back(r == 24 ? 0 : static_cast<uint32_t>((i + r) * 0x9E3779B9u));
    }
    const Tensor logits = from_vector(values, {static_cast<int64_t>(kRows), n}, Device::cuda());
    for (int32_t r = 30; r < 75; r += 5) {
      for (int32_t i = 0; i < 300 && i < n; ++i) all.edits[0].push_back({r, i, i == 7 ? -kInfinity : 0.5f});
      for (int32_t i = 0; i < 40 && i < n; i += 3) all.edits[1].push_back({r, i, 0, 1.3f, 0.25f});
      all.edits[2].push_back({r, 0, 0, 1, 2.5f});
    }
    for (const auto& round : all.edits) {
      for (const LogitEdit& edit : round) {
        float& logit = values[static_cast<size_t>(edit.row) * size + static_cast<size_t>(edit.token)];
        logit = edited(logit, edit);
      }
    }
    const Tensor out = empty({static_cast<int64_t>(kRows)}, DType::kI32, Device::cuda());
    kernels.draw_tokens(logits, all, out);
    const std::vector<int32_t> got = out.to_device(Device::cpu()).to_vector<int32_t>();
    for (size_t r = 0; r < kRows; ++r) {
      const std::span<const uint32_t> masks = all.masks;
      const auto mask = r % 3 == 0 ? masks.subspan(r / 3 * words, words) : std::span<const uint32_t>();
      const int32_t expected = reference_draw(std::span(values).subspan(r * size, size), draws[r], mask);
      EXPECT_EQ(got[r], expected) << "row " << r << " of " << n;
      if (r >= 20 && r <= 24) {
        EXPECT_EQ(expected, -1) << "row " << r << " of " << n;
      }
    }
    // The likeliest of all of them, twice: what one launch leaves behind is what the next one finds.
    TokenDraws likeliest;
    likeliest.rows.resize(kRows);
    for (int i = 0; i < 2; ++i) {
      kernels.draw_tokens(logits, likeliest, out);
      const std::vector<int32_t> tokens = out.to_device(Device::cpu()).to_vector<int32_t>();
      for (size_t r = 0; r < kRows; ++r) {
        EXPECT_EQ(tokens[r], reference_draw(std::span(values).subspan(r * size, size), {}, {})) << r << " of " << n;
      }
    }
  }
}

}  // namespace
}  // namespace wick
#endif
