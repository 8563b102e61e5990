#include <simdjson.h>

#include <algorithm>
#include <unordered_set>

#include "base/json.h"
#include "base/json_place.h"

namespace wick {
namespace {

constexpr size_t kMaxDepth = 256;

}  // namespace

// Copies simdjson's view of the document into Json values.
class JsonBuilder {
 public:
  explicit JsonBuilder(std::string_view source) : source_(source) {}

  Json build(simdjson::dom::element element, const std::string& path) {
    using simdjson::dom::element_type;
    Json json;
    json.place_ = path.empty() ? source_ : cat(source_, ": '", path, "'");
    switch (element.type()) {
      case element_type::NULL_VALUE: break;
      case element_type::BOOL: json.value_ = element.get_bool().value_unsafe(); break;
      case element_type::INT64: json.value_ = element.get_int64().value_unsafe(); break;
      case element_type::UINT64: json.value_ = element.get_uint64().value_unsafe(); break;
      case element_type::DOUBLE: json.value_ = element.get_double().value_unsafe(); break;
      case element_type::STRING: json.value_ = std::string(element.get_string().value_unsafe()); break;
      case element_type::ARRAY: {
        Json::Array items;
        const simdjson::dom::array array = element.get_array().value_unsafe();
        for (const auto item : array) {
          items.push_back(build(item, extend_place(path, cat("[", items.size(), "]"))));
        }
        json.value_ = std::move(items);
        break;
      }
      case element_type::OBJECT: {
        Json::Object members;
        std::unordered_set<std::string_view> names;
        const simdjson::dom::object object = element.get_object().value_unsafe();
        for (const auto& [name, value] : object) {
          if (!names.insert(name).second) {
            throw Error(ErrorCode::kBadFile, cat(json.place_, ": the name '", name, "' is given twice"));
          }
          members.emplace_back(std::string(name), build(value, extend_place(path, path.empty() ? "" : ".", name)));
        }
        json.value_ = std::move(members);
        break;
      }
    }
    return json;
  }

 private:
  std::string source_;
};

Json Json::parse(std::string_view text, std::string_view source) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  auto problem = parser.allocate(std::max<size_t>(text.size(), 64), kMaxDepth);
  if (!problem) problem = parser.parse(text.data(), text.size()).get(root);
  if (problem == simdjson::MEMALLOC) {
    throw Error(ErrorCode::kOutOfMemory, cat(source, ": there is no memory to read it"));
  }
  if (problem) throw Error(ErrorCode::kBadFile, cat(source, ": not valid JSON: ", simdjson::error_message(problem)));
  return JsonBuilder(source).build(root, "");
}

}  // namespace wick
