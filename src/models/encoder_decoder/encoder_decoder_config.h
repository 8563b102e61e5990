#pragma once

#include <span>
#include <string_view>

#include "formats/weights.h"
#include "models/config_reader.h"
#include "models/encoder_decoder/cross_decoder.h"
#include "models/encoders/encoder_config.h"

namespace wick {

// A model that reads one text and generates another, as its config.json describes it.
struct EncoderDecoderConfig {
  EncoderConfig encoder;
  CrossDecoderConfig decoder;
};

// A family of them by the model_type of config.json.
struct EncoderDecoderFamily {
  std::string_view model_type;
  std::string_view title;  // for people
  EncoderDecoderConfig (*read)(const ConfigReader& config, const WeightSource& source);
};
std::span<const EncoderDecoderFamily> encoder_decoder_families();

// Whether it is of one of them, and the file has the decoder, too.
bool is_encoder_decoder(const WeightSource& source);
// Throws Error(kBadFile) naming a setting that is wrong, Error(kUnsupported) for settings that are not understood.
EncoderDecoderConfig read_encoder_decoder_config(const ConfigReader& config, const WeightSource& source);

}  // namespace wick
