#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/config_reader.h"
#include "nn/activation.h"

namespace wick {

struct Wav2Vec2Config {
  struct Conv {
    int64_t channels, kernel, stride;
  };
  enum class Positions : uint8_t { kConvolution, kRelative, kRotary, kNone };

  std::vector<Conv> convs;  // over the samples
  bool conv_bias = false;
  bool conv_layer_norm = false;  // behind each of them; else one norm per channel over time behind the first
  Activation conv_activation = Activation::kGelu;

  int64_t width = 0, layers = 0, heads = 0, intermediate = 0, vocabulary = 0;
  int32_t blank = 0;  // the token that means "nothing new"
  float eps = 1e-5f;
  Activation activation = Activation::kGelu;
  Positions positions = Positions::kConvolution;
  int64_t position_kernel = 0, position_groups = 0;  // kConvolution
  double rotary_base = 10000;                        // kRotary
  bool norm_first = false;                           // in front of attention and MLP, not behind them
  int64_t adapter = 0;                               // width of the small MLP at the end of a layer; 0: none
  bool conformer = false;
  int64_t depthwise_kernel = 0;  // conformer

  std::string prefix;           // of the tensors' names, with the dot
  bool old_norm_names = false;  // weight_g and weight_v for parametrizations.weight.original0 and 1

  int64_t samples_per_frame() const;
  // The frames that come out for so many samples; 0 when they are too few for one.
  int64_t frames_of(int64_t samples) const;
  // The fewest samples that give so many frames, at least one.
  int64_t samples_of(int64_t frames) const;
};

// From config.json of a wav2vec2 or wav2vec2-conformer with a head for CTC. Throws Error(kBadFile) naming the field
// that is missing, out of range or contradicts another, Error(kUnsupported) for parts that Wick does not have.
Wav2Vec2Config read_wav2vec2_config(const ConfigReader& config);

}  // namespace wick
