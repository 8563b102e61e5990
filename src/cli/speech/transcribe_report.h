#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "speech/recognition.h"
#include "speech/recognizer.h"

namespace wick {

// What `wick transcribe --format json` prints; segments as in the server's verbose_json.
nlohmann::ordered_json to_json(const Recognition& recognition, const std::string& file, const RecognizerFacts& facts,
                               double wall_seconds);

// "11.0 s of sound in 0.4 s, 27 times real time (mel 2 ms, encoder 210 ms, prompt 30 ms, text 90 ms)".
std::string speed_text(const Recognition& recognition, double wall_seconds);

}  // namespace wick
