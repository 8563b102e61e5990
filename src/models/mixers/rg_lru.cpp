#include <vector>

#include "models/mixers/mixers.h"
#include "models/weight_loader.h"
#include "ops/binary.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"

namespace wick {
namespace {

constexpr double kSpeed = 8;  // times the softplus of a channel's parameter

// A gate's weight of one block, stored as [in, out].
Tensor block_of(const Tensor& weights, int64_t index) {
  return transpose(squeeze(narrow(weights, 0, index, 1), 0), 0, 1);
}

}  // namespace

MixerLoader rg_lru_loader(const RgLru& sizes, const std::string& name, int64_t hidden, int64_t blocks) {
  return [=](WeightLoader& loader, const std::string& layer) -> std::shared_ptr<const RecurrentMixer> {
    const ArenaPause keep;
    const std::string prefix = layer + name, gates = prefix + "rg_lru.";
    RgLru mixer = sizes;
    const int64_t width = mixer.width, block = width / blocks;
    mixer.in = loader.linear(prefix + "linear_x", width, hidden, true);
    mixer.gate = loader.linear(prefix + "linear_y", width, hidden, true);
    mixer.out = loader.linear(prefix + "linear_out", hidden, width, true);
    mixer.conv_weight = taps_first(loader.vector(prefix + "conv_1d.weight", {width, mixer.taps}));
    mixer.conv_bias = loader.vector(prefix + "conv_1d.bias", {width});
    const Tensor speed = loader.vector(gates + "recurrent_param", {width});
    const Tensor input = loader.vector(gates + "input_gate_weight", {blocks, block, block});
    const Tensor input_bias = loader.vector(gates + "input_gate_bias", {blocks, block});
    const Tensor fall = loader.vector(gates + "recurrent_gate_weight", {blocks, block, block});
    const Tensor fall_bias = loader.vector(gates + "recurrent_gate_bias", {blocks, block});
    if (loader.is_listing()) return std::make_shared<RgLru>(std::move(mixer));
    mixer.speed = mul(softplus(speed), kSpeed);
    for (int64_t i = 0; i < blocks; ++i) {
      Linear gate;
      gate.weight = concat({block_of(input, i), block_of(fall, i)}, 0).contiguous();
      gate.bias = reshape(concat({narrow(input_bias, 0, i, 1), narrow(fall_bias, 0, i, 1)}, 0), {2 * block});
      mixer.gates.push_back(std::move(gate));
    }
    return std::make_shared<RgLru>(std::move(mixer));
  };
}

}  // namespace wick
