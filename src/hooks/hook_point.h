#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// The places of a forward pass that can be watched and changed. Rows are the tokens of one sequence, in order.
enum class HookPoint : uint8_t {
  kEmbed,        // [tokens, hidden] token embeddings
  kResidPre,     // [tokens, hidden] what enters a layer
  kAttnQ,        // [tokens, heads, head_dim] projections, before their norm and before rotation
  kAttnK,        // [tokens, kv_heads, head_dim]
  kAttnV,        // [tokens, kv_heads, head_dim]
  kAttnScores,   // [heads, tokens, context] before softmax, with -inf where a key is hidden
  kAttnPattern,  // [heads, tokens, context] after it
  kAttnZ,        // [tokens, heads, head_dim] pattern x values
  kAttnOut,      // [tokens, hidden] what attention (or another mixer) adds to the residual stream
  kResidMid,     // [tokens, hidden] between attention and MLP; layers that run both side by side have none
  kRouter,       // [tokens, experts] weight given to each expert, 0 where it is not used
  kMlpPre,       // [tokens, intermediate] before the activation
  kMlpPost,      // [tokens, intermediate] after it, and after the gate's product
  kMlpOut,       // [tokens, hidden] what the MLP adds
  kResidPost,    // [tokens, hidden] what leaves a layer
  kFinalNorm,    // [tokens, hidden] after the last norm
  kLogits,       // [tokens that want them, vocabulary]
  // Recurrent mixers, and gated attention its gate.
  kMixerIn,  // [tokens, inner] what enters the recurrence
  kDecay,    // [tokens, ...] how fast the state is forgotten: 0 keeps it (dt of Mamba, the fall of RWKV's exponents)
  kGate,     // [tokens, inner] what the output of the recurrence is multiplied by
  kState,    // [1, ...] the state after the rows
  kCustom,   // under a name of the model's own
};
inline constexpr int kHookPointCount = static_cast<int>(HookPoint::kCustom) + 1;

// A point of one layer, of all layers, or outside them. Names are those of TransformerLens:
// "blocks.3.attn.hook_pattern", "blocks.*.hook_resid_post" for every layer, "ln_final.hook_normalized". A name that is
// none of these is a custom one.
struct HookSite {
  static constexpr int kEveryLayer = -1;

  HookPoint point = HookPoint::kCustom;
  int layer = kEveryLayer;
  std::string custom;  // for kCustom

  // Throws Error(kInvalidArgument) with the nearest name when it looks like one of TransformerLens but is none.
  static HookSite parse(std::string_view name);
  bool matches(HookPoint at, int at_layer, std::string_view at_custom = {}) const;
};

bool is_per_layer(HookPoint point);
// "blocks.3.hook_resid_pre"; "blocks.*.hook_resid_pre" for HookSite::kEveryLayer.
std::string hook_name(HookPoint point, int layer);
// All of them, with "*" for the layer.
std::vector<std::string> hook_names();

}  // namespace wick
