#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace wick {

// What is wrong with a document whose tags must nest and whose text must be escaped; empty when nothing is. What stands
// inside <style> and <script> is not looked at.
inline std::string well_formed(std::string_view page) {
  constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyz0123456789-";
  std::vector<std::string> open;
  const auto wrong = [&](size_t at, std::string_view what) { return cat(what, " at ", page.substr(at, 40)); };
  for (size_t at = 0; at < page.size();) {
    if (page[at] == '&') {
      const size_t end = page.find(';', at);
      if (end == page.npos || end - at > 8) return wrong(at, "a bare &");
      at = end + 1;
      continue;
    }
    if (page[at] == '>') return wrong(at, "a bare >");
    if (page[at] != '<') {
      ++at;
      continue;
    }
    if (page.substr(at).starts_with("<!DOCTYPE")) {
      at = page.find('>', at) + 1;
      continue;
    }
    const bool closes = at + 1 < page.size() && page[at + 1] == '/';
    const size_t begin = at + (closes ? 2 : 1);
    const size_t name_end = page.find_first_not_of(kName, begin);
    const std::string name(page.substr(begin, name_end - begin));
    if (name.empty()) return wrong(at, "a bare <");
    size_t end = name_end;
    for (bool quoted = false; end < page.size() && (quoted || page[end] != '>'); ++end) {
      if (page[end] == '"') quoted = !quoted;
      if (page[end] == '<') return wrong(at, "a < inside the tag");
    }
    if (end >= page.size()) return wrong(at, "a tag without end");
    if (closes) {
      if (open.empty() || open.back() != name) return wrong(at, cat("</", name, "> that closes nothing"));
      open.pop_back();
    } else if (page[end - 1] != '/') {
      open.push_back(name);
    }
    at = end + 1;
    if (!closes && (name == "style" || name == "script")) {
      at = page.find(cat("</", name, ">"), at);
      if (at == page.npos) return cat("<", name, "> without end");
    }
  }
  return open.empty() ? "" : cat("<", open.back(), "> is not closed");
}

}  // namespace wick
