#include "server/voice_host.h"

namespace wick {

std::shared_ptr<VoiceHost> make_voice_host(const std::vector<EncoderEntry>& models, int threads, int64_t max_waiting) {
  std::vector<VoiceHost::Entry> entries;
  for (const EncoderEntry& model : models) {
    entries.push_back({model.name, [model] { return load_voice(model.path, model.load); }});
  }
  return std::make_shared<VoiceHost>("voice model", std::move(entries), threads, max_waiting);
}

}  // namespace wick
