// Adapters of a decoder: which linears they may change, and which rows of a pass have which.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder/decoder.h"
#include "models/decoder/decoder_step.h"

namespace wick {

void Decoder::offer_linears() {
  HeadCounts counts;
  counts.heads = config_.heads;
  counts.kv_heads = config_.kv_heads;
  adapters_->set_heads(counts);
  const DecoderNames& names = config_.names;
  for (DecoderLayer& layer : layers_) {
    const std::string prefix = cat(names.layers, layer.index, ".");
    const auto offer = [&](const std::string& name, Linear& linear) { adapters_->offer(prefix + name, linear); };
    if (layer.latent) {
      offer(config_.latent->q_rank > 0 ? "self_attn.q_a_proj" : "self_attn.q_proj",
            config_.latent->q_rank > 0 ? layer.latent->q_down : layer.latent->q_up);
      if (config_.latent->q_rank > 0) offer("self_attn.q_b_proj", layer.latent->q_up);
      offer("self_attn.kv_a_proj_with_mqa", layer.latent->kv_down);
      offer(names.o, layer.latent->out);
    } else if (layer.kind.attention) {
      offer(names.q, layer.attention.q);
      offer(names.k, layer.attention.k);
      offer(names.v, layer.attention.v);
      offer(names.o, layer.attention.out);
    }
    if (!layer.kind.sparse) {
      offer(names.gate, layer.mlp.gate);
      offer(names.up, layer.mlp.up);
      offer(names.down, layer.mlp.down);
    } else if (layer.moe.shared.up.defined()) {
      offer(names.shared + "gate_proj", layer.moe.shared.gate);
      offer(names.shared + "up_proj", layer.moe.shared.up);
      offer(names.shared + "down_proj", layer.moe.shared.down);
    }
  }
  adapters_->offer(names.head, head_);
}

std::vector<AdaptedRows> Decoder::adapted_rows(const ForwardBatch& batch) const {
  std::vector<AdaptedRows> groups;
  const bool named = std::any_of(batch.sequences.begin(), batch.sequences.end(),
                                 [](const SequenceRows& rows) { return rows.adapters && !rows.adapters->empty(); });
  if (!named && adapters_->everywhere().empty()) return groups;
  std::vector<const std::vector<int64_t>*> kinds;
  std::vector<std::vector<int64_t>> all, kept;
  int64_t begin = 0;
  size_t next_logits = 0;
  for (const SequenceRows& rows : batch.sequences) {
    const std::vector<int64_t>& adapters = rows.adapters ? *rows.adapters : adapters_->everywhere();
    for (const int64_t adapter : adapters) {
      if (adapters_->has_weights(adapter)) continue;
      throw Error(ErrorCode::kInvalidArgument, cat("forward: there is no adapter ", adapter));
    }
    const int64_t end = begin + rows.tokens;
    size_t kind = 0;
    while (kind < kinds.size() && *kinds[kind] != adapters) ++kind;
    if (kind == kinds.size()) {
      kinds.push_back(&adapters);
      all.emplace_back();
      kept.emplace_back();
    }
    for (int64_t row = begin; row < end; ++row) all[kind].push_back(row);
    for (; next_logits < batch.logit_rows.size() && batch.logit_rows[next_logits] < end; ++next_logits) {
      kept[kind].push_back(static_cast<int64_t>(next_logits));
    }
    begin = end;
  }
  const bool one = kinds.size() == 1;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i]->empty()) continue;
    groups.push_back(
        {*kinds[i], one ? Tensor() : index_tensor(all[i], device_), one ? Tensor() : index_tensor(kept[i], device_)});
  }
  return groups;
}

}  // namespace wick
