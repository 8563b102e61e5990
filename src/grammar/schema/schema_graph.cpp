#include "grammar/schema/schema_graph.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "grammar/schema/schema_keywords.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxNodes = size_t{1} << 19;
constexpr int64_t kLargeCount = int64_t{1} << 40;  // counts beyond are all the same

int64_t count_of(const Json& json) {
  if (!json.is_number() || json.as_number() < 0 || json.as_number() != std::trunc(json.as_number())) {
    throw schema_error(json, "expected a count");
  }
  return json.as_number() > static_cast<double>(kLargeCount) ? kLargeCount : json.as_int();
}

uint8_t type_bits(const Json& name) {
  if (!name.is_text()) throw schema_error(name, "expected the name of a type");
  const std::string& text = name.as_text();
  if (text == "null") return kNullBit;
  if (text == "boolean") return kBooleanBit;
  if (text == "integer") return kIntegerBit;
  if (text == "number") return kNumberBits;
  if (text == "string") return kStringBit;
  if (text == "array") return kArrayBit;
  if (text == "object") return kObjectBit;
  if (text == "any") return kAllTypes;  // draft 3
  throw schema_error(name, cat("unknown type '", text, "'"));
}

const Json::Object& object_at(const Json& json) {
  if (!json.is_object()) throw schema_error(json, "expected an object");
  return json.as_object();
}

bool flag_at(const Json& json) {
  if (!json.is_bool()) throw schema_error(json, "expected true or false");
  return json.as_bool();
}

}  // namespace

// All that tells a node from others, as bytes.
std::string SchemaGraph::key_of(const SchemaNode& node) {
  std::string key;
  const auto put = [&](int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  const auto put_text = [&](std::string_view text) {
    put(static_cast<int64_t>(text.size()));
    key += text;
  };
  const auto put_scalar = [&](const Json& value) {
    if (value.is_text()) {
      put_text(value.as_text());
    } else if (value.is_number()) {
      key += value.is_int() ? 'i' : 'f';
      put_text(cat(value.as_number()));
    } else if (value.is_bool() || value.is_null()) {
      key += value.is_null() ? 'n' : value.as_bool() ? 't' : 'f';
    } else {
      put(reinterpret_cast<intptr_t>(&value));
    }
  };
  put(static_cast<int64_t>(node.kind) << 8 | node.types);
  put(node.is_lower | node.is_exclusive << 1 | node.is_dynamic << 2);
  for (const Term term : node.terms) put(term);
  if (node.rest) put(-1 - int64_t{*node.rest});
  for (const std::string_view text : node.texts) put_text(text);
  for (const auto* list : {&node.names, &node.patterns}) {
    put(static_cast<int64_t>(list->size()));
    for (const auto& [name, term] : *list) {
      put_text(name);
      put(term);
    }
  }
  for (const Json* value : node.values) {
    key += static_cast<char>(type_of(*value));
    put_scalar(*value);
  }
  if (node.kind == NodeKind::kBound || node.kind == NodeKind::kMultiple) put_scalar(*node.source);
  if (node.kind == NodeKind::kReference) {
    put(static_cast<int64_t>(references_.resource_of(*node.owner)));
    put_scalar(*node.source);
  }
  put(node.count.min);
  put(node.count.max.value_or(-1));
  put(node.from);
  put(node.to.value_or(-1));
  return key;
}

Term SchemaGraph::add(SchemaNode node) {
  const auto [entry, is_new] = shared_.try_emplace(key_of(node), static_cast<Term>(2 * nodes_.size()));
  if (!is_new) return entry->second;
  if (nodes_.size() >= kMaxNodes) {
    throw Error(ErrorCode::kInvalidArgument, cat(root_.place(), ": the schema has more than ", kMaxNodes, " parts"));
  }
  nodes_.push_back(std::move(node));
  return entry->second;
}

Term SchemaGraph::all(std::vector<Term> terms) {
  std::erase(terms, kTrueTerm);
  if (terms.empty()) return kTrueTerm;
  if (std::find(terms.begin(), terms.end(), kFalseTerm) != terms.end()) return kFalseTerm;
  if (terms.size() == 1) return terms[0];
  return add({.kind = NodeKind::kAll, .terms = std::move(terms)});
}

Term SchemaGraph::any(std::vector<Term> terms) {
  std::erase(terms, kFalseTerm);
  if (terms.empty()) return kFalseTerm;
  if (std::find(terms.begin(), terms.end(), kTrueTerm) != terms.end()) return kTrueTerm;
  if (terms.size() == 1) return terms[0];
  return add({.kind = NodeKind::kAny, .terms = std::move(terms)});
}

Term SchemaGraph::types(uint8_t bits) {
  if (bits == kAllTypes) return kTrueTerm;
  return add({.kind = NodeKind::kTypes, .types = bits});
}

Term SchemaGraph::required(std::string_view name) { return add({.kind = NodeKind::kRequired, .texts = {name}}); }

Term SchemaGraph::pattern(std::string_view text, const Json& source) {
  return add({.kind = NodeKind::kPattern, .source = &source, .texts = {text}});
}

Term SchemaGraph::texts(std::vector<std::string_view> texts) {
  return add({.kind = NodeKind::kTexts, .texts = std::move(texts)});
}

Term SchemaGraph::member(std::string_view name, Term value, const Json* source) {
  return add({.kind = NodeKind::kMembers, .source = source, .names = {{name, value}}});
}

Term SchemaGraph::count(NodeKind kind, Count count, const Json* source) {
  if (count.min == 0 && !count.max) return kTrueTerm;
  if (count.max && *count.max < count.min) return kFalseTerm;
  return add({.kind = kind, .source = source, .count = count});
}

Term SchemaGraph::term(const Json& schema) {
  if (schema.is_bool()) return schema.as_bool() ? kTrueTerm : kFalseTerm;
  if (!schema.is_object()) throw schema_error(schema, "expected a schema: an object, true or false");
  if (const auto known = by_schema_.find(&schema); known != by_schema_.end()) return known->second;
  const Term built = build(schema);
  by_schema_.emplace(&schema, built);
  return built;
}

Term SchemaGraph::build(const Json& schema) {
  std::vector<Term> terms;
  if (references_.draft() <= 7) {  // nothing beside a reference counted
    if (const Json* reference = schema.find("$ref"); reference && reference->is_text()) {
      add_keyword(schema, "$ref", *reference, terms);
      return terms[0];
    }
  }
  for (const auto& [keyword, value] : schema.as_object()) add_keyword(schema, keyword, value, terms);
  Term result = all(std::move(terms));
  if (SchemaNode& at = nodes_[result / 2]; at.kind == NodeKind::kAll && !at.source) at.source = &schema;
  const Json* items = schema.find("unevaluatedItems");
  const Json* members = schema.find("unevaluatedProperties");
  if (items || members) {
    SchemaNode node{.kind = NodeKind::kUnevaluated, .source = &schema, .terms = {result}};
    if (items) node.rest = term(*items);
    if (members) node.names.emplace_back("", term(*members));
    result = add(std::move(node));
  }
  return result;
}

std::vector<Term> SchemaGraph::list(const Json& schemas) {
  if (!schemas.is_array() || schemas.as_array().empty()) throw schema_error(schemas, "expected a list of schemas");
  std::vector<Term> terms;
  terms.reserve(schemas.as_array().size());
  for (const Json& schema : schemas.as_array()) terms.push_back(term(schema));
  return terms;
}

Term SchemaGraph::required_names(const Json& names) {
  if (!names.is_array()) throw schema_error(names, "expected a list of names");
  std::vector<std::string_view> texts;
  for (const Json& name : names.as_array()) {
    if (!name.is_text()) throw schema_error(name, "expected a name");
    if (std::find(texts.begin(), texts.end(), name.as_text()) == texts.end()) texts.push_back(name.as_text());
  }
  if (texts.empty()) return kTrueTerm;
  if (texts.size() == 1) return required(texts[0]);
  return add({.kind = NodeKind::kRequired, .source = &names, .texts = std::move(texts)});
}

void SchemaGraph::add_keyword(const Json& schema, const std::string& keyword, const Json& value,
                              std::vector<Term>& terms) {
  switch (keyword_of(keyword)) {
    case Keyword::kAnnotation:
    case Keyword::kBeside:
    case Keyword::kUnevaluatedItems:
    case Keyword::kUnevaluatedProperties: break;
    case Keyword::kDynamicRef:
    case Keyword::kRef:
      terms.push_back(add({.kind = NodeKind::kReference,
                           .source = &value,
                           .owner = &schema,
                           .is_dynamic = keyword_of(keyword) == Keyword::kDynamicRef}));
      break;
    case Keyword::kAllOf:
      for (const Term part : list(value)) terms.push_back(part);
      break;
    case Keyword::kAnyOf: terms.push_back(any(list(value))); break;
    case Keyword::kOneOf: {
      std::vector<Term> options = list(value);
      if (options.size() == 1) {
        terms.push_back(options[0]);
      } else {
        terms.push_back(add({.kind = NodeKind::kOne, .source = &value, .terms = std::move(options)}));
      }
      break;
    }
    case Keyword::kNot: {
      const Term part = term(value);
      // The opposite of an opposite says what is inside, but evaluates no members and items.
      const bool is_double = is_opposite(part) && part != kFalseTerm;
      terms.push_back(is_double ? add({.kind = NodeKind::kIf, .source = &value, .terms = {part, kFalseTerm, kTrueTerm}})
                                : opposite(part));
      break;
    }
    case Keyword::kIf: {
      const Json* then = schema.find("then");
      const Json* otherwise = schema.find("else");
      // Without both it asserts nothing, but tells which members are evaluated.
      terms.push_back(
          add({.kind = NodeKind::kIf,
               .source = &value,
               .terms = {term(value), then ? term(*then) : kTrueTerm, otherwise ? term(*otherwise) : kTrueTerm}}));
      break;
    }
    case Keyword::kType: {
      uint8_t bits = 0;
      if (value.is_array()) {
        for (const Json& name : value.as_array()) bits |= type_bits(name);
      } else {
        bits = type_bits(value);
      }
      terms.push_back(add({.kind = NodeKind::kTypes, .types = bits}));  // also where it allows all: it is given
      break;
    }
    case Keyword::kConst:
      terms.push_back(add({.kind = NodeKind::kValues, .source = &value, .values = {&value}}));
      break;
    case Keyword::kEnum: {
      if (!value.is_array()) throw schema_error(value, "expected a list of values");
      SchemaNode node{.kind = NodeKind::kValues, .source = &value};
      for (const Json& item : value.as_array()) node.values.push_back(&item);
      terms.push_back(add(std::move(node)));
      break;
    }
    case Keyword::kMinimum:
    case Keyword::kExclusiveMinimum:
    case Keyword::kMaximum:
    case Keyword::kExclusiveMaximum: add_bound(schema, keyword, value, terms); break;
    case Keyword::kMultipleOf:
      if (!value.is_number() || value.as_number() <= 0) throw schema_error(value, "expected a number above 0");
      terms.push_back(add({.kind = NodeKind::kMultiple, .source = &value}));
      break;
    case Keyword::kMinLength: terms.push_back(count(NodeKind::kLength, {count_of(value), {}}, &value)); break;
    case Keyword::kMaxLength: terms.push_back(count(NodeKind::kLength, {0, count_of(value)}, &value)); break;
    case Keyword::kMinItems: terms.push_back(count(NodeKind::kItemCount, {count_of(value), {}}, &value)); break;
    case Keyword::kMaxItems: terms.push_back(count(NodeKind::kItemCount, {0, count_of(value)}, &value)); break;
    case Keyword::kMinProperties: terms.push_back(count(NodeKind::kMemberCount, {count_of(value), {}}, &value)); break;
    case Keyword::kMaxProperties: terms.push_back(count(NodeKind::kMemberCount, {0, count_of(value)}, &value)); break;
    case Keyword::kPattern:
      if (!value.is_text()) throw schema_error(value, "expected a regular expression");
      terms.push_back(pattern(value.as_text(), value));
      break;
    case Keyword::kFormat:
      if (!value.is_text()) throw schema_error(value, "expected the name of a format");
      terms.push_back(add({.kind = NodeKind::kFormat, .source = &value, .texts = {value.as_text()}}));
      break;
    case Keyword::kUniqueItems:
      if (flag_at(value)) terms.push_back(add({.kind = NodeKind::kUnique, .source = &value}));
      break;
    case Keyword::kItems: add_items(schema, value, terms); break;
    case Keyword::kContains: {
      const Json* min = schema.find("minContains");
      const Json* max = schema.find("maxContains");
      SchemaNode node{.kind = NodeKind::kContains, .source = &value, .terms = {term(value)}};
      node.count.min = min ? count_of(*min) : 1;
      if (max) node.count.max = count_of(*max);
      terms.push_back(add(std::move(node)));
      break;
    }
    case Keyword::kProperties: add_members(schema, value, terms); break;
    case Keyword::kRequired:
      if (!value.is_bool()) terms.push_back(required_names(value));  // else draft 3: see add_members
      break;
    case Keyword::kPropertyNames:
      terms.push_back(add({.kind = NodeKind::kNames, .source = &value, .terms = {term(value)}}));
      break;
    case Keyword::kDependencies:
    case Keyword::kDependentRequired:
    case Keyword::kDependentSchemas:
      for (const auto& [name, then] : object_at(value)) {
        const bool is_list = keyword == "dependentRequired" || (keyword == "dependencies" && then.is_array());
        if (keyword == "dependencies" && then.is_text()) {
          add_dependency(name, required(then.as_text()), terms);  // draft 3
        } else {
          add_dependency(name, is_list ? required_names(then) : term(then), terms);
        }
      }
      break;
    case Keyword::kDraft3:
      if (references_.draft() == 3) {
        throw schema_error(value, cat("the keyword '", keyword, "' of draft 3 is not supported"));
      }
      break;
  }
}

void SchemaGraph::add_bound(const Json& schema, const std::string& keyword, const Json& value,
                            std::vector<Term>& terms) {
  // Draft 4: exclusiveMinimum is a flag beside minimum.
  if (value.is_bool() && keyword.starts_with("exclusive")) return;
  if (!value.is_number()) throw schema_error(value, "expected a number");
  const bool is_lower = keyword == "minimum" || keyword == "exclusiveMinimum";
  const Json* flag = schema.find(is_lower ? "exclusiveMinimum" : "exclusiveMaximum");
  const bool is_exclusive = keyword.starts_with("exclusive") || (flag && flag->is_bool() && flag->as_bool());
  terms.push_back(
      add({.kind = NodeKind::kBound, .source = &value, .is_lower = is_lower, .is_exclusive = is_exclusive}));
}

void SchemaGraph::add_members(const Json& schema, const Json& value, std::vector<Term>& terms) {
  const Json* properties = schema.find("properties");
  const Json* patterns = schema.find("patternProperties");
  const Json* additional = schema.find("additionalProperties");
  const Json* const first = [&] {  // of the three, the one that stands first speaks for all
    for (const auto& [keyword, at] : schema.as_object()) {
      if (keyword_of(keyword) == Keyword::kProperties) return &at;
    }
    return static_cast<const Json*>(nullptr);
  }();
  if (&value != first) return;
  SchemaNode node{.kind = NodeKind::kMembers, .source = first};
  std::vector<Term> required_here;
  if (properties) {
    for (const auto& [name, member] : object_at(*properties)) {
      node.names.emplace_back(name, term(member));
      const Json* flag = member.is_object() ? member.find("required") : nullptr;
      if (flag && flag->is_bool() && flag->as_bool()) required_here.push_back(required(name));
    }
  }
  if (patterns) {
    for (const auto& [text, member] : object_at(*patterns)) node.patterns.emplace_back(text, term(member));
  }
  if (additional) node.rest = term(*additional);
  terms.push_back(add(std::move(node)));
  for (const Term name : required_here) terms.push_back(name);
}

void SchemaGraph::add_items(const Json& schema, const Json& value, std::vector<Term>& terms) {
  const Json* items = schema.find("items");
  const Json* prefix = schema.find("prefixItems");
  const Json* rest = items;
  if (items && items->is_array()) {  // before 2020-12
    prefix = items;
    rest = schema.find("additionalItems");
  }
  const Json* const first = prefix && prefix != items ? prefix : items;
  if (&value != first) return;
  SchemaNode node{.kind = NodeKind::kItems, .source = first};
  if (prefix) {
    if (!prefix->is_array()) throw schema_error(*prefix, "expected a list of schemas");
    for (const Json& item : prefix->as_array()) node.terms.push_back(term(item));
  }
  if (rest) node.rest = term(*rest);
  terms.push_back(add(std::move(node)));
}

void SchemaGraph::add_dependency(std::string_view name, Term then, std::vector<Term>& terms) {
  terms.push_back(
      any({opposite(types(kObjectBit)), opposite(required(name)), all({types(kObjectBit), required(name), then})}));
}

// The schema of exactly this list or object.
Term SchemaGraph::equal(const Json& value) {
  if (value.is_array()) {
    SchemaNode items{.kind = NodeKind::kItems, .source = &value};
    for (const Json& item : value.as_array()) items.terms.push_back(equal(item));
    const auto size = static_cast<int64_t>(value.as_array().size());
    return all({types(kArrayBit), count(NodeKind::kItemCount, {size, size}, &value), add(std::move(items))});
  }
  if (value.is_object()) {
    SchemaNode members{.kind = NodeKind::kMembers, .source = &value, .rest = kFalseTerm};
    std::vector<Term> terms = {types(kObjectBit)};
    for (const auto& [name, item] : value.as_object()) {
      members.names.emplace_back(name, equal(item));
      terms.push_back(required(name));
    }
    terms.push_back(add(std::move(members)));
    return all(std::move(terms));
  }
  return add({.kind = NodeKind::kValues, .source = &value, .values = {&value}});
}

uint8_t type_of(const Json& value) {
  if (value.is_null()) return kNullBit;
  if (value.is_bool()) return kBooleanBit;
  if (value.is_number()) return value.as_number() == std::trunc(value.as_number()) ? kIntegerBit : kFractionBit;
  if (value.is_text()) return kStringBit;
  return value.is_array() ? kArrayBit : kObjectBit;
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
