#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "chat/response/builder.h"

namespace wick::response {

// Arguments that a model writes one by one, put together as a JSON object. A value that is declared as text (by the
// model, else by the tools) becomes JSON text. Another stays as it is when it is JSON, unless it is JSON text and
// nothing is declared: templates write texts bare and everything else as JSON, so those quotes belong to the text. What
// is no JSON becomes JSON text. Bytes that are not UTF-8 become U+FFFD.
class ArgumentList {
 public:
  // `tools` is the list given to the template, or null.
  explicit ArgumentList(const Json* tools) : tools_(tools) {}

  void begin(std::string_view function, Builder& builder);
  // `is_text`: what the model says; empty when it does not.
  void begin_value(std::string_view name, std::optional<bool> is_text, Builder& builder);
  // The next part of the value. A declared text is passed on at once, anything else when it is complete.
  void add_to_value(std::string_view part, Builder& builder);
  void end_value(Builder& builder);
  void end(Builder& builder);
  // The text ends: closes what is open, unless that is a text of which a part is already out.
  void cut_off(Builder& builder);

 private:
  std::string entry();  // what comes before a value
  void pass_text_on(bool final, Builder& builder);

  const Json* tools_;
  std::string function_, name_, value_;
  std::optional<bool> is_text_;
  bool first_ = true, in_text_ = false;
};

}  // namespace wick::response
