#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hooks/hook_spec.h"
#include "tensor/tensor.h"

namespace wick {

struct SaeFeature {
  int64_t feature = 0;
  float value = 0;
};

// A sparse autoencoder as SAELens stores it: cfg.json and sae_weights.safetensors with W_enc [d_in, d_sae], b_enc
// [d_sae], W_dec [d_sae, d_in], b_dec [d_in] and, for JumpReLU, threshold [d_sae].
//   features = activation((x - b_dec) W_enc + b_enc)    b_dec is taken off where apply_b_dec_to_input says so
//   x        ~ features W_dec + b_dec
// Activations are ReLU, JumpReLU and TopK. A value: copies share the weights. Thread-safe.
class SparseAutoencoder {
 public:
  // The folder. Throws Error(kBadFile) naming the tensor or the setting at fault, Error(kUnsupported) for architectures
  // and normalisations that are not read.
  static SparseAutoencoder load(const std::filesystem::path& folder);
  void save(const std::filesystem::path& folder) const;

  enum class Kind : uint8_t { kRelu, kJumpRelu, kTopK };
  struct Weights {
    Tensor w_enc, b_enc, w_dec, b_dec;  // f32
    Tensor threshold;                   // kJumpRelu
  };
  // Throws Error(kInvalidArgument) for shapes that do not fit each other.
  SparseAutoencoder(Kind kind, Weights weights, std::string hook_name, bool apply_b_dec_to_input, int64_t k = 0);

  int64_t inputs() const;
  int64_t features() const;
  const std::string& hook_name() const;  // where it was trained: "blocks.5.hook_resid_pre"
  Kind kind() const;
  const Weights& weights() const;
  bool apply_b_dec_to_input() const;
  int64_t k() const;  // kTopK: features that a row keeps

  Tensor encode(const Tensor& rows) const;      // [n, d_in] -> [n, d_sae]
  Tensor decode(const Tensor& features) const;  // [n, d_sae] -> [n, d_in]
  Tensor direction(int64_t feature) const;      // [d_in]: its row of W_dec
  // The strongest features of one row, strongest first, none that is 0.
  static std::vector<SaeFeature> strongest(const Tensor& features, int64_t row, int64_t top);

  // Edits at hook_name(), for all positions or those named. A point with heads is read as one row.
  // Takes away what these features add to each row; what the autoencoder does not explain stays.
  HookSpec& ablate(HookSpec& spec, std::vector<int64_t> features, std::vector<int64_t> positions = {}) const;
  // Adds strength times a feature's direction.
  HookSpec& steer(HookSpec& spec, int64_t feature, float strength, std::vector<int64_t> positions = {}) const;
  // Goes on with decode(encode(x)) alone.
  HookSpec& reconstruct(HookSpec& spec, std::vector<int64_t> positions = {}) const;

 private:
  struct State;
  void check_feature(int64_t feature) const;
  SparseAutoencoder part(const Tensor& index) const;  // of these features only; not of kTopK

  std::shared_ptr<const State> state_;
};

}  // namespace wick
