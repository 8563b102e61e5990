#pragma once

#include <string>
#include <vector>

#include "models/weight_loader.h"
#include "nn/stream_conv.h"

namespace wick {

// How a codec's file keeps the weights of convolutions.
enum class ConvNames : uint8_t {
  kPlain,        // ".conv.weight"
  kMoshi,        // ".conv.conv.weight", transposed ".convtr.convtr.weight"
  kWeightNorm,   // ".conv.weight_g" and ".conv.weight_v"
  kParametrized  // ".conv.parametrizations.weight.original0" and "original1"
};

// The convolutional halves of Encodec and Mimi.
struct SeanetConfig {
  int64_t channels = 1, filters = 0, hidden = 0, residual_layers = 1;
  std::vector<int64_t> ratios;  // of the decoder, in its order; the encoder has them the other way round
  int64_t kernel = 7, last_kernel = 3, residual_kernel = 3, dilation_growth = 2, compress = 2;
  int64_t lstm_layers = 0;
  bool shortcut = false;  // residual blocks have a convolution beside them
  PadMode edge = PadMode::kZero;
  ConvNames names = ConvNames::kPlain;

  int64_t hop() const;  // samples per row
};

// Reads and checks what Encodec's and Mimi's config.json have in common.
class ConfigReader;
SeanetConfig read_seanet_config(const ConfigReader& config);

// A convolution's weight by the way its file keeps it, f32 [shape]; norms run over all but the first dimension.
Tensor load_conv_weight(WeightLoader& loader, ConvNames names, const std::string& name, const Shape& shape,
                        bool transposed);
Tensor load_conv_bias(WeightLoader& loader, ConvNames names, const std::string& name, int64_t size, bool transposed);

// Layers one after the other over rows of time, which may come in pieces.
class Seanet {
 public:
  // What each layer carries.
  struct State {
    std::vector<StreamConvState> convs;
    std::vector<Tensor> lstm;  // hidden and cell of each layer, [1, width]
  };

  // Samples to rows [rows, hidden]. `prefix`: "encoder.layers.".
  static Seanet encoder(const SeanetConfig& config, WeightLoader& loader, const std::string& prefix);
  // Rows to samples.
  static Seanet decoder(const SeanetConfig& config, WeightLoader& loader, const std::string& prefix);

  State new_state() const;
  Tensor operator()(Tensor x, State& state, bool ends) const;

 private:
  enum class Kind : uint8_t { kConv, kElu, kResidual, kLstm };
  struct LstmLayer {
    Linear input, hidden;  // [4 * width, width]: input, forget, cell and output gates
  };
  struct Layer {
    Kind kind;
    std::vector<StreamConv> convs;  // one, or those of a residual block, its shortcut last
    std::vector<LstmLayer> lstm;
    size_t first_state = 0;
  };

  void add_conv(StreamConv conv);
  void add_elu() { layers_.push_back({Kind::kElu, {}, {}, 0}); }
  void add_residual(const SeanetConfig& config, WeightLoader& loader, const std::string& prefix, int64_t width,
                    int64_t dilation);
  void add_lstm(const SeanetConfig& config, WeightLoader& loader, const std::string& prefix, int64_t width);
  Tensor run(const Layer& layer, const Tensor& x, State& state, bool ends) const;
  static Tensor run_lstm(const Layer& layer, const Tensor& x, State& state);

  std::vector<Layer> layers_;
  size_t conv_states_ = 0, lstm_states_ = 0;
  int64_t lstm_width_ = 0;
  Device device_;
};

}  // namespace wick
