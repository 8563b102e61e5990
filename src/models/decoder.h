#pragma once

#include <optional>
#include <vector>

#include "models/decode_graphs.h"
#include "models/decoder_config.h"
#include "models/language_model.h"
#include "models/weight_loader.h"
#include "nn/attention.h"
#include "nn/latent_attention.h"
#include "nn/mlp.h"
#include "nn/moe.h"
#include "nn/short_conv.h"

namespace wick {

struct DecoderStep;

// One layer: a mixer (attention or a short convolution) and an MLP (or experts), each adding to the residual stream.
struct DecoderLayer {
  int index = 0;
  LayerKind kind;
  bool parallel = false;
  float residual_scale = 1;
  Norm attn_norm, attn_post_norm, mlp_norm, mlp_post_norm;
  Attention attention;
  std::optional<LatentAttention> latent;  // instead
  ShortConv convolution;
  Mlp mlp;
  Moe moe;
  size_t kv_index = 0;     // among the layers with attention
  size_t state_index = 0;  // among the layers with convolution

  // `keep` [rows]: which rows are needed behind this layer; undefined: all.
  Tensor operator()(const Tensor& x, const DecoderStep& step, const Tensor& keep) const;

 private:
  // Both give what they add to the residual stream; plus `residual`, where that is defined.
  Tensor mix(const LinearInput& input, const Tensor& residual, const DecoderStep& step, const Tensor& keep) const;
  Tensor feed_forward(const LinearInput& input, const Tensor& residual, const DecoderStep& step) const;
  template <typename Part>
  Tensor add_to(const Tensor& stream, HookPoint point, const Norm& post_norm, const DecoderStep& step,
                const Part& part) const;
  Tensor run_parallel(const Tensor& pre, const Tensor& kept, const DecoderStep& step, const Tensor& keep) const;
};

// The decoder of every family: embedding, layers, norm, logits.
class Decoder final : public LanguageModel {
 public:
  // With a listing loader, only the names are written down and the model cannot be run.
  Decoder(const DecoderConfig& config, WeightLoader& loader, const ModelOptions& options);

  Device device() const override { return device_; }
  RecurrentState new_state() const override;
  const DecoderConfig& config() const { return config_; }
  Tensor project_to_vocab(const Tensor& rows, bool final_norm) const override;
  StreamReader stream_reader() const override;
  StreamWriter stream_writer(int layer, HookPoint point) const override;

 protected:
  Tensor run(const ForwardBatch& batch, const KvCache& cache) const override;

 private:
  Tensor ids_of(const ForwardBatch& batch) const;  // i64 [tokens], on the device
  // Embeddings of the tokens `ids` (i64 [rows], on the device).
  Tensor embed(const Tensor& ids, const ForwardBatch& batch, const DecoderStep& step) const;
  // All layers, the norm and the logits of the `wanted` rows (undefined: all).
  Tensor continue_from(Tensor x, const DecoderStep& step, const Tensor& wanted) const;
  Tensor logits(const LinearInput& input) const;
  // What the queries of the step's rows are multiplied with, f32 [rows, 1, 1]; undefined where nothing grows.
  Tensor query_growth(const DecoderStep& step) const;
  DecoderLayer load_layer(int index, WeightLoader& loader);

  DecoderConfig config_;
  Device device_;
  Tensor embedding_, positions_;
  Tensor query_growth_;  // f32 [positions, 1]; undefined: none
  Norm embed_norm_;
  std::vector<DecoderLayer> layers_;
  Norm final_norm_;
  Linear head_;
  std::vector<RopeTable> ropes_;
  mutable DecodeGraphs graphs_;
};

}  // namespace wick
