#include "server/http/target.h"

#include <algorithm>

#include "base/utf8.h"

namespace wick {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_printable(std::string_view text) {
  return is_utf8(text) && std::none_of(text.begin(), text.end(),
                                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

enum class Plus { kIsPlus, kIsBlank };

std::optional<std::string> decode(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i] == '+' && plus == Plus::kIsBlank ? ' ' : text[i];
    }
  }
  if (!is_printable(out)) return std::nullopt;
  return out;
}

}  // namespace

std::optional<HttpTarget> parse_target(std::string_view target) {
  if (!target.starts_with('/')) {
    const size_t scheme = target.find("://");
    if (scheme == std::string_view::npos) return std::nullopt;
    const size_t slash = target.find('/', scheme + 3);
    if (slash == std::string_view::npos) return HttpTarget{"/", {}};
    target.remove_prefix(slash);
  }
  target = target.substr(0, target.find('#'));
  const size_t mark = target.find('?');
  auto path = decode(target.substr(0, mark), Plus::kIsPlus);
  if (!path) return std::nullopt;
  HttpTarget result{std::move(*path), {}};
  if (mark == std::string_view::npos) return result;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    auto name = decode(pair.substr(0, equals), Plus::kIsBlank);
    auto value = decode(pair.substr(std::min(pair.size(), equals + 1)), Plus::kIsBlank);
    if (!name || !value) return std::nullopt;
    result.query.emplace_back(std::move(*name), std::move(*value));
  }
  return result;
}

}  // namespace wick
