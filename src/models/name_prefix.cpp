#include "models/name_prefix.h"

#include "base/text.h"

namespace wick {

void find_prefix(const WeightSource& source, DecoderNames& names) {
  const std::string weight = ".weight";
  if (source.has(names.embed + weight)) return;
  const size_t dot = names.embed.rfind('.');
  const std::string old_prefix = dot == std::string::npos ? "" : names.embed.substr(0, dot + 1);
  const std::string last = names.embed.substr(old_prefix.size());
  std::optional<std::string> found;
  for (const std::string& name : source.names()) {
    const bool ends = name == last + weight || name.ends_with(cat(".", last, weight));
    if (ends && (!found || name.size() < found->size())) found = name;
  }
  if (!found) return;
  const std::string prefix = found->substr(0, found->size() - last.size() - weight.size());
  for (std::string* name : {&names.embed, &names.positions, &names.embed_norm, &names.layers, &names.final_norm}) {
    if (name->starts_with(old_prefix) && !name->empty()) *name = prefix + name->substr(old_prefix.size());
  }
  if (source.has(names.head + weight)) return;
  // "language_model.model." has its head at "language_model.lm_head".
  for (std::string stem = prefix; !stem.empty();) {
    stem.pop_back();
    const size_t cut = stem.rfind('.');
    stem = cut == std::string::npos ? "" : stem.substr(0, cut + 1);
    if (!stem.empty() && source.has(stem + names.head + weight)) {
      names.head = stem + names.head;
      return;
    }
  }
}

}  // namespace wick
