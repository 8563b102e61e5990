#pragma once

#include <string>

#include "models/decoder/decoder_config.h"
#include "nn/recurrent/delta_rule.h"
#include "nn/recurrent/mamba.h"
#include "nn/recurrent/mamba2.h"
#include "nn/recurrent/matrix_memory.h"
#include "nn/recurrent/rg_lru.h"
#include "nn/recurrent/short_conv.h"

namespace wick {

// How recurrent mixers of each kind are loaded. `sizes` is one without weights; its tensors' names go on with `name`
// behind the layer's: "mamba.".

struct MixerBiases {
  bool in = false, out = false, convolution = true;
};

MixerLoader short_conv_loader(const ShortConv& sizes, const std::string& name, bool bias);
// Norms of dt, B and C with an eps of their own have weights if `weighted_norms`.
MixerLoader mamba_loader(const Mamba& sizes, const std::string& name, int64_t hidden, MixerBiases biases,
                         bool weighted_norms);
MixerLoader mamba2_loader(const Mamba2& sizes, const std::string& name, int64_t hidden, MixerBiases biases,
                          bool normed);
// How the first projections lie in a file: all apart; together for each key head, as in Qwen3-Next; or only beta and
// the fall so.
enum class DeltaRuleFiles : uint8_t { kApart, kFused, kSplit };
MixerLoader delta_rule_loader(const DeltaRule& sizes, const std::string& name, int64_t hidden, DeltaRuleFiles files);
// The gates' weights lie in `blocks` of channels.
MixerLoader rg_lru_loader(const RgLru& sizes, const std::string& name, int64_t hidden, int64_t blocks);
MixerLoader matrix_memory_loader(const MatrixMemory& sizes, const std::string& name, int64_t hidden);
MixerLoader rwkv_time_loader(const std::string& name, int64_t hidden, int64_t inner);
MixerLoader rwkv_channel_loader(const std::string& name, int64_t hidden, int64_t intermediate);

}  // namespace wick
