#pragma once

#include <string>
#include <vector>

#include "server/encoder_hosts.h"
#include "speech/voice.h"

namespace wick {

// Models that speak.
using VoiceHost = ModelShelf<SpeechSynthesizer>;

std::shared_ptr<VoiceHost> make_voice_host(const std::vector<EncoderEntry>& models, int threads = 8,
                                           int64_t max_waiting = 64);

}  // namespace wick
