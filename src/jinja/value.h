#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "jinja/budget.h"

namespace wick::jinja {

class Dict;
class Interpreter;
class Object;
class Value;

// Bytes that texts of one render share; each sees the first so many. The one that sees all of them can be extended in
// place (text_join.h).
struct TextBuffer {
  explicit TextBuffer(size_t bytes);

  Charge charge;  // first: it refuses before the memory is taken
  size_t room, used = 0;
  std::unique_ptr<char[]> data;
};

// A string: UTF-8 bytes; positions and lengths are counted in code points, as in Python.
struct Text {
  Text(std::string text, bool is_markup);
  Text(std::shared_ptr<TextBuffer> shared, int64_t characters);  // all that is used of the buffer
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  std::string own;                     // empty when the bytes are shared
  std::shared_ptr<TextBuffer> buffer;  // null when they are not
  std::string_view bytes;
  int64_t length;  // code points
  bool markup;     // made by |safe or |escape: joined with other text, the other text is escaped
  Charge charge;

  bool one_byte_each() const { return length == static_cast<int64_t>(bytes.size()); }
};

// Elements that lists of one render share, as TextBuffer does for texts. What it holds is never deeper than its depth,
// so no list can come to hold itself.
struct ItemBuffer {
  ItemBuffer(size_t count, int most_depth);

  Charge charge;
  int depth;
  std::vector<Value> values;  // with room for `count`: they never move
};

// The elements of a list or tuple.
struct Items {
  explicit Items(std::vector<Value> items);
  explicit Items(std::shared_ptr<ItemBuffer> shared);  // all that are in the buffer
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;

  std::vector<Value> own;
  std::shared_ptr<ItemBuffer> buffer;  // null when they are not shared
  std::span<const Value> values;
  bool is_group = false;  // of |groupby: element 0 is also .grouper, element 1 .list
  int depth;
  Charge charge;
};

struct Undefined {
  explicit Undefined(std::string sentence) : message(std::move(sentence)) {}

  std::string message;  // the sentence that using it gives
  Charge charge{128};
};

// What a template computes with: Python's None, bool, int (64 bits), float, str, list, tuple and dict, Jinja's
// undefined, and objects (namespaces, macros, loops, ranges, ...). A value: copying shares. Texts and containers never
// change once made; only namespaces do.
class Value {
 public:
  enum class Kind : uint8_t { kNone, kBool, kInt, kFloat, kText, kList, kTuple, kDict, kUndefined, kObject };

  Value() = default;  // None
  Value(std::nullptr_t) {}
  template <std::same_as<bool> T>
  Value(T value) : kind_(Kind::kBool) {
    scalar_.boolean = value;
  }
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T value) : kind_(Kind::kInt) { scalar_.integer = static_cast<int64_t>(value); }
  Value(double value) : kind_(Kind::kFloat) { scalar_.number = value; }
  Value(std::string text, bool markup = false);
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(std::shared_ptr<const Text> text) : kind_(Kind::kText), shared_(std::move(text)) {}
  Value(Dict dict);
  Value(std::shared_ptr<const Items> list);
  Value(std::shared_ptr<Object> object);
  Value(const Json& json);  // whole numbers past 64 bits become floats

  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value tuple(std::shared_ptr<const Items> items);
  static Value undefined(std::string message);
  static Value undefined_name(std::string_view name);  // "'name' is undefined"

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_int() const { return kind_ == Kind::kInt; }
  bool is_float() const { return kind_ == Kind::kFloat; }
  bool is_number() const { return kind_ == Kind::kInt || kind_ == Kind::kFloat || kind_ == Kind::kBool; }
  bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_text() const { return kind_ == Kind::kText; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_tuple() const { return kind_ == Kind::kTuple; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_markup() const { return is_text() && as_text().markup; }

  // The caller has checked the kind.
  bool as_bool() const { return scalar_.boolean; }
  int64_t as_int() const { return is_bool() ? int64_t{scalar_.boolean} : scalar_.integer; }
  double as_number() const { return is_float() ? scalar_.number : static_cast<double>(as_int()); }
  const Text& as_text() const { return *static_cast<const Text*>(shared_.get()); }
  std::string_view bytes() const { return as_text().bytes; }
  std::span<const Value> items() const { return static_cast<const Items*>(shared_.get())->values; }
  std::shared_ptr<const Items> shared_items() const { return std::static_pointer_cast<const Items>(shared_); }
  const Dict& as_dict() const { return *static_cast<const Dict*>(shared_.get()); }
  const Undefined& as_undefined() const { return *static_cast<const Undefined*>(shared_.get()); }
  Object& as_object() const { return *static_cast<Object*>(const_cast<void*>(shared_.get())); }
  template <typename T>
  T* object_as() const {  // null when it is no T
    return is_object() ? dynamic_cast<T*>(&as_object()) : nullptr;
  }

  bool truthy() const;
  int depth() const;  // of nested containers; 0 for scalars
  // Python's name of the type: "str", "dict", "NoneType".
  std::string_view type_name() const;
  bool same_as(const Value& other) const;  // Python's `is`

 private:
  Kind kind_ = Kind::kNone;
  union {
    bool boolean;
    int64_t integer;
    double number;
  } scalar_ = {.integer = 0};
  std::shared_ptr<const void> shared_;
};

// Entries in the order they were first set; keys as in Python (1, 1.0 and true are one key).
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  // Throws for a key that cannot be one (a list, a dict).
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(const Value& key, Value value);

 private:
  std::optional<size_t> position(size_t hash, const Value& key) const;

  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, size_t> index_;  // filled once there are more than a few
};

// Everything that is not plain data.
class Object : public std::enable_shared_from_this<Object> {
 public:
  // `inner`: the depth of what it holds for good.
  explicit Object(int inner = 0);
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  virtual std::string_view type_name() const = 0;
  virtual std::string repr() const;
  virtual std::optional<Value> attribute(std::string_view) { return std::nullopt; }
  virtual std::optional<Value> item(const Value&) { return std::nullopt; }
  virtual bool has_items() const { return false; }  // can be indexed
  virtual bool callable() const { return false; }
  virtual Value call(Interpreter& interpreter, const struct Arguments& arguments);
  // Null when it cannot be iterated. A generator is used up by this.
  virtual std::shared_ptr<const Items> iterate() { return nullptr; }
  virtual bool iterable() const { return false; }
  virtual std::optional<int64_t> length() const { return std::nullopt; }
  virtual bool equals(const Object& other) const { return this == &other; }
  int depth() const { return depth_; }
  // Lets go of what it holds: called at the end of a render, because namespaces and closures may hold each other.
  virtual void forget() {}

 private:
  int depth_;
  Charge charge_{128};
};

// Throws past 300 levels: values are walked and freed by recursion.
int checked_depth(int depth);

// The elements that a `for` would see; throws "'int' object is not iterable".
std::shared_ptr<const Items> iterate(const Value& value);
// The same for a range-based for, which keeps this alive (but would not keep what iterate() returns).
class Iteration {
 public:
  explicit Iteration(std::shared_ptr<const Items> items) : items_(std::move(items)) {}
  auto begin() const { return items_->values.begin(); }
  auto end() const { return items_->values.end(); }

 private:
  std::shared_ptr<const Items> items_;
};
inline Iteration each(const Value& value) { return Iteration(iterate(value)); }
bool is_iterable(const Value& value);
std::optional<int64_t> length_of(const Value& value);
std::shared_ptr<const Items> make_items(std::vector<Value> values);
// Throws the undefined's sentence.
[[noreturn]] void use_of_undefined(const Value& value);

}  // namespace wick::jinja
