#include "nn/recurrent/matrix_memory.h"

#include "models/mixers/mixers.h"
#include "models/weight_loader.h"
#include "tensor/arena.h"

namespace wick {

MixerLoader matrix_memory_loader(const MatrixMemory& sizes, const std::string& name, int64_t hidden) {
  return [=](WeightLoader& loader, const std::string& layer) -> std::shared_ptr<const RecurrentMixer> {
    const ArenaPause keep;
    const std::string prefix = layer + name;
    MatrixMemory mixer = sizes;
    const int64_t heads = mixer.heads, keys = heads * mixer.key_dim, inner = mixer.inner();
    mixer.q = loader.linear(prefix + "q", keys, hidden, false);
    mixer.k = loader.linear(prefix + "k", keys, hidden, false);
    mixer.v = loader.linear(prefix + "v", inner, hidden, false);
    mixer.gate = loader.linear(prefix + "ogate_preact", inner, hidden, false);
    mixer.in = loader.linear(prefix + "igate_preact", heads, hidden, true);
    mixer.forget = loader.linear(prefix + "fgate_preact", heads, hidden, true);
    mixer.norm_weight = loader.vector(prefix + "multihead_norm.weight", {inner});
    mixer.out = loader.linear(prefix + "out_proj", hidden, inner, false);
    return std::make_shared<MatrixMemory>(std::move(mixer));
  };
}

}  // namespace wick
