// Filters for lists and dicts.
#include <algorithm>
#include <unordered_map>

#include "jinja/arithmetic.h"
#include "jinja/attribute_path.h"
#include "jinja/builtins/filters.h"
#include "jinja/builtins/python_format.h"
#include "jinja/compare.h"
#include "jinja/interpreter.h"
#include "jinja/objects.h"

namespace wick::jinja {
namespace {

std::vector<Value> copied(const Items& items) { return {items.values.begin(), items.values.end()}; }

Value list(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("list", arguments);
  return Value::list(copied(*iterate(value)));
}

Value first(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("first", arguments);
  if (auto* items = value.object_as<Generator>()) {
    if (auto next = items->next()) return *next;
    return Value::undefined("No first item, sequence was empty.");
  }
  const auto items = iterate(value);
  return items->values.empty() ? Value::undefined("No first item, sequence was empty.") : items->values.front();
}

Value last(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("last", arguments);
  if (value.object_as<Generator>()) throw problem("'generator' object is not reversible");
  const auto items = iterate(value);
  return items->values.empty() ? Value::undefined("No last item, sequence was empty.") : items->values.back();
}

Value random(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  expect_no_arguments("random", arguments);
  const auto items = iterate(value);
  if (items->values.empty()) return Value::undefined("No random item, sequence was empty.");
  return items->values[interpreter.next_random() % items->values.size()];
}

Value join(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  const Value separator = to_text_value(bound.get(0, ""));
  const AttributePath path(bound.get(1));
  const auto items = iterate(value);
  spend_work(static_cast<int64_t>(items->values.size()));
  std::string out;
  for (size_t i = 0; i < items->values.size(); ++i) {
    if (i) out += separator.bytes();
    append_text(out, path.follow(interpreter, items->values[i]));
    require_memory(static_cast<int64_t>(out.size()));
  }
  return out;
}

Value reverse(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("reverse", arguments);
  if (value.is_text()) return slice_of(value, {}, {}, -1);
  std::vector<Value> items = copied(*iterate(value));
  std::reverse(items.begin(), items.end());
  if (value.object_as<Generator>()) return Value::list(std::move(items));
  return Value(std::make_shared<Generator>(std::move(items), "list_reverseiterator"));
}

// Sorts items by keys made once for each.
std::vector<Value> sorted_by(std::span<const Value> items, const std::vector<Value>& keys, bool descending) {
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return descending ? less(keys[b], keys[a]) : less(keys[a], keys[b]); });
  std::vector<Value> result;
  result.reserve(items.size());
  for (const size_t i : order) result.push_back(items[i]);
  return result;
}

Value sort(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const bool case_sensitive = bound.flag(1);
  std::vector<AttributePath> paths;
  if (const Value attribute = bound.get(2); attribute.is_text()) {
    std::string_view rest = attribute.bytes();
    for (size_t comma = 0; comma != rest.npos; rest.remove_prefix(std::min(comma + 1, rest.size()))) {
      comma = rest.find(',');
      paths.emplace_back(rest.substr(0, comma));
      if (comma == rest.npos) break;
    }
  } else {
    paths.emplace_back(attribute);
  }
  const auto items = iterate(value);
  std::vector<Value> keys;
  for (const Value& item : items->values) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) {
      const Value part = path.follow(interpreter, item);
      key.push_back(case_sensitive ? part : ignoring_case(part));
    }
    keys.push_back(Value::list(std::move(key)));
  }
  return Value::list(sorted_by(items->values, keys, bound.flag(0)));
}

Value dictsort(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string_view by = bound.text(1, "key");
  if (by != "key" && by != "value") throw problem("You can only sort by either \"key\" or \"value\"");
  if (value.is_undefined()) use_of_undefined(value);
  if (!value.is_dict()) throw problem("'", value.type_name(), " object' has no attribute 'items'");
  std::vector<Value> pairs, keys;
  for (const auto& [key, item] : value.as_dict().entries()) {
    pairs.push_back(Value::tuple({key, item}));
    const Value& chosen = by == "key" ? key : item;
    keys.push_back(bound.flag(0) ? chosen : ignoring_case(chosen));
  }
  return Value::list(sorted_by(pairs, keys, bound.flag(2)));
}

Value items_of(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("items", arguments);
  if (!value.is_dict() && !value.is_undefined()) throw problem("Can only get item pairs from a mapping.");
  std::vector<Value> pairs;
  if (value.is_dict()) {
    for (const auto& [key, item] : value.as_dict().entries()) pairs.push_back(Value::tuple({key, item}));
  }
  return generator(std::move(pairs));
}

Value unique(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(bound.get(1));
  Dict seen;
  std::vector<Value> result;
  for (const Value& item : each(value)) {
    const Value key = path.follow(interpreter, item);
    const Value compared = bound.flag(0) ? key : ignoring_case(key);
    if (seen.find(compared)) continue;
    seen.set(compared, true);
    result.push_back(item);
  }
  return generator(std::move(result));
}

template <bool kMax>
Value extreme(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound(kMax ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(bound.get(1));
  const auto items = iterate(value);
  if (items->values.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const Value* best = nullptr;
  Value best_key;
  for (const Value& item : items->values) {
    Value key = path.follow(interpreter, item);
    if (!bound.flag(0)) key = ignoring_case(key);
    if (!best || (kMax ? less(best_key, key) : less(key, best_key))) {
      best = &item;
      best_key = std::move(key);
    }
  }
  return *best;
}

Value sum(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  const AttributePath path(bound.get(0));
  Value total = bound.get(1, 0);
  if (total.is_text()) throw problem("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : each(value)) {
    spend_work();
    total = add(total, path.follow(interpreter, item));
  }
  return total;
}

Value batch(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t size = to_index(*bound[0]);
  std::vector<Value> batches, current;
  for (const Value& item : each(value)) {
    spend_work();
    if (static_cast<int64_t>(current.size()) == size) batches.push_back(Value::list(std::exchange(current, {})));
    current.push_back(item);
  }
  if (!current.empty()) {
    const int64_t missing = size - static_cast<int64_t>(current.size());
    if (bound.has(1) && missing > 0) {
      if (missing > int64_t{1} << 40) throw problem("a batch of ", size, " items is too long");
      require_memory(missing * static_cast<int64_t>(sizeof(Value)));
      current.insert(current.end(), static_cast<size_t>(missing), *bound[1]);
    }
    batches.push_back(Value::list(std::move(current)));
  }
  return generator(std::move(batches));
}

Value slice(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("slice", arguments, {"slices", "fill_with"}, 1);
  const int64_t slices = to_index(*bound[0]);
  if (slices == 0) throw problem("division by zero");
  const auto items = iterate(value);
  const auto length = static_cast<int64_t>(items->values.size());
  if (slices > int64_t{1} << 30) throw problem("too many slices: ", slices);
  require_memory(slices * 128);
  std::vector<Value> result;
  const int64_t each = slices > 0 ? length / slices : 0, longer = slices > 0 ? length % slices : 0;
  int64_t offset = 0;
  for (int64_t i = 0; i < slices; ++i) {
    const int64_t start = offset + i * each;
    if (i < longer) ++offset;
    const int64_t end = offset + (i + 1) * each;
    std::vector<Value> part(items->values.begin() + start, items->values.begin() + end);
    if (bound.has(1) && i >= longer) part.push_back(*bound[1]);
    result.push_back(Value::list(std::move(part)));
  }
  return generator(std::move(result));
}

Value groupby(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(*bound[0]);
  const Value fallback = bound.get(1);
  const auto key_of = [&](const Value& item) {
    const Value key = path.follow(interpreter, item, fallback);
    return bound.flag(2) ? key : ignoring_case(key);
  };
  const auto items = iterate(value);
  std::vector<Value> keys;
  for (const Value& item : items->values) keys.push_back(key_of(item));
  const std::vector<Value> sorted = sorted_by(items->values, keys, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < sorted.size();) {
    const Value key = key_of(sorted[begin]);
    size_t end = begin + 1;
    while (end < sorted.size() && equal(key_of(sorted[end]), key)) ++end;
    const Value shown = path.follow(interpreter, sorted[begin], fallback);
    const auto from = sorted.begin() + static_cast<std::ptrdiff_t>(begin);
    auto pair = std::make_shared<Items>(std::vector<Value>{
        shown, Value::list(std::vector<Value>(from, from + static_cast<std::ptrdiff_t>(end - begin)))});
    pair->is_group = true;
    groups.push_back(Value::tuple(std::move(pair)));
    begin = end;
  }
  return Value::list(std::move(groups));
}

constexpr NamedFilter kListFilters[] = {
    {"list", list},      {"first", first},     {"last", last},          {"random", random},
    {"join", join},      {"reverse", reverse}, {"sort", sort},          {"dictsort", dictsort},
    {"items", items_of}, {"unique", unique},   {"min", extreme<false>}, {"max", extreme<true>},
    {"sum", sum},        {"batch", batch},     {"slice", slice},        {"groupby", groupby},
};

}  // namespace

std::span<const NamedFilter> list_filters() { return kListFilters; }

}  // namespace wick::jinja
