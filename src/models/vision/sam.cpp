#include "models/vision/sam.h"

#include "base/error.h"
#include "base/text.h"
#include "models/load_parts.h"
#include "models/read_count.h"

namespace wick {

bool is_sam(const Json& config) { return config.is_object() && config.get("model_type", "") == "sam"; }

struct Sam::Settings {
  SamEncoderConfig encoder;
  SamDecoderConfig decoder;
};

Sam::Settings Sam::read(const WeightSource& source) {
  const Json& config = source.config();
  if (!is_sam(config)) {
    throw Error(ErrorCode::kUnsupported, cat(file_name(source), " is not a 'sam', which makes masks"));
  }
  const ConfigReader vision(config.at("vision_config"));
  Settings settings;
  settings.encoder = read_sam_encoder_config(vision);
  settings.decoder = read_sam_decoder_config(config, read_count(vision, "num_pos_feats"));
  if (settings.decoder.side != settings.encoder.side || settings.decoder.grid != settings.encoder.grid() ||
      settings.decoder.width != settings.encoder.output) {
    throw bad_setting("the parts of a 'sam' are for pictures of different sizes");
  }
  return settings;
}

Sam::Sam(const Settings& settings, WeightLoader& loader)
    : encoder_(settings.encoder, loader), decoder_(settings.decoder, loader) {}

std::unique_ptr<Sam> Sam::load(const WeightSource& source, const ModelOptions& options) {
  const Settings settings = read(source);
  std::unique_ptr<Sam> model;
  const std::string stacks[] = {"vision_encoder.layers.", "mask_decoder.transformer.layers."};
  load_parts(source, options, stacks, [&](WeightLoader& loader) { model.reset(new Sam(settings, loader)); });
  return model;
}

}  // namespace wick
