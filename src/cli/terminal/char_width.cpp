#include "cli/terminal/char_width.h"

#include <utf8proc.h>

namespace wick {

int char_width(char32_t value) { return utf8proc_charwidth(static_cast<utf8proc_int32_t>(value)); }

}  // namespace wick
