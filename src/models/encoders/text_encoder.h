#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "formats/weights.h"
#include "hooks/sequence_hooks.h"
#include "models/encoders/encoder_config.h"
#include "models/load_model.h"
#include "models/model_options.h"
#include "models/weight_loader.h"
#include "nn/encoder_layer.h"

namespace wick {

// One text of a pass, as tokens.
struct EncoderText {
  std::span<const int32_t> tokens;
  std::span<const int32_t> types = {};  // which segment each is of; empty: all 0
  const SequenceHooks* hooks = nullptr;
};

// BERT and its descendants: what each token of a text means among all the others. Immutable and thread-safe.
class TextEncoder {
 public:
  TextEncoder(EncoderConfig config, WeightLoader& loader, Device device);
  // Names and settings are checked first; throws Error(kBadFile) naming the tensor or the setting at fault,
  // Error(kUnsupported) for what is no encoder that Wick knows.
  static std::unique_ptr<TextEncoder> load(const WeightSource& source, const ModelOptions& options = {});

  // What would be loaded, found out from names and settings alone.
  static ModelPlan plan(const WeightSource& source, const ModelOptions& options = {});

  const EncoderConfig& config() const { return config_; }
  int64_t parameters() const { return parameters_; }
  int64_t weight_bytes() const { return weight_bytes_; }
  bool has_pooler() const { return pooler_.defined(); }

  // The last hidden states of all texts, one behind the other: f32 [rows, hidden]. A row depends on its text alone, bit
  // for bit. Throws Error(kInvalidArgument) for empty texts, texts longer than the model's positions, and tokens and
  // types that it does not have.
  // `between` is called behind each layer, where others may have a turn.
  Tensor encode(std::span<const EncoderText> texts, const std::function<void()>& between = {}) const;
  void check(std::span<const EncoderText> texts) const;  // throws what encode() would
  // Of rows on the host, which may come from any layer; as they are where no norm stands behind all layers.
  Tensor final_norm(const Tensor& rows) const;
  // What BERT's heads are given: tanh of a product of each text's first row [texts, hidden], on the host.
  Tensor pool(const Tensor& first_rows) const;

 private:
  Tensor embed(std::span<const EncoderText> texts, std::span<const int64_t> positions) const;
  EncoderLayer load_layer(int64_t index, WeightLoader& loader) const;
  std::shared_ptr<const RelativeBias> load_relative(const std::string& prefix, WeightLoader& loader) const;

  EncoderConfig config_;
  Device device_;
  Tensor tokens_, positions_, types_;
  Norm embedding_norm_, final_norm_;
  std::vector<EncoderLayer> layers_;
  std::vector<RopeTable> ropes_;  // of each layer; empty: none
  Linear pooler_;
  int64_t parameters_ = 0, weight_bytes_ = 0;
};

// The same encoder with its names as the file has them: heads put a prefix before all of them.
EncoderConfig with_prefix_of(EncoderConfig config, const WeightSource& source);

}  // namespace wick
