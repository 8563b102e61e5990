#include "server/speech_host.h"

namespace wick {
namespace {

std::vector<SpeechHost::Entry> entries_of(std::vector<SpeechEntry> models) {
  std::vector<SpeechHost::Entry> entries;
  for (SpeechEntry& model : models) {
    entries.push_back({model.name, [model] { return load_recognizer(model.path, model.load); }});
  }
  return entries;
}

}  // namespace

SpeechHost::SpeechHost(std::vector<SpeechEntry> models, int threads, int64_t max_waiting)
    : ModelShelf("speech model", entries_of(std::move(models)), threads, max_waiting) {}

}  // namespace wick
