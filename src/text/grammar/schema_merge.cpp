#include "text/grammar/schema_merge.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "text/grammar/schema_keywords.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxChain = 200;  // of references and allOf

template <typename T>
void raise(T& value, int64_t to) {
  value = std::max<int64_t>(value, to);
}
void lower(std::optional<int64_t>& value, int64_t to) { value = value ? std::min(*value, to) : to; }

int64_t count_of(const Json& json) {
  if (!json.is_number() || json.as_number() < 0) throw schema_error(json, "expected a count");
  return json.as_int();
}

void require_schema(const Json& json) {
  if (!json.is_object() && !json.is_bool()) throw schema_error(json, "expected a schema: an object, true or false");
}

uint8_t type_bit(const Json& name) {
  if (!name.is_text()) throw schema_error(name, "expected the name of a type");
  const std::string& text = name.as_text();
  if (text == "null") return kNullBit;
  if (text == "boolean") return kBooleanBit;
  if (text == "integer") return kIntegerBit;
  if (text == "number") return kIntegerBit | kFractionBit;
  if (text == "string") return kStringBit;
  if (text == "array") return kArrayBit;
  if (text == "object") return kObjectBit;
  throw schema_error(name, cat("unknown type '", text, "'"));
}

std::string unescape_pointer(std::string_view token, const Json& reference) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out += token[++i] == '0' ? '~' : '/';
    } else if (token[i] == '%') {
      const auto hex = [&](size_t at) {
        const char c = at < token.size() ? token[at] : '\0';
        if (c >= '0' && c <= '9') return c - '0';
        if ((c | 32) >= 'a' && (c | 32) <= 'f') return (c | 32) - 'a' + 10;
        throw schema_error(reference, "bad % escape in the reference");
      };
      out += static_cast<char>(hex(i + 1) * 16 + hex(i + 2));
      i += 2;
    } else {
      out += token[i];
    }
  }
  return out;
}

const Json* child(const Json& parent, const std::string& token) {
  if (parent.is_object()) return parent.find(token);
  if (!parent.is_array() || token.empty() || token.size() > 6) return nullptr;
  size_t index = 0;
  for (const char c : token) {
    if (c < '0' || c > '9') return nullptr;
    index = index * 10 + static_cast<size_t>(c - '0');
  }
  return index < parent.as_array().size() ? &parent.as_array()[index] : nullptr;
}

}  // namespace

Error schema_error(const Json& at, std::string_view problem) {
  return {ErrorCode::kInvalidArgument, cat(at.place(), ": ", problem)};
}

struct SchemaMerger::Visit {
  const Conjunction& conjunction;
  MergedSchema merged;
  std::vector<const Json*> open, done;
  bool has_type = false;
  bool has_never = false;
};

MergedSchema SchemaMerger::merge(const Conjunction& conjunction) const {
  Visit visit{conjunction, {}, {}, {}};
  visit.merged.place = conjunction.schemas.empty() ? root_.place() : conjunction.schemas[0]->place();
  for (const Json* schema : conjunction.schemas) add(*schema, visit);
  MergedSchema& merged = visit.merged;
  // Schemas for objects and arrays often leave the type out.
  if (!visit.has_type && !merged.values && !merged.choice) {
    const bool is_object = std::any_of(merged.objects.begin(), merged.objects.end(),
                                       [](const ObjectKeywords& keywords) { return keywords.properties; });
    if (is_object != !merged.arrays.empty()) merged.types &= is_object ? kObjectBit : kArrayBit;
  }
  if (visit.has_never) merged.types = 0;
  return std::move(visit.merged);
}

Conjunction SchemaMerger::choose(const Conjunction& conjunction, const MergedSchema& merged, const Json& option) const {
  // An option that leads back to a schema whose choice is made would count as satisfied by itself.
  Conjunction all_made;
  Visit visit{all_made, {}, {}, {}};
  add(option, visit);
  Conjunction chosen = conjunction;
  chosen.made.push_back(merged.choice->key);
  for (const Json* reached : visit.done) {
    for (const auto& made : chosen.made) {
      if (made.first == reached) throw schema_error(option, cat("leads back to ", reached->place(), " without an end"));
    }
  }
  chosen.schemas.push_back(&option);
  return chosen;
}

void SchemaMerger::add(const Json& schema, Visit& visit) const {
  require_schema(schema);
  if (std::find(visit.open.begin(), visit.open.end(), &schema) != visit.open.end()) {
    throw schema_error(schema, "refers to itself without an end");
  }
  if (std::find(visit.done.begin(), visit.done.end(), &schema) != visit.done.end()) return;
  if (visit.open.size() >= kMaxChain) throw schema_error(schema, cat("more than ", kMaxChain, " references in a row"));
  if (schema.is_bool()) {
    visit.has_never |= !schema.as_bool();
    return;
  }
  visit.open.push_back(&schema);
  for (const auto& [keyword, value] : schema.as_object()) add_keyword(schema, keyword, value, visit);
  MergedSchema& merged = visit.merged;
  const ObjectKeywords object{schema.find("properties"), schema.find("patternProperties"),
                              schema.find("additionalProperties")};
  if (object.properties || object.pattern_properties || object.additional) merged.objects.push_back(object);
  // Before 2020-12 a list of items was called `items`, and what follows it `additionalItems`.
  const Json* items = schema.find("items");
  const ArrayKeywords array = items && items->is_array() ? ArrayKeywords{items, schema.find("additionalItems")}
                                                         : ArrayKeywords{schema.find("prefixItems"), items};
  if (array.prefix || array.items) merged.arrays.push_back(array);
  visit.open.pop_back();
  visit.done.push_back(&schema);
}

void SchemaMerger::add_keyword(const Json& schema, const std::string& keyword, const Json& value, Visit& visit) const {
  MergedSchema& merged = visit.merged;
  const auto choice = [&](Conjunction::Choice kind) {
    if (!value.is_array() || value.as_array().empty()) throw schema_error(value, "expected a list of schemas");
    const Conjunction::Made key{&schema, kind};
    const auto& made = visit.conjunction.made;
    if (!merged.choice && std::find(made.begin(), made.end(), key) == made.end()) merged.choice = {key, &value};
  };
  switch (keyword_of(keyword)) {
    case Keyword::kAnnotation:
    case Keyword::kHandledTogether: break;
    case Keyword::kRef: add(resolve(value), visit); break;
    case Keyword::kAllOf:
      if (!value.is_array()) throw schema_error(value, "expected a list of schemas");
      for (const Json& part : value.as_array()) add(part, visit);
      break;
    case Keyword::kAnyOf: choice(Conjunction::Choice::kAnyOf); break;
    case Keyword::kOneOf: choice(Conjunction::Choice::kOneOf); break;
    case Keyword::kNot:
      if (value.is_bool() ? value.as_bool() : value.is_object() && value.as_object().empty()) {
        visit.has_never = true;
      } else if (!value.is_bool()) {
        throw schema_error(value, "'not' is not supported");
      }
      break;
    case Keyword::kType: {
      uint8_t types = 0;
      if (value.is_array()) {
        for (const Json& name : value.as_array()) types |= type_bit(name);
      } else {
        types = type_bit(value);
      }
      merged.types &= types;
      visit.has_type = true;
      break;
    }
    case Keyword::kEnum:
    case Keyword::kConst: {
      std::vector<const Json*> values;
      if (keyword == "const") {
        values.push_back(&value);
      } else {
        if (!value.is_array()) throw schema_error(value, "expected a list of values");
        for (const Json& item : value.as_array()) values.push_back(&item);
      }
      if (merged.values) {
        std::erase_if(*merged.values, [&](const Json* kept) {
          return std::none_of(values.begin(), values.end(), [&](const Json* v) { return json_equal(*kept, *v); });
        });
      } else {
        merged.values = std::move(values);
      }
      break;
    }
    case Keyword::kMinimum:
    case Keyword::kExclusiveMinimum:
    case Keyword::kMaximum:
    case Keyword::kExclusiveMaximum: {
      // Draft 4: exclusiveMinimum is a flag beside minimum.
      const bool is_minimum = keyword == "minimum" || keyword == "exclusiveMinimum";
      if (value.is_bool() && keyword.starts_with("exclusive")) break;
      if (!value.is_number()) throw schema_error(value, "expected a number");
      const Json* flag = schema.find(is_minimum ? "exclusiveMinimum" : "exclusiveMaximum");
      const bool is_exclusive = keyword.starts_with("exclusive") || (flag && flag->is_bool() && flag->as_bool());
      (is_minimum ? merged.minimums : merged.maximums).push_back({&value, is_exclusive});
      break;
    }
    case Keyword::kMultipleOf: merged.multiples.push_back(&value); break;
    case Keyword::kMinLength: raise(merged.min_length, count_of(value)); break;
    case Keyword::kMaxLength: lower(merged.max_length, count_of(value)); break;
    case Keyword::kPattern: merged.patterns.push_back(&value); break;
    case Keyword::kFormat: merged.formats.push_back(&value); break;
    case Keyword::kMinItems: raise(merged.min_items, count_of(value)); break;
    case Keyword::kMaxItems: lower(merged.max_items, count_of(value)); break;
    case Keyword::kUniqueItems:
      if (!value.is_bool()) throw schema_error(value, "expected true or false");
      if (value.as_bool()) merged.unique_items = &value;
      break;
    case Keyword::kRequired:
      if (!value.is_array()) throw schema_error(value, "expected a list of names");
      for (const Json& name : value.as_array()) {
        if (!name.is_text()) throw schema_error(name, "expected a name");
        merged.required.push_back(&name);
      }
      break;
    case Keyword::kPropertyNames: merged.property_names.push_back(&value); break;
    case Keyword::kMinProperties: raise(merged.min_properties, count_of(value)); break;
    case Keyword::kMaxProperties: lower(merged.max_properties, count_of(value)); break;
    case Keyword::kUnsupported: throw schema_error(value, cat("the keyword '", keyword, "' is not supported"));
  }
}

const Json& SchemaMerger::resolve(const Json& reference) const {
  if (!reference.is_text()) throw schema_error(reference, "expected a reference");
  const std::string_view text = reference.as_text();
  const Json* at = &root_;
  if (text == "#") return *at;
  if (!text.starts_with("#/"))
    throw schema_error(reference, cat("only references into this document (#/...) are supported, not '", text, "'"));
  for (size_t start = 2; start <= text.size();) {
    const size_t end = std::min(text.find('/', start), text.size());
    at = child(*at, unescape_pointer(text.substr(start, end - start), reference));
    if (!at) throw schema_error(reference, cat("'", text, "' does not exist"));
    start = end + 1;
  }
  return *at;
}

std::optional<int64_t> small_integer(const Json& json) {
  if (!json.is_number() || std::abs(json.as_number()) > 9e18 || json.as_number() != std::trunc(json.as_number())) {
    return std::nullopt;
  }
  return json.is_int() ? json.as_int() : static_cast<int64_t>(json.as_number());
}

bool json_equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    const auto whole_a = small_integer(a), whole_b = small_integer(b);
    return whole_a && whole_b ? *whole_a == *whole_b : a.as_number() == b.as_number();
  }
  if (a.is_null()) return b.is_null();
  if (a.is_bool()) return b.is_bool() && a.as_bool() == b.as_bool();
  if (a.is_text()) return b.is_text() && a.as_text() == b.as_text();
  if (a.is_array()) {
    return b.is_array() &&
           std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(), b.as_array().end(), json_equal);
  }
  if (!a.is_object() || !b.is_object() || a.as_object().size() != b.as_object().size()) return false;
  return std::all_of(a.as_object().begin(), a.as_object().end(), [&](const Json::Member& member) {
    const Json* other = b.find(member.first);
    return other && json_equal(member.second, *other);
  });
}

}  // namespace wick::grammar
