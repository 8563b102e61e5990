#include "server/api/json_text.h"

#include "server/api/api.h"

namespace wick {
namespace {

// A million tokens and some more. Each value takes some hundred bytes once it is read.
constexpr size_t kMostValues = 1'500'000;

// How many values a JSON text has at most: one before each comma outside of texts, and one per list or object.
size_t most_values(std::string_view text) {
  size_t count = 1;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else {
      in_text = c == '"';
      count += c == ',' || c == '[' || c == '{';
    }
  }
  return count;
}

}  // namespace

Json json_text(std::string_view text, std::string_view what) {
  if (text.empty()) throw RequestError({}, cat(what, " is empty, expected JSON"));
  if (text.size() > kMostValues && most_values(text) > kMostValues) {
    throw RequestError({}, cat(what, " has more than ", kMostValues, " values"), "invalid_json", 413);
  }
  try {
    return Json::parse(text, what);
  } catch (const Error& error) {
    throw RequestError({}, error.what(), "invalid_json");
  }
}

Json json_body(const HttpRequest& request) { return json_text(request.body, "the body"); }

}  // namespace wick
