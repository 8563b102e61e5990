#pragma once

#include <optional>
#include <vector>

#include "models/adapter_slots.h"
#include "models/decoder/decode_graphs.h"
#include "models/decoder/decoder_config.h"
#include "models/language_model.h"
#include "models/weight_loader.h"
#include "nn/altup.h"
#include "nn/attention.h"
#include "nn/latent_attention.h"
#include "nn/layer_inputs.h"
#include "nn/mlp.h"
#include "nn/moe.h"
#include "nn/recurrent/mixer.h"

namespace wick {

struct DecoderStep;

// One layer: a mixer (attention, or one that carries a state, or both side by side) and an MLP (or experts), each
// adding to the residual stream. Either may be missing.
struct DecoderLayer {
  int index = 0;
  LayerKind kind;
  bool parallel = false;
  float residual_scale = 1;
  Norm attn_norm, attn_post_norm, mlp_norm, mlp_post_norm;
  Attention attention;
  float attention_scale = 1;              // of what attention adds
  std::optional<LatentAttention> latent;  // instead
  std::shared_ptr<const RecurrentMixer> recurrent;
  Mlp mlp;
  Moe moe;
  std::shared_ptr<const RecurrentMixer> recurrent_mlp;           // instead
  Norm beside_norm, beside_mlp_post_norm, beside_moe_post_norm;  // of experts beside the MLP
  Laurel laurel;
  LayerInput input;
  std::optional<AltUp> altup;
  Tensor scale;                                 // f32 [1]: of the stream behind the layer; undefined: none
  size_t kv_index = 0;                          // among the layers with attention
  size_t state_index = 0, mlp_state_index = 0;  // of a sequence's tensors, the first of the recurrent mixer

  // `keep` [rows]: which rows are needed behind this layer; undefined: all. x is [rows, hidden], with AltUp
  // [rows, copies, hidden].
  Tensor operator()(const Tensor& x, const DecoderStep& step, const Tensor& keep) const;

 private:
  // The stream shown to the hooks; of several copies, the one that layers compute with.
  Tensor show(HookPoint point, const Tensor& stream, const DecoderStep& step) const;
  // Attention and MLP, one after the other.
  Tensor run_halves(const Tensor& pre, const DecoderStep& step, const Tensor& keep) const;
  Tensor run_feed_forward(const Tensor& mid, const DecoderStep& step) const;
  Tensor run_altup(const Tensor& pre, const DecoderStep& step, const Tensor& keep) const;
  Tensor layer_input(const Tensor& x, const DecoderStep& step, const Tensor& keep) const;
  // Both give what they add to the residual stream; plus `residual`, where that is defined.
  Tensor mix(const LinearInput& input, const Tensor& residual, const DecoderStep& step, const Tensor& keep) const;
  Tensor attend(const LinearInput& input, const Tensor& residual, const DecoderStep& step, const Tensor& keep) const;
  Tensor feed_forward(const LinearInput& input, const Tensor& residual, const DecoderStep& step) const;
  Tensor mlp_and_experts(const Tensor& x, const DecoderStep& step) const;
  template <typename Part>
  Tensor add_to(const Tensor& stream, HookPoint point, const Norm& post_norm, const DecoderStep& step,
                const Part& part) const;
  Tensor run_parallel(const Tensor& pre, const Tensor& kept, const DecoderStep& step, const Tensor& keep) const;
};

// The layer that predicts a token further, and what stands around it.
struct MtpLayer {
  Norm embed_norm, hidden_norm, final_norm;
  Linear join;  // [hidden, 2 * hidden]: of the embedding, then of what the last norm gave
  DecoderLayer layer;
  bool passes_normed = false;
};

// The decoder of every family: embedding, layers, norm, logits.
class Decoder final : public LanguageModel {
 public:
  // With a listing loader, only the names are written down and the model cannot be run.
  Decoder(const DecoderConfig& config, WeightLoader& loader, const ModelOptions& options);

  Device device() const override { return device_; }
  const VisionEncoder* vision() const override { return vision_.get(); }
  void set_vision(std::shared_ptr<const VisionEncoder> vision) { vision_ = std::move(vision); }
  RecurrentState new_state() const override;
  const DecoderConfig& config() const { return config_; }
  Tensor project_to_vocab(const Tensor& rows, bool final_norm) const override;
  StreamReader stream_reader() const override;
  StreamWriter stream_writer(int layer, HookPoint point) const override;
  AdapterSlots& adapters() const override { return *adapters_; }
  Ahead look_ahead(const ForwardBatch& batch, const Tensor& last, const KvCache& cache) const override;

 protected:
  Tensor run(const ForwardBatch& batch, const KvCache& cache) const override;

 private:
  Tensor run_step(const ForwardBatch& batch, const KvCache& cache) const;
  Tensor ids_of(const ForwardBatch& batch) const;  // i64 [tokens], on the device
  // Embeddings of the tokens `ids` (i64 [rows], on the device).
  Tensor embed(const Tensor& ids, const ForwardBatch& batch, const DecoderStep& step) const;
  // What the step's layers read besides the stream, for tokens `ids` with embeddings x.
  void prepare(DecoderStep& step, const Tensor& ids, const Tensor& x) const;
  // Layers that do more than add to the stream what attention and MLP give.
  bool only_adds() const;
  // All layers, the norm and the logits of the `wanted` rows (undefined: all).
  Tensor continue_from(Tensor x, const DecoderStep& step, const Tensor& wanted) const;
  // The layers alone; `wanted` as there.
  Tensor run_layers(Tensor x, const DecoderStep& step, const Tensor& wanted) const;
  // The same where somebody drafts with the model itself: what the last norm gives is kept, and the layer that predicts
  // further takes up the rows, whose embeddings are `embedded`.
  Tensor continue_and_keep(const Tensor& embedded, const ForwardBatch& batch, const DecoderStep& step,
                           const Tensor& wanted) const;
  // What enters the layer that predicts further.
  Tensor joined(const Tensor& embedded, const Tensor& last) const;
  Tensor logits(const LinearInput& input) const;
  // What the queries of the step's rows are multiplied with, f32 [rows, 1, 1]; undefined where nothing grows.
  Tensor query_growth(const DecoderStep& step) const;
  DecoderLayer load_layer(const DecoderConfig& config, int index, WeightLoader& loader) const;
  std::shared_ptr<const RecurrentMixer> load_mixer(const MixerLoader& load, const std::string& layer,
                                                   WeightLoader& loader) const;
  void load_mtp(WeightLoader& loader);
  void place_kv(DecoderLayer& layer);
  void offer_linears();  // to adapters
  // Which rows have which adapters; empty when none has one.
  std::vector<AdaptedRows> adapted_rows(const ForwardBatch& batch) const;
  void add_state(const RecurrentMixer& mixer, size_t& index);
  void check_states(const ForwardBatch& batch) const;

  DecoderConfig config_;
  Device device_;
  Tensor embedding_, positions_;
  Tensor query_growth_;  // f32 [positions, 1]; undefined: none
  Norm embed_norm_;
  LayerEmbeddings layer_embeddings_;
  AltUpEnds altup_;
  std::vector<DecoderLayer> layers_;
  Norm final_norm_;
  Linear head_;
  std::optional<MtpLayer> mtp_;
  std::vector<RopeTable> ropes_;
  std::vector<Shape> state_shapes_;  // of all that a sequence carries
  mutable DecodeGraphs graphs_;
  std::unique_ptr<AdapterSlots> adapters_ = std::make_unique<AdapterSlots>();
  std::shared_ptr<const VisionEncoder> vision_;  // null: it does not see
};

}  // namespace wick
