#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"

namespace wick::grammar {

Error schema_error(const Json& at, std::string_view problem);

// Finds what $ref, $dynamicRef and $recursiveRef of a document point at: by JSON pointer, $anchor, or the $id (`id` in
// draft 4) of a schema in the same document. Nothing is fetched.
class SchemaReferences {
 public:
  explicit SchemaReferences(const Json& root);

  // The draft that the document's $schema names: 3, 4, 6, 7; 2019 for all later ones and when none is named.
  int draft() const { return draft_; }
  // Throws Error(kInvalidArgument) when nothing is found. `owner` is the schema that holds the reference.
  const Json& resolve(const Json& reference, const Json& owner);
  // The same for $dynamicRef and $recursiveRef, when it is certain where they lead.
  const Json& resolve_dynamic(const Json& reference, const Json& owner);
  // Which part of the document, with an identifier of its own, the schema belongs to.
  size_t resource_of(const Json& schema);

 private:
  struct Resource {
    std::string uri;
    const Json* root = nullptr;
  };
  void visit(const Json& schema, size_t resource);

  const Json& root_;
  int draft_ = 2019;
  bool is_indexed_ = false;
  std::vector<Resource> resources_;  // the first is the document
  std::unordered_map<const Json*, size_t> resource_of_;
  std::unordered_map<std::string, const Json*> by_uri_;                        // of resources, and of anchors: uri#name
  std::unordered_map<std::string, std::vector<const Json*>> dynamic_anchors_;  // by name
  std::vector<const Json*> recursive_anchors_;
};

}  // namespace wick::grammar
