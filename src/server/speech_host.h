#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "server/model_shelf.h"
#include "speech/recognizer.h"

namespace wick {

// A speech model that the server offers.
struct SpeechEntry {
  std::string name;            // what requests call it
  std::filesystem::path path;  // empty: Ember-ASR, the one inside the program
  RecognizerOptions load;
};

class SpeechHost : public ModelShelf<SpeechRecognizer> {
 public:
  explicit SpeechHost(std::vector<SpeechEntry> models, int threads = 8, int64_t max_waiting = 64);
};

}  // namespace wick
