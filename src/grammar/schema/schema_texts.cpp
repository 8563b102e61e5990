#include "grammar/schema/schema_texts.h"

#include "grammar/schema/schema_formats.h"
#include "grammar/schema/schema_pattern.h"

namespace wick::grammar {

const SchemaTexts::Pattern& SchemaTexts::pattern(std::string_view text, std::string_view place) {
  const auto [entry, is_new] = patterns_.try_emplace(std::string(text));
  if (is_new) {
    const ExprId parsed = parse_regex(text, std::string(place), chars_);
    entry->second = {without_assertions(parsed, chars_), found_anywhere(parsed, chars_)};
  }
  return entry->second;
}

TextMachine& SchemaTexts::machine_of(std::string_view text, std::string_view place) {
  std::unique_ptr<PatternMachine>& machine = machines_[std::string(text)];
  if (!machine) {
    const Pattern& found = pattern(text, place);
    machine = std::make_unique<PatternMachine>(chars_, found.plain.value_or(found.found), std::string(place));
  }
  return *machine;
}

TextMachine* SchemaTexts::machine(const SchemaNode& node, bool is_opposite) {
  if (node.kind == NodeKind::kTexts) {
    std::unique_ptr<TextList>& list = lists_[&node];
    if (!list) list = std::make_unique<TextList>(node.texts);
    return list.get();
  }
  const std::string& place = node.source->place();
  if (node.kind == NodeKind::kPattern) return &machine_of(node.texts[0], place);
  const auto format = format_of(node.texts[0]);
  return format ? &machine_of(is_opposite ? format->wider : format->pattern, place) : nullptr;
}

const SchemaTexts::Pattern* SchemaTexts::pattern_of(const SchemaNode& node) {
  const std::string& place = node.source->place();
  if (node.kind == NodeKind::kPattern) return &pattern(node.texts[0], place);
  const auto format = format_of(node.texts[0]);
  return format ? &pattern(format->pattern, place) : nullptr;
}

}  // namespace wick::grammar
