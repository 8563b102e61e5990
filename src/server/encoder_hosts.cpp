#include "server/encoder_hosts.h"

namespace wick {
namespace {

constexpr int kThreads = 16;  // requests whose texts share passes
constexpr int64_t kMostWaiting = 256;

template <typename Model>
std::shared_ptr<ModelShelf<Model>> make_host(const char* kind, const std::vector<EncoderEntry>& models) {
  std::vector<typename ModelShelf<Model>::Entry> entries;
  for (const EncoderEntry& model : models) {
    entries.push_back({model.name, [model] { return Model::load(model.path, model.load); }});
  }
  return std::make_shared<ModelShelf<Model>>(kind, std::move(entries), kThreads, kMostWaiting);
}

}  // namespace

std::shared_ptr<EmbedHost> make_embed_host(const std::vector<EncoderEntry>& models) {
  return make_host<Embedder>("embedding model", models);
}
std::shared_ptr<JudgeHost> make_judge_host(const std::vector<EncoderEntry>& models) {
  return make_host<Classifier>("classifier", models);
}

}  // namespace wick
