// Python's slices of texts, lists, tuples and ranges.
#include <algorithm>

#include "jinja/builtins/characters.h"
#include "jinja/objects.h"

namespace wick::jinja {
namespace {

int64_t clamp_index(int64_t index, int64_t length, int64_t low, int64_t high) {
  if (index < 0) index = std::max(index, -length - 1) + length;
  return std::clamp(index, low, high);
}

std::string slice_text(const Text& text, const Slice& slice) {
  std::string out;
  if (slice.step == 1) {
    const size_t begin = text.one_byte_each() ? static_cast<size_t>(slice.first) : byte_offset(text.bytes, slice.first);
    const std::string_view rest = text.bytes.substr(begin);
    const size_t size = text.one_byte_each() ? static_cast<size_t>(slice.count) : byte_offset(rest, slice.count);
    if (!text.one_byte_each()) spend_work_on_characters(begin + size);
    return std::string(rest.substr(0, size));
  }
  spend_work_on_characters(text.bytes.size() * 2);
  std::vector<std::string_view> characters;
  require_memory(text.length * static_cast<int64_t>(sizeof(std::string_view)));
  for (const std::string_view character : Characters(text.bytes)) characters.push_back(character);
  for (int64_t i = 0; i < slice.count; ++i) out += characters[static_cast<size_t>(slice.first + i * slice.step)];
  return out;
}

}  // namespace

Slice resolve_slice(const Value& start, const Value& stop, const Value& step, int64_t length) {
  const auto field = [](const Value& value, int64_t fallback) {
    if (value.is_none()) return fallback;
    if (value.is_undefined()) use_of_undefined(value);
    if (!value.is_integral()) throw problem("slice indices must be integers or None");
    return value.as_int();
  };
  Slice slice;
  slice.step = std::clamp<int64_t>(field(step, 1), -(int64_t{1} << 62), int64_t{1} << 62);
  if (slice.step == 0) throw problem("slice step cannot be zero");
  if (slice.step > 0) {
    slice.first = start.is_none() ? 0 : clamp_index(field(start, 0), length, 0, length);
    const int64_t end = stop.is_none() ? length : clamp_index(field(stop, 0), length, 0, length);
    slice.count = end > slice.first ? (end - slice.first - 1) / slice.step + 1 : 0;
  } else {
    slice.first = start.is_none() ? length - 1 : clamp_index(field(start, 0), length, -1, length - 1);
    const int64_t end = stop.is_none() ? -1 : clamp_index(field(stop, 0), length, -1, length - 1);
    slice.count = slice.first > end ? (slice.first - end - 1) / -slice.step + 1 : 0;
  }
  if (slice.count == 0) slice.first = 0;
  return slice;
}

Value slice_of(const Value& value, const Value& start, const Value& stop, const Value& step) {
  if (value.is_undefined()) use_of_undefined(value);
  const auto length = length_of(value);
  const bool is_range = value.object_as<Range>() != nullptr;
  if (!length || value.is_dict() || (value.is_object() && !is_range)) {
    return Value::undefined(cat("'", value.type_name(), "' object cannot be sliced"));
  }
  const Slice slice = resolve_slice(start, stop, step, *length);
  if (value.is_text()) return {slice_text(value.as_text(), slice), value.is_markup()};
  if (is_range) return value.object_as<Range>()->slice(slice.first, slice.count, slice.step);
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(slice.count));
  for (int64_t i = 0; i < slice.count; ++i) {
    items.push_back(value.items()[static_cast<size_t>(slice.first + i * slice.step)]);
  }
  return value.is_list() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

}  // namespace wick::jinja
