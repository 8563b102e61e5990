#include "models/families/families.h"

namespace wick {

// Llama, with norms on whole rows of q and k and experts chosen by their sigmoid.
DecoderConfig minimax_m2_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  if (config.flag("use_qk_norm", true)) decoder.qk_norm = QkNorm::kWholeRow;
  decoder.names.router = "block_sparse_moe.gate";
  decoder.names.selection_bias = "block_sparse_moe.e_score_correction_bias";
  decoder.moe = read_sigmoid_experts(config, decoder);
  for (LayerKind& kind : decoder.kinds) kind.sparse = true;
  return decoder;
}

}  // namespace wick
