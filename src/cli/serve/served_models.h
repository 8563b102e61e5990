#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/encoder_hosts.h"
#include "server/model_host.h"
#include "server/speech_host.h"

namespace wick {

// Models as arguments name them: "name=path", "path" (named as the file or folder is), "Org/Name" of the hub, the model
// of a preset, or the one inside the program. They throw Error naming what was not found.
ModelEntry served_model(const std::string& text, std::string_view built_in = "ember");
// How they are loaded, the same for all.
struct ServedLoad {
  std::string quantize = "auto", device = "cpu", aligner;
};
// Ember-ASR is among them wherever the program has it.
std::vector<SpeechEntry> served_speech_models(const std::vector<std::string>& models, const ServedLoad& load);
std::vector<EncoderEntry> served_encoders(const std::vector<std::string>& models, const ServedLoad& load);

}  // namespace wick
