#include "jinja/builtins/pretty.h"

#include <algorithm>

#include "jinja/builtins/characters.h"
#include "jinja/builtins/python_format.h"
#include "jinja/compare.h"

namespace wick::jinja {
namespace {

constexpr int64_t kWidth = 80;

std::vector<Dict::Entry> sorted_entries(const Dict& dict) {
  std::vector<Dict::Entry> entries = dict.entries();
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    const bool comparable = (a.first.is_text() && b.first.is_text()) || (a.first.is_number() && b.first.is_number());
    return comparable ? less(a.first, b.first) : a.first.type_name() < b.first.type_name();
  });
  return entries;
}

// repr with sorted dicts.
void append_flat(std::string& out, const Value& value) {
  spend_work();
  require_memory(static_cast<int64_t>(out.size()));
  const size_t start = out.size() + 1;
  if (value.is_dict()) {
    out += '{';
    for (const auto& [key, item] : sorted_entries(value.as_dict())) {
      if (out.size() > start) out += ", ";
      append_flat(out, key);
      out += ": ";
      append_flat(out, item);
    }
    out += '}';
  } else if (value.is_list() || value.is_tuple()) {
    out += value.is_list() ? '[' : '(';
    for (const Value& item : value.items()) {
      if (out.size() > start) out += ", ";
      append_flat(out, item);
    }
    if (value.is_tuple() && value.items().size() == 1) out += ',';
    out += value.is_list() ? ']' : ')';
  } else {
    append_repr(out, value);
  }
}

std::string flat(const Value& value) {
  std::string out;
  append_flat(out, value);
  return out;
}

void write(std::string& out, const Value& value, int64_t indent, int64_t allowance) {
  const std::string line = flat(value);
  require_memory(static_cast<int64_t>(out.size() + line.size()) + indent);
  spend_work_on_bytes(line.size() + static_cast<size_t>(indent));
  const bool breaks = value.is_dict() || value.is_list() || value.is_tuple();
  if (!breaks || count_characters(line) <= kWidth - indent - allowance) {
    out += line;
    return;
  }
  const std::string space(static_cast<size_t>(indent) + 1, ' ');
  out += value.is_dict() ? '{' : value.is_list() ? '[' : '(';
  if (value.is_dict()) {
    const auto entries = sorted_entries(value.as_dict());
    for (size_t i = 0; i < entries.size(); ++i) {
      const std::string key = flat(entries[i].first);
      out += cat(i ? ",\n" + space : "", key, ": ");
      const bool last = i + 1 == entries.size();
      write(out, entries[i].second, indent + 1 + count_characters(key) + 2, last ? allowance + 1 : 1);
    }
  } else {
    for (size_t i = 0; i < value.items().size(); ++i) {
      if (i) out += ",\n" + space;
      write(out, value.items()[i], indent + 1, i + 1 == value.items().size() ? allowance + 1 : 1);
    }
    if (value.is_tuple() && value.items().size() == 1) out += ',';
  }
  out += value.is_dict() ? '}' : value.is_list() ? ']' : ')';
}

}  // namespace

std::string pretty(const Value& value) {
  std::string out;
  write(out, value, 0, 0);
  return out;
}

}  // namespace wick::jinja
