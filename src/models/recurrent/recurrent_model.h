#pragma once

#include <string>
#include <vector>

#include "models/config_reader.h"
#include "models/language_model.h"
#include "models/recurrent/recurrent_step.h"
#include "models/weight_loader.h"

namespace wick {

// The settings that all recurrent models have.
struct RecurrentConfig {
  std::string family;
  int64_t layers = 0, hidden = 0, vocabulary = 0;
  float norm_eps = 1e-5f;
  NormKind norm = NormKind::kRms;
  bool tied = false;                    // the output projection is the embedding
  std::string embed, final_norm, head;  // names without ".weight"
};
// All but the norm and the names. Throws Error(kBadFile) naming the setting that is missing or out of range.
RecurrentConfig read_recurrent_config(const ConfigReader& config, std::string_view family, bool tied);

inline constexpr int64_t kMostOfAnything = int64_t{1} << 24;  // products of two stay far from overflow
// Gives `value` back when it is from 1 to `most`, else throws Error(kBadFile) naming the setting.
int64_t checked_setting(std::string_view name, int64_t value, int64_t most = kMostOfAnything);

// A decoder that carries a fixed state from token to token instead of keys and values. A family supplies its layers.
class RecurrentModel : public LanguageModel {
 public:
  Device device() const override { return device_; }
  RecurrentState new_state() const override;  // zeros
  Tensor project_to_vocab(const Tensor& rows, bool final_norm) const override;
  StreamReader stream_reader() const override { return {&final_norm_, &head_}; }

 protected:
  // Loads the embedding. `layer_state`: the shapes of what one layer carries.
  RecurrentModel(RecurrentConfig config, std::vector<Shape> layer_state, WeightLoader& loader,
                 const ModelOptions& options);
  // Loads what stands behind the layers; the last step of building a model.
  void load_head(WeightLoader& loader);

  Tensor run(const ForwardBatch& batch, const KvCache& cache) const final;
  virtual Tensor run_layer(int layer, const Tensor& x, const RecurrentStep& step) const = 0;

  const RecurrentConfig config_;
  const std::vector<Shape> layer_state_;
  Norm embed_norm_;

 private:
  void check_states(const ForwardBatch& batch) const;

  const Device device_;
  Tensor embedding_;
  Norm final_norm_;
  Linear head_;
};

}  // namespace wick
