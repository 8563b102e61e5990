#pragma once

#include "models/encoder_decoder/encoder_decoder_config.h"
#include "models/encoders/text_encoder.h"

namespace wick {

// T5, BART and those like them: an encoder reads a text once, and the decoder generates another that looks at it.
class EncoderDecoder final : public CrossDecoder {
 public:
  EncoderDecoder(const EncoderDecoderConfig& config, WeightLoader& loader, const ModelOptions& options);

  const TextEncoder& encoder() const { return encoder_; }
  RecurrentState encode_source(std::span<const int32_t> tokens, DType dtype) const override;

 private:
  TextEncoder encoder_;
};

}  // namespace wick
