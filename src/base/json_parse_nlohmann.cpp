#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/json.h"
#include "base/json_place.h"

namespace wick {
namespace {

constexpr size_t kMaxDepth = 256;

}  // namespace

// Builds Json values from nlohmann-json's events.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(std::string_view source) : source_(source) {}

  Json take_root() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return add(value);
    return add(static_cast<int64_t>(value));
  }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }

  bool start_object(size_t) override { return open(false); }
  bool start_array(size_t) override { return open(true); }
  bool key(std::string& name) override {
    Open& top = open_.back();
    if (!top.names.insert(name).second) {
      throw Error(ErrorCode::kBadFile, cat(place(top.path), ": the name '", name, "' is given twice"));
    }
    top.key = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& problem) override {
    throw Error(ErrorCode::kBadFile, cat(source_, ": not valid JSON: ", problem.what()));
  }

 private:
  struct Open {  // a list or object whose end has not been read
    std::string path;
    bool is_array = false;
    Json::Array items;
    Json::Object members;
    std::unordered_set<std::string> names;
    std::string key;
  };

  std::string place(const std::string& path) const { return path.empty() ? source_ : cat(source_, ": '", path, "'"); }

  std::string next_path() const {
    if (open_.empty()) return "";
    const Open& top = open_.back();
    if (top.is_array) return extend_place(top.path, cat("[", top.items.size(), "]"));
    return extend_place(top.path, top.path.empty() ? "" : ".", top.key);
  }

  template <typename T>
  bool add(T value) {
    Json json;
    json.place_ = place(next_path());
    json.value_ = std::move(value);
    if (open_.empty()) {
      root_ = std::move(json);
    } else if (open_.back().is_array) {
      open_.back().items.push_back(std::move(json));
    } else {
      open_.back().members.emplace_back(open_.back().key, std::move(json));
    }
    return true;
  }

  bool open(bool is_array) {
    if (open_.size() == kMaxDepth) {
      throw Error(ErrorCode::kBadFile, cat(source_, ": not valid JSON: nested more than ", kMaxDepth, " levels deep"));
    }
    Open next;
    next.path = next_path();
    next.is_array = is_array;
    open_.push_back(std::move(next));
    return true;
  }

  bool close() {
    Open top = std::move(open_.back());
    open_.pop_back();
    return top.is_array ? add(std::move(top.items)) : add(std::move(top.members));
  }

  std::string source_;
  std::vector<Open> open_;
  Json root_;
};

Json Json::parse(std::string_view text, std::string_view source) {
  JsonBuilder builder(source);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take_root();
}

}  // namespace wick
