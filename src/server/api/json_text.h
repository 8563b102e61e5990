#pragma once

#include <string_view>

#include "base/json.h"

namespace wick {

// A JSON text of a client; `what` names it in messages. Throws RequestError when it is not JSON or has so many values
// that they would fill the memory.
Json json_text(std::string_view text, std::string_view what);

}  // namespace wick
