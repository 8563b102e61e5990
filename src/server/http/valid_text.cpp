#include "server/http/valid_text.h"

#include "base/utf8.h"

namespace wick {

std::string valid_text(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t bad = find_invalid_utf8(text);
    out += text.substr(0, bad);
    if (bad == std::string_view::npos) return out;
    append_utf8(out, 0xFFFD);
    text.remove_prefix(bad + 1);
  }
}

}  // namespace wick
