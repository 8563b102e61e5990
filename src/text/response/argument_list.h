#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "text/response/builder.h"

namespace wick::response {

// Arguments that a model writes one by one, put together as a JSON object. A value that is declared as text (by the
// model, else by the tools) becomes JSON text. Another stays as it is when it is JSON, unless it is JSON text and
// nothing is declared: templates write texts bare and everything else as JSON, so those quotes belong to the text. What
// is no JSON becomes JSON text.
class ArgumentList {
 public:
  // `tools` is the list given to the template, or null.
  explicit ArgumentList(const Json* tools) : tools_(tools) {}

  void begin(std::string_view function, Builder& builder);
  void add(std::string_view name, const std::string& value, std::optional<bool> is_text, Builder& builder);
  void end(Builder& builder);

 private:
  const Json* tools_;
  std::string function_;
  bool first_ = true;
};

}  // namespace wick::response
