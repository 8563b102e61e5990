#pragma once

#include "models/config_reader.h"

namespace wick {

// Refuses settings that would change what a model computes and that nobody has read, once all that are understood have
// been. With an inferred family that is every setting but those known not to matter for inference; families know the
// others that their files may have, so there it is those that change the computation of any decoder. Values that change
// nothing, such as null, false or a multiplier of 1, pass. Throws Error(kUnsupported) naming the setting.
void check_settings(const ConfigReader& config, bool is_inferred);
// Whether a setting of config.json has nothing to do with what a model computes from the tokens it is given.
bool is_without_effect(std::string_view name);

}  // namespace wick
