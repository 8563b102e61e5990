#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const AttentionParams& params,
               const Tensor& out) {
  const FloatView query(q), key(k), value(v), to(out);
  const int64_t group = q.dim(1) / k.dim(1), keys = k.dim(2), lag = keys - q.dim(2);
  std::vector<double> weights(keys);
  for_each_line(q.shape(), 3, [&](const Index& line) {
    const auto [batch, head, token] = std::array{line[0], line[1], line[2]};
    const int64_t visible = params.causal ? std::clamp<int64_t>(token + lag + 1, 0, keys) : keys;
    double most = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t j = 0; j < visible; ++j) {
      double score = 0;
      for (int64_t d = 0; d < q.dim(3); ++d) {
        score += query.get(moved(line, 3, d)) * key.get({batch, head / group, j, d});
      }
      weights[j] = score * params.scale + (mask.defined() ? FloatView(mask).get({batch, head, token, j}) : 0);
      if (weights[j] > most || std::isnan(weights[j])) most = weights[j];
    }
    const bool sees_nothing = most == -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < visible; ++j) total += weights[j] = sees_nothing ? 0 : std::exp(weights[j] - most);
    for (int64_t d = 0; d < v.dim(3); ++d) {
      double mixed = 0;
      for (int64_t j = 0; j < visible; ++j) mixed += weights[j] * value.get({batch, head / group, j, d});
      to.set(moved(line, 3, d), sees_nothing ? 0 : mixed / total);
    }
  });
}

}  // namespace wick::reference
