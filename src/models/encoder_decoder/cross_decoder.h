#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/language_model.h"
#include "models/weight_loader.h"
#include "nn/attention.h"
#include "nn/mlp.h"
#include "nn/relative_bias.h"

namespace wick {

struct DecoderStep;

// Where a decoder's weights lie in its file: names without ".weight". Those of layers stand behind `layers`, a number
// and a dot; empty: there is none.
struct CrossDecoderNames {
  std::string tokens, positions, embedding_norm, layers, final_norm;
  std::string head;        // empty: the table of tokens
  std::string logit_bias;  // the full name
  std::string attn_norm, q, k, v, out;
  std::string cross_norm, cross_q, cross_k, cross_v, cross_out;
  std::string mlp_norm, gate, up, down;
  std::string relative;  // of layer 0
};

// The names that BART, Whisper and others have in their layers.
void set_bart_names(CrossDecoderNames& names);

// A decoder that looks at what an encoder made of something else.
struct CrossDecoderConfig {
  std::string family;
  int64_t layers = 0, width = 0, heads = 0, head_dim = 0, intermediate = 0, vocabulary = 0;
  int64_t positions = 0;         // tokens of a text, at most; 0: any
  int64_t first_position = 0;    // row of the table of positions that the first token takes
  bool learns_positions = true;  // names.positions
  int64_t sinusoid_spread = 0;   // see sinusoids(); 0: positions are not sines
  int64_t source_positions = 0;  // rows that the encoder gives; 0: any number
  bool norms_sums = false;       // norms stand behind the sums
  bool biases = true;            // of all linears and norms
  bool key_bias = true;          // of keys
  NormKind norm = NormKind::kLayer;
  float eps = 1e-5f;
  bool scales = true;  // scores, by 1 / sqrt(head_dim)
  float embedding_scale = 1;
  float logit_scale = 1;  // of what the head is given
  Activation activation = Activation::kGelu;
  int64_t relative_buckets = 0, relative_distance = 0;  // T5's positions; 0: none
  bool own_relative = false;                            // each layer has its own
  CrossDecoderNames names;
};

// Self-attention, cross-attention to what was encoded, and an MLP per layer: Whisper, T5, BART. What was encoded comes
// with a sequence's state: keys and values of each layer, in blocks as KvBlocks has them, then the PagedRows of a row
// that sees all of it. Passes read it and do not change it. Sequences of a batch that follow each other with one state
// look at it together.
class CrossDecoder : public LanguageModel {
 public:
  // With a listing loader, only the names are written down and the model cannot be run.
  CrossDecoder(CrossDecoderConfig config, WeightLoader& loader, const ModelOptions& options);

  Device device() const override { return device_; }
  // The state of sequences that look at what was encoded, f32 [rows, width]; `dtype`: f32, or f16 and bf16, which take
  // half of the time and memory. Throws Error(kInvalidArgument) for other shapes and dtypes.
  RecurrentState state_for(const Tensor& encoded, DType dtype = DType::kF32) const;

  struct Head {
    int64_t layer = 0, head = 0;
  };
  // Where the tokens of one text look in what was encoded: the weights of the first `positions` of it under a softmax
  // of their own, f32 [heads, tokens, positions] on the host. Throws Error(kInvalidArgument) for what is not there.
  Tensor cross_attention_weights(std::span<const int32_t> tokens, const RecurrentState& state,
                                 std::span<const Head> heads, int64_t positions) const;

 protected:
  Tensor run(const ForwardBatch& batch, const KvCache& cache) const override;

 private:
  struct CrossAttention {
    Linear q, k, v, out;
  };
  struct Layer {
    Norm attn_norm, cross_norm, mlp_norm;
    Attention attention;
    CrossAttention cross;
    Mlp mlp;
  };
  Layer load_layer(int64_t index, WeightLoader& loader) const;
  void check_states(const ForwardBatch& batch) const;
  Tensor embed(const ForwardBatch& batch, const DecoderStep& step) const;
  // The layers, from tokens to f32 [rows, width]; `queries`: those of what was encoded go there, one tensor per layer;
  // may be null.
  Tensor run_layers(const ForwardBatch& batch, const DecoderStep& step, std::vector<Tensor>* queries) const;
  // query [rows, heads * head_dim] of all sequences, each looking at its own state.
  Tensor cross_attend(const Tensor& query, const ForwardBatch& batch, size_t layer) const;
  Tensor attend_to_state(const Tensor& query, const RecurrentState& state, size_t layer) const;
  float score_scale() const;

  CrossDecoderConfig config_;
  Device device_;
  Tensor embedding_, positions_, logit_bias_;
  Norm embedding_norm_, final_norm_;
  std::vector<Layer> layers_;
  Linear head_;
};

}  // namespace wick
