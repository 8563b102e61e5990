#include "models/encoder_decoder/encoder_decoder.h"

namespace wick {

EncoderDecoder::EncoderDecoder(const EncoderDecoderConfig& config, WeightLoader& loader, const ModelOptions& options)
    : CrossDecoder(config.decoder, loader, options), encoder_(config.encoder, loader, options.device) {
  facts_.source_positions = config.encoder.positions;
  facts_.parameters = loader.parameters();
  facts_.weight_bytes = loader.bytes();
}

RecurrentState EncoderDecoder::encode_source(std::span<const int32_t> tokens, DType dtype) const {
  const EncoderText text{tokens};
  return state_for(encoder_.encode({&text, 1}), dtype);
}

}  // namespace wick
