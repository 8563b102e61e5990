#include "grammar/schema/schema_reference.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace wick::grammar {
namespace {

// Keywords whose value is a schema or a list of schemas, and those whose members are schemas.
constexpr std::array<std::string_view, 16> kSchemaKeywords = {"additionalItems",
                                                              "additionalProperties",
                                                              "allOf",
                                                              "anyOf",
                                                              "contains",
                                                              "contentSchema",
                                                              "else",
                                                              "if",
                                                              "items",
                                                              "not",
                                                              "oneOf",
                                                              "prefixItems",
                                                              "propertyNames",
                                                              "then",
                                                              "unevaluatedItems",
                                                              "unevaluatedProperties"};
constexpr std::array<std::string_view, 6> kSchemaMaps = {
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"};

template <size_t size>
bool is_one_of(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

int draft_of(const Json& root) {
  const Json* schema = root.is_object() ? root.find("$schema") : nullptr;
  if (!schema || !schema->is_text()) return 2019;
  for (const int draft : {3, 4, 6, 7}) {
    if (schema->as_text().find(cat("draft-0", draft)) != std::string::npos) return draft;
  }
  return 2019;
}

size_t scheme_length(std::string_view uri) {
  size_t at = 0;
  while (at < uri.size() &&
         (std::isalnum(static_cast<unsigned char>(uri[at])) || uri[at] == '+' || uri[at] == '-' || uri[at] == '.')) {
    ++at;
  }
  return at > 0 && at < uri.size() && uri[at] == ':' ? at + 1 : 0;
}

// What RFC 3986 makes of a reference without fragment and its base.
std::string join_uri(const std::string& base, std::string_view reference) {
  if (reference.empty()) return base;
  const size_t scheme = scheme_length(base);
  if (scheme_length(reference) > 0 || base.empty()) return std::string(reference);
  if (reference.starts_with("//")) return base.substr(0, scheme) + std::string(reference);
  size_t path = scheme;
  if (base.compare(scheme, 2, "//") == 0) path = std::min(base.find('/', scheme + 2), base.size());
  std::string joined = base.substr(0, path);
  if (reference[0] != '/') {
    const size_t slash = base.rfind('/');
    joined = slash != std::string::npos && slash >= path ? base.substr(0, slash + 1) : joined + (path > 0 ? "/" : "");
  }
  size_t start = 0;
  while (start <= reference.size()) {  // dot segments
    const size_t end = std::min(reference.find('/', start), reference.size());
    const std::string_view segment = reference.substr(start, end - start);
    if (segment == "..") {
      if (joined.size() > path + 1) joined.resize(joined.rfind('/', joined.size() - 2) + 1);
    } else if (segment != ".") {
      joined += segment;
      if (end < reference.size()) joined += '/';
    }
    start = end + 1;
  }
  return joined;
}

std::string percent_decoded(std::string_view text, const Json& reference) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto hex = [&](size_t at) {
      const char c = at < text.size() ? text[at] : '\0';
      if (c >= '0' && c <= '9') return c - '0';
      if ((c | 32) >= 'a' && (c | 32) <= 'f') return (c | 32) - 'a' + 10;
      throw schema_error(reference, "bad % escape in the reference");
    };
    out += static_cast<char>(hex(i + 1) * 16 + hex(i + 2));
    i += 2;
  }
  return out;
}

std::string pointer_token(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1');
    out += !is_escape ? text[i] : text[++i] == '0' ? '~' : '/';
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

// `pointer` is empty or begins with '/'.
const Json* find_pointer(const Json& root, std::string_view pointer) {
  const Json* at = &root;
  for (size_t start = 1; at && start <= pointer.size();) {
    const size_t end = std::min(pointer.find('/', start), pointer.size());
    at = child(*at, pointer_token(pointer.substr(start, end - start)));
    start = end + 1;
  }
  return at;
}

}  // namespace

Error schema_error(const Json& at, std::string_view problem) {
  return {ErrorCode::kInvalidArgument, cat(at.place(), ": ", problem)};
}

SchemaReferences::SchemaReferences(const Json& root) : root_(root), draft_(draft_of(root)) {
  resources_.push_back({"", &root_});
}

void SchemaReferences::visit(const Json& schema, size_t resource) {
  if (!schema.is_object()) return;
  const bool ignores_siblings = draft_ <= 7 && schema.find("$ref");
  const Json* id = schema.find("$id");
  if (!id && draft_ <= 4) id = schema.find("id");
  if (id && id->is_text() && !ignores_siblings) {
    const std::string_view text = id->as_text();
    const size_t hash = std::min(text.find('#'), text.size());
    if (hash > 0) {
      const std::string uri = join_uri(resources_[resource].uri, text.substr(0, hash));
      if (&schema == &root_) {
        resources_[0].uri = uri;
      } else {
        resource = resources_.size();
        resources_.push_back({uri, &schema});
      }
      by_uri_.try_emplace(uri, &schema);
    }
    if (hash + 1 < text.size()) {
      by_uri_.try_emplace(cat(resources_[resource].uri, text.substr(hash)), &schema);
    }
  }
  resource_of_[&schema] = resource;
  for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
    const Json* anchor = schema.find(keyword);
    if (!anchor || !anchor->is_text() || ignores_siblings) continue;
    by_uri_.try_emplace(cat(resources_[resource].uri, "#", anchor->as_text()), &schema);
    if (keyword == "$dynamicAnchor") dynamic_anchors_[anchor->as_text()].push_back(&schema);
  }
  if (const Json* anchor = schema.find("$recursiveAnchor"); anchor && anchor->is_bool() && anchor->as_bool()) {
    recursive_anchors_.push_back(&schema);
  }
  for (const auto& [keyword, value] : schema.as_object()) {
    if (value.is_object() && is_one_of(kSchemaMaps, keyword)) {
      for (const auto& member : value.as_object()) visit(member.second, resource);
    } else if (is_one_of(kSchemaKeywords, keyword)) {
      visit(value, resource);
      if (!value.is_array()) continue;
      for (const Json& item : value.as_array()) visit(item, resource);
    }
  }
}

size_t SchemaReferences::resource_of(const Json& schema) {
  if (!is_indexed_) {
    is_indexed_ = true;
    visit(root_, 0);
  }
  const auto found = resource_of_.find(&schema);
  return found == resource_of_.end() ? 0 : found->second;
}

const Json& SchemaReferences::resolve(const Json& reference, const Json& owner) {
  if (!reference.is_text()) throw schema_error(reference, "expected a reference");
  const std::string_view text = reference.as_text();
  const Resource resource = resources_[resource_of(owner)];
  const size_t hash = std::min(text.find('#'), text.size());
  const Json* base = resource.root;
  std::string uri = resource.uri;
  if (hash > 0) {
    uri = join_uri(resource.uri, text.substr(0, hash));
    const auto found = by_uri_.find(uri);
    if (found == by_uri_.end()) {
      throw schema_error(reference, cat("'", text, "' is not part of this document, and nothing is fetched"));
    }
    base = found->second;
  }
  const std::string fragment = hash + 1 < text.size() ? percent_decoded(text.substr(hash + 1), reference) : "";
  const Json* target = nullptr;
  if (fragment.empty() || fragment[0] == '/') {
    target = find_pointer(*base, fragment);
    // Identifiers of parts are often no more than names: what is not found in the part is looked for in the document.
    if (!target && hash == 0) target = find_pointer(root_, fragment);
  } else if (const auto found = by_uri_.find(cat(uri, "#", fragment)); found != by_uri_.end()) {
    target = found->second;
  }
  if (!target) throw schema_error(reference, cat("'", text, "' does not exist"));
  return *target;
}

const Json& SchemaReferences::resolve_dynamic(const Json& reference, const Json& owner) {
  const Json& target = resolve(reference, owner);
  const auto is_dynamic = [&](std::string_view keyword) {
    return target.is_object() && target.find(keyword) != nullptr;
  };
  const std::vector<const Json*>* candidates = nullptr;
  const std::string_view text = reference.as_text();
  const size_t hash = text.find('#');
  if (is_dynamic("$recursiveAnchor") && text == "#") {
    candidates = &recursive_anchors_;
  } else if (is_dynamic("$dynamicAnchor") && hash != std::string_view::npos && target.at("$dynamicAnchor").is_text() &&
             text.substr(hash + 1) == target.at("$dynamicAnchor").as_text()) {
    candidates = &dynamic_anchors_[target.at("$dynamicAnchor").as_text()];
  }
  if (!candidates || candidates->empty()) return target;
  // The document itself is entered first, so its anchor is what counts.
  for (const Json* candidate : *candidates) {
    if (resource_of(*candidate) == 0) return *candidate;
  }
  if (candidates->size() > 1) {
    throw schema_error(reference, cat("'", text, "' leads to different schemas, by where it is used from"));
  }
  return target;
}

}  // namespace wick::grammar
