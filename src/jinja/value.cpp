#include "jinja/value.h"

#include <algorithm>

#include "base/utf8.h"
#include "jinja/builtins/characters.h"
#include "jinja/compare.h"

namespace wick::jinja {
namespace {

constexpr int kMaxValueDepth = 300;
constexpr size_t kScannedEntries = 8;  // a dict this small is searched without an index
constexpr int64_t kEntryBytes = 128;   // of a dict, with its index

int depth_of(std::span<const Value> values) {
  int depth = 0;
  for (const Value& value : values) depth = std::max(depth, value.depth());
  return checked_depth(depth + 1);
}

struct SharedDict {
  explicit SharedDict(Dict value) : dict(std::move(value)), charge(static_cast<int64_t>(dict.size()) * kEntryBytes) {
    for (const auto& [key, item] : dict.entries()) depth = std::max({depth, key.depth(), item.depth()});
    depth = checked_depth(depth + 1);
  }
  Dict dict;  // first: Value points here
  int depth = 0;
  Charge charge;
};

}  // namespace

TextBuffer::TextBuffer(size_t bytes)
    : charge(static_cast<int64_t>(bytes)), room(bytes), data(std::make_unique_for_overwrite<char[]>(bytes)) {}

Text::Text(std::string text, bool is_markup)
    : own(std::move(text)),
      bytes(own),
      length(count_characters(bytes)),
      markup(is_markup),
      charge(static_cast<int64_t>(bytes.size() + sizeof(Text))) {}

Text::Text(std::shared_ptr<TextBuffer> shared, int64_t characters)
    : buffer(std::move(shared)),
      bytes(buffer->data.get(), buffer->used),
      length(characters),
      markup(false),
      charge(sizeof(Text)) {}

ItemBuffer::ItemBuffer(size_t count, int most_depth)
    : charge(static_cast<int64_t>(count * sizeof(Value))), depth(most_depth) {
  values.reserve(count);
}

Items::Items(std::vector<Value> items)
    : own(std::move(items)),
      values(own),
      depth(depth_of(values)),
      charge(static_cast<int64_t>(values.size() * sizeof(Value) + sizeof(Items))) {}

Items::Items(std::shared_ptr<ItemBuffer> shared)
    : buffer(std::move(shared)), values(buffer->values), depth(buffer->depth), charge(sizeof(Items)) {}

Value::Value(std::string text, bool markup)
    : kind_(Kind::kText), shared_(std::make_shared<const Text>(std::move(text), markup)) {}

Value::Value(Dict dict) : kind_(Kind::kDict) {
  const auto shared = std::make_shared<const SharedDict>(std::move(dict));
  shared_ = std::shared_ptr<const void>(shared, &shared->dict);
  scalar_.integer = shared->depth;
}

Value::Value(std::shared_ptr<const Items> list) : kind_(Kind::kList), shared_(std::move(list)) {}

Value::Value(std::shared_ptr<Object> object) : kind_(Kind::kObject), shared_(std::move(object)) {}

Value::Value(const Json& json) {
  if (json.is_bool()) {
    *this = Value(json.as_bool());
  } else if (json.is_number()) {
    const double number = json.as_number();
    const bool fits = json.is_int() && number < 9223372036854775808.0;
    *this = fits ? Value(json.as_int()) : Value(number);
  } else if (json.is_text()) {
    *this = Value(json.as_text());
  } else if (json.is_array()) {
    std::vector<Value> items;
    items.reserve(json.as_array().size());
    for (const Json& item : json.as_array()) items.emplace_back(item);
    *this = list(std::move(items));
  } else if (json.is_object()) {
    Dict dict;
    for (const auto& [name, item] : json.as_object()) dict.set(name, Value(item));
    *this = Value(std::move(dict));
  }
}

Value Value::list(std::vector<Value> items) { return {make_items(std::move(items))}; }

Value Value::tuple(std::vector<Value> items) { return tuple(make_items(std::move(items))); }

Value Value::tuple(std::shared_ptr<const Items> items) {
  Value value(std::move(items));
  value.kind_ = Kind::kTuple;
  return value;
}

Value Value::undefined(std::string message) {
  Value value;
  value.kind_ = Kind::kUndefined;
  value.shared_ = std::make_shared<const Undefined>(std::move(message));
  return value;
}

Value Value::undefined_name(std::string_view name) { return undefined(cat(in_quotes(name), " is undefined")); }

bool Value::truthy() const {
  switch (kind_) {
    case Kind::kNone:
    case Kind::kUndefined: return false;
    case Kind::kBool: return scalar_.boolean;
    case Kind::kInt: return scalar_.integer != 0;
    case Kind::kFloat: return scalar_.number != 0;
    case Kind::kText: return !bytes().empty();
    case Kind::kList:
    case Kind::kTuple: return !items().empty();
    case Kind::kDict: return as_dict().size() != 0;
    case Kind::kObject: return as_object().length().value_or(1) != 0;
  }
  return false;
}

int Value::depth() const {
  switch (kind_) {
    case Kind::kList:
    case Kind::kTuple: return static_cast<const Items*>(shared_.get())->depth;
    case Kind::kDict: return static_cast<int>(scalar_.integer);
    case Kind::kObject: return as_object().depth();
    default: return 0;
  }
}

std::string_view Value::type_name() const {
  constexpr std::string_view kNames[] = {"NoneType", "bool",  "int",  "float",    "str",
                                         "list",     "tuple", "dict", "Undefined"};
  if (is_object()) return as_object().type_name();
  return is_markup() ? "Markup" : kNames[static_cast<size_t>(kind_)];
}

bool Value::same_as(const Value& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::kNone: return true;
    case Kind::kBool: return scalar_.boolean == other.scalar_.boolean;
    case Kind::kInt: return scalar_.integer == other.scalar_.integer;  // as for CPython's small numbers
    case Kind::kFloat: return scalar_.number == other.scalar_.number;
    case Kind::kText: return shared_ == other.shared_ || equal(*this, other);  // as for interned names
    default: return shared_ == other.shared_;
  }
}

std::optional<size_t> Dict::position(size_t hash, const Value& key) const {
  if (entries_.size() <= kScannedEntries) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (equal(entries_[i].first, key)) return i;
    }
    return std::nullopt;
  }
  const auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (equal(entries_[it->second].first, key)) return it->second;
  }
  return std::nullopt;
}

const Value* Dict::find(const Value& key) const {
  const auto at = position(hash_of(key), key);
  return at ? &entries_[*at].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (entries_.size() > kScannedEntries) {
    const auto [begin, end] = index_.equal_range(hash_of(key));
    for (auto it = begin; it != end; ++it) {
      const auto& [name, value] = entries_[it->second];
      if (name.is_text() && name.bytes() == key) return &value;
    }
    return nullptr;
  }
  for (const auto& [name, value] : entries_) {
    if (name.is_text() && name.bytes() == key) return &value;
  }
  return nullptr;
}

void Dict::set(const Value& key, Value value) {
  const size_t hash = hash_of(key);
  if (const auto at = position(hash, key)) {
    entries_[*at].second = std::move(value);
    return;
  }
  entries_.emplace_back(key, std::move(value));
  if (entries_.size() == kScannedEntries + 1) {
    for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(hash_of(entries_[i].first), i);
  } else if (entries_.size() > kScannedEntries) {
    index_.emplace(hash, entries_.size() - 1);
  }
}

Object::Object(int inner) : depth_(checked_depth(inner + 1)) {}

std::string Object::repr() const { return cat("<", type_name(), " object>"); }

Value Object::call(Interpreter&, const Arguments&) { throw problem("'", type_name(), "' object is not callable"); }

int checked_depth(int depth) {
  if (depth > kMaxValueDepth) throw problem("values are nested deeper than ", kMaxValueDepth, " levels");
  return depth;
}

std::shared_ptr<const Items> make_items(std::vector<Value> values) {
  return std::make_shared<const Items>(std::move(values));
}

std::shared_ptr<const Items> iterate(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kList:
    case Value::Kind::kTuple: return value.shared_items();
    case Value::Kind::kUndefined: return make_items({});
    case Value::Kind::kDict: {
      std::vector<Value> keys;
      keys.reserve(value.as_dict().size());
      for (const auto& [key, item] : value.as_dict().entries()) keys.push_back(key);
      return make_items(std::move(keys));
    }
    case Value::Kind::kText: {
      const int64_t per_character = sizeof(Value) + sizeof(Text) + 32;
      require_memory(value.as_text().length * per_character);
      std::vector<Value> characters;
      characters.reserve(static_cast<size_t>(value.as_text().length));
      for (const std::string_view character : Characters(value.bytes())) characters.emplace_back(character);
      return make_items(std::move(characters));
    }
    case Value::Kind::kObject:
      if (auto items = value.as_object().iterate()) return items;
      break;
    default: break;
  }
  throw problem("'", value.type_name(), "' object is not iterable");
}

bool is_iterable(const Value& value) {
  if (value.is_object()) return value.as_object().iterable();
  return !value.is_none() && !value.is_number();
}

std::optional<int64_t> length_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kText: return value.as_text().length;
    case Value::Kind::kList:
    case Value::Kind::kTuple: return static_cast<int64_t>(value.items().size());
    case Value::Kind::kDict: return static_cast<int64_t>(value.as_dict().size());
    case Value::Kind::kUndefined: return 0;
    case Value::Kind::kObject: return value.as_object().length();
    default: return std::nullopt;
  }
}

void use_of_undefined(const Value& value) { throw problem(value.as_undefined().message); }

}  // namespace wick::jinja
