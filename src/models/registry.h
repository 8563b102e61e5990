#pragma once

#include <span>
#include <string_view>

#include "models/config_reader.h"
#include "models/decoder/decoder_config.h"

namespace wick {

// A family of models that Wick knows by the model_type of config.json.
struct Family {
  std::string_view model_type;
  std::string_view title;  // for people
  DecoderConfig (*decoder)(const ConfigReader& config);
};

std::span<const Family> families();
// Null when the model_type is not known.
const Family* find_family(std::string_view model_type);
// Throws Error(kUnsupported) saying what Wick lacks, for families that are known to compute in a way of their own.
void check_not_refused(std::string_view model_type);

}  // namespace wick
