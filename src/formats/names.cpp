#include "formats/names.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/text.h"
#include "formats/architectures.h"
#include "formats/name_table.h"

namespace wick {
namespace {

constexpr std::string_view kLayer = "{layer}", kExpert = ".{expert}", kWeightOrBias = ".*";

struct Captures {
  std::string_view layer, expert, suffix;  // digits, digits or empty, ".weight" or ".bias"
};

std::string_view take_digits(std::string_view text) {
  size_t length = 0;
  while (length < text.size() && text[length] >= '0' && text[length] <= '9') ++length;
  return text.substr(0, length);
}

// An HF name may leave out the number of the expert and so stand for all of them.
bool match(std::string_view pattern, std::string_view name, bool is_hf, Captures& found) {
  while (!pattern.empty()) {
    if (pattern == kWeightOrBias) {
      found.suffix = name;
      return name == ".weight" || name == ".bias";
    }
    if (pattern.starts_with(kLayer)) {
      found.layer = take_digits(name);
      if (found.layer.empty()) return false;
      name.remove_prefix(found.layer.size());
      pattern.remove_prefix(kLayer.size());
    } else if (pattern.starts_with(kExpert)) {
      pattern.remove_prefix(kExpert.size());
      if (name.empty() || name[0] != '.') return false;
      found.expert = take_digits(name.substr(1));
      if (found.expert.empty() && !is_hf) return false;
      if (!found.expert.empty()) name.remove_prefix(1 + found.expert.size());
    } else {
      if (name.empty() || name[0] != pattern[0]) return false;
      name.remove_prefix(1);
      pattern.remove_prefix(1);
    }
  }
  return name.empty();
}

std::string fill(std::string_view pattern, const Captures& found) {
  std::string out;
  while (!pattern.empty()) {
    if (pattern == kWeightOrBias) return out.append(found.suffix);
    if (pattern.starts_with(kLayer)) {
      out += found.layer;
      pattern.remove_prefix(kLayer.size());
    } else if (pattern.starts_with(kExpert)) {
      if (!found.expert.empty()) out.append(".").append(found.expert);
      pattern.remove_prefix(kExpert.size());
    } else {
      out += pattern[0];
      pattern.remove_prefix(1);
    }
  }
  return out;
}

struct FullRule {
  std::string gguf, hf;
  ByteChange change;
};
using FullRules = std::vector<FullRule>;

// The rules of an architecture with their prefixes, made once and kept.
const FullRules* full_rules(std::string_view architecture) {
  const Architecture* known = find_architecture(architecture);
  const std::string_view name = known ? known->gguf : architecture;
  const auto groups = name_groups(name);
  if (groups.empty()) return nullptr;
  static std::mutex mutex;
  static std::map<std::string, FullRules, std::less<>> cache;
  const std::lock_guard lock(mutex);
  const auto [place, fresh] = cache.try_emplace(std::string(name));
  if (fresh) {
    for (const NameGroup* group : groups) {
      for (const NameRule& rule : group->rules) {
        place->second.push_back({cat(group->gguf_prefix, rule.gguf), cat(group->hf_prefix, rule.hf), rule.change});
      }
    }
  }
  return &place->second;
}

std::optional<int> number(std::string_view digits) {
  if (digits.empty() || digits.size() > 6) return std::nullopt;
  int value = 0;
  for (const char digit : digits) value = value * 10 + (digit - '0');
  return value;
}

std::vector<NameMatch> matches(std::string_view architecture, std::string_view name, bool to_gguf) {
  std::vector<NameMatch> found;
  const FullRules* rules = full_rules(architecture);
  if (!rules) return found;
  for (const FullRule& rule : *rules) {
    Captures captures;
    if (!match(to_gguf ? rule.hf : rule.gguf, name, to_gguf, captures)) continue;
    // Only GGUF tensors that stack all experts have slices; legacy files number them on both sides.
    const bool slice = to_gguf && rule.gguf.find(kExpert) == std::string::npos;
    NameMatch match{fill(to_gguf ? rule.gguf : rule.hf, captures), rule.change, std::nullopt};
    if (slice) match.expert = number(captures.expert);
    const bool seen = std::any_of(found.begin(), found.end(), [&](const NameMatch& m) { return m.name == match.name; });
    if (!seen) found.push_back(std::move(match));
  }
  // A tensor's own name comes before that of a larger one it is part of.
  if (!to_gguf) {
    std::stable_partition(found.begin(), found.end(), [](const NameMatch& match) { return !is_part(match.change); });
  }
  return found;
}

std::optional<std::string> first(const std::vector<NameMatch>& found) {
  if (found.empty()) return std::nullopt;
  return found.front().name;
}

}  // namespace

std::vector<NameMatch> gguf_matches(std::string_view architecture, std::string_view hf_name) {
  return matches(architecture, hf_name, true);
}

std::vector<NameMatch> hf_matches(std::string_view architecture, std::string_view gguf_name) {
  return matches(architecture, gguf_name, false);
}

namespace {

std::vector<HfAlias> aliases_in_table(std::string_view architecture, std::string_view hf_name) {
  std::vector<HfAlias> aliases;
  const FullRules* rules = full_rules(architecture);
  if (!rules) return aliases;
  for (const FullRule& asked : *rules) {
    Captures wanted;
    if (!match(asked.hf, hf_name, true, wanted)) continue;
    const std::string gguf = fill(asked.gguf, wanted);
    for (const FullRule& other : *rules) {
      Captures captures;
      if (&other == &asked || !match(other.gguf, gguf, false, captures)) continue;
      captures.expert = wanted.expert;
      HfAlias alias{fill(other.hf, captures), other.change, asked.change, std::nullopt};
      if (other.hf.find(kExpert) == std::string::npos) alias.expert = number(wanted.expert);
      if (alias.name != hf_name) aliases.push_back(std::move(alias));
    }
  }
  return aliases;
}

}  // namespace

std::vector<HfAlias> hf_aliases(std::string_view architecture, std::string_view hf_name) {
  constexpr std::string_view kTable = "model.", kLayers = "layers.";
  std::vector<HfAlias> aliases = aliases_in_table(architecture, hf_name);
  const size_t place = hf_name.find(kLayers);
  if (!aliases.empty() || place == hf_name.npos) return aliases;
  // Text models inside larger ones have their layers elsewhere than the table has them.
  aliases = aliases_in_table(architecture, cat(kTable, hf_name.substr(place)));
  for (HfAlias& alias : aliases) {
    if (alias.name.starts_with(kTable)) alias.name.replace(0, kTable.size(), hf_name.substr(0, place));
  }
  return aliases;
}

bool is_part(ByteChange change) { return change >= ByteChange::kFirstHalf; }

std::optional<std::string> gguf_name(std::string_view architecture, std::string_view hf_name) {
  return first(gguf_matches(architecture, hf_name));
}

std::optional<std::string> hf_name(std::string_view architecture, std::string_view gguf_name) {
  return first(hf_matches(architecture, gguf_name));
}

}  // namespace wick
