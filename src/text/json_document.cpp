#include "text/json_document.h"

#include "base/error.h"

namespace wick {

JsonDocument::JsonDocument(std::string_view text, std::string source) : source_(std::move(source)) {
  const simdjson::padded_string padded(text);
  const auto error = parser_.parse(padded).get(root_);
  if (error) throw Error(ErrorCode::kBadFile, cat(source_, ": not valid JSON: ", simdjson::error_message(error)));
  if (!root_.is_object()) throw Error(ErrorCode::kBadFile, cat(source_, ": is not a JSON object"));
}

Json JsonDocument::part(simdjson::dom::element element, const std::string& place) {
  return Json::parse(simdjson::minify(element), place);
}

Json JsonDocument::part(std::string_view name) const {
  simdjson::dom::element member;
  if (root_[name].get(member)) return {};
  return part(member, cat(source_, ": '", name, "'"));
}

}  // namespace wick
