#include <vector>

#include "models/mixers/mixers.h"
#include "models/weight_loader.h"
#include "ops/unary.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

// Rows of parts that lie together for each of `groups`, sorted part by part: which row of the fused ones each is.
Tensor part_order(int64_t groups, const std::vector<int64_t>& part_rows) {
  int64_t all = 0, begin = 0;
  for (const int64_t rows : part_rows) all += rows;
  std::vector<int64_t> order;
  for (const int64_t rows : part_rows) {
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t i = 0; i < rows; ++i) order.push_back(group * all + begin + i);
    }
    begin += rows;
  }
  return from_vector(order, {std::ssize(order)});
}

}  // namespace

MixerLoader delta_rule_loader(const DeltaRule& sizes, const std::string& name, int64_t hidden, DeltaRuleFiles files) {
  return [=](WeightLoader& loader, const std::string& layer) -> std::shared_ptr<const RecurrentMixer> {
    const ArenaPause keep;
    const std::string prefix = layer + name;
    DeltaRule mixer = sizes;
    const int64_t heads = mixer.heads, inner = mixer.inner(), channels = mixer.conv_channels();
    const int64_t shared = heads / mixer.key_heads, values = shared * mixer.value_dim;
    const auto order = [&](const std::vector<int64_t>& rows) {
      return loader.is_listing() ? Tensor() : part_order(mixer.key_heads, rows).to_device(loader.device());
    };
    if (files == DeltaRuleFiles::kFused) {
      mixer.qkv = loader.linear(prefix + "in_proj_qkvz", channels + inner, hidden, false);
      mixer.fused_order = order({mixer.key_dim, mixer.key_dim, values, values});
    } else {
      mixer.qkv = loader.linear(prefix + "in_proj_qkv", channels, hidden, false);
      mixer.z = loader.linear(prefix + "in_proj_z", inner, hidden, false);
    }
    if (files != DeltaRuleFiles::kApart) {
      mixer.b = loader.linear(prefix + "in_proj_ba", 2 * heads, hidden, false);
      mixer.fused_ba_order = order({shared, shared});
    } else {
      mixer.b = loader.linear(prefix + "in_proj_b", heads, hidden, false);
      mixer.a = loader.linear(prefix + "in_proj_a", heads, hidden, false);
    }
    mixer.conv_weight = taps_first(loader.vector(prefix + "conv1d.weight", {channels, mixer.taps}));
    mixer.dt_bias = loader.vector(prefix + "dt_bias", {heads});
    const Tensor a_log = loader.vector(prefix + "A_log", {heads});
    if (a_log.defined()) mixer.speed = exp(a_log);
    mixer.norm_weight = loader.vector(prefix + "norm.weight", {mixer.value_dim});
    mixer.out = loader.linear(prefix + "out_proj", hidden, inner, false);
    return std::make_shared<DeltaRule>(std::move(mixer));
  };
}

}  // namespace wick
