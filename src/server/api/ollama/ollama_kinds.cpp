#include "server/api/ollama/ollama_kinds.h"

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace wick {

std::optional<double> duration_seconds(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                                                            {"s", 1},     {"m", 60},    {"h", 3600}};
  double sum = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (problem != std::errc() || !(number >= 0) || end == text.data()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    const std::string_view unit = text.substr(0, std::min(text.find_first_of("0123456789."), text.size()));
    const auto* const known =
        std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& each) { return each.first == unit; });
    if (known == std::end(kUnits)) return std::nullopt;
    sum += number * known->second;
    text.remove_prefix(unit.size());
  }
  return is_negative ? -sum : sum;
}

OrderedJson FieldKind<OllamaFormat>::schema(SchemaSet&) {
  return {{"anyOf", {{{"type", "string"}, {"enum", {"", "json"}}}, {{"type", "object"}}}}};
}

void FieldKind<OllamaFormat>::read(const Json& value, const std::string& place, const Limits&, OllamaFormat& out) {
  if (value.is_object()) {
    out.format.type = "json_schema";
    out.format.schema = value;
    return;
  }
  if (!value.is_text()) throw wrong_kind(place, value, "\"json\" or a JSON schema");
  check_word(place, value.as_text(), {.words = {"", "json"}});
  if (value.as_text() == "json") out.format.type = "json_object";
}

OrderedJson FieldKind<OllamaThink>::schema(SchemaSet&) {
  return {{"anyOf", {{{"type", "boolean"}}, {{"type", "string"}, {"enum", {"low", "medium", "high"}}}}}};
}

void FieldKind<OllamaThink>::read(const Json& value, const std::string& place, const Limits&, OllamaThink& out) {
  if (value.is_bool()) {
    out.on = value.as_bool();
    return;
  }
  if (!value.is_text()) throw wrong_kind(place, value, "true, false or how much");
  check_word(place, value.as_text(), {.words = {"low", "medium", "high"}});
  out.on = true;
  out.effort = value.as_text();
}

OrderedJson FieldKind<OllamaKeepAlive>::schema(SchemaSet&) {
  return {{"anyOf", {{{"type", "number"}}, {{"type", "string"}}}}};
}

void FieldKind<OllamaKeepAlive>::read(const Json& value, const std::string& place, const Limits&,
                                      OllamaKeepAlive& out) {
  if (value.is_number()) {
    out.seconds = value.as_number();
    return;
  }
  if (!value.is_text()) throw wrong_kind(place, value, "seconds or a duration");
  const auto seconds = duration_seconds(value.as_text());
  if (!seconds) {
    throw RequestError(place, cat(place, " is ", in_quotes(value.as_text()), ", expected a duration like \"5m\""));
  }
  out.seconds = *seconds;
}

OrderedJson FieldKind<OllamaImages>::schema(SchemaSet& set) { return FieldKind<std::vector<std::string>>::schema(set); }

void FieldKind<OllamaImages>::read(const Json& value, const std::string& place, const Limits& limits,
                                   OllamaImages& out) {
  FieldKind<std::vector<std::string>>::read(value, place, limits, out.list);
}

}  // namespace wick
