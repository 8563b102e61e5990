#include "tokenizer/stages/pattern.h"

#include "tokenizer/stages/code_points.h"

namespace wick {

std::vector<Match> find_all(const Regex& regex, std::string_view text) {
  std::vector<Match> matches;
  uint32_t done = 0, from = 0;
  const auto size = static_cast<uint32_t>(text.size());
  while (from <= size) {
    const auto found = regex.find(text, from);
    if (!found) break;
    if (found->begin > done) matches.push_back({{done, found->begin}, false});
    if (found->end > found->begin) matches.push_back({*found, true});
    done = found->end;
    from = found->end;
    if (found->begin == found->end) {
      if (from >= size) break;
      from += code_point_at(text, from).bytes;
    }
  }
  if (done < size) matches.push_back({{done, size}, false});
  return matches;
}

Regex read_pattern(const Json& json) {
  if (const Json* text = json.find("String")) return Regex::literal(text->as_text(), text->place());
  const Json& regex = json.at("Regex");
  return {regex.as_text(), regex.place()};
}

}  // namespace wick
