#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "base/json.h"

namespace wick {

// A large JSON document, read without copying it into values as `Json` does: lists of 150,000 entries stay where they
// are. Small parts can be had as `Json`.
class JsonDocument {
 public:
  // Throws Error(kBadFile) naming the source.
  JsonDocument(std::string_view text, std::string source);

  const std::string& source() const { return source_; }
  simdjson::dom::element root() const { return root_; }

  // The member as a value with the usual checks; null when missing.
  Json part(std::string_view name) const;
  static Json part(simdjson::dom::element element, const std::string& place);

 private:
  std::string source_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

}  // namespace wick
