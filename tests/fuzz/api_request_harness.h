#pragma once

#include <string_view>

namespace wick {

// Reads the bytes behind the first as the body of a request; the first says to which endpoint. A RequestError whose
// answer is JSON is right for a bad body; anything else (a crash, another exception) is a finding and aborts.
void fuzz_api_request(std::string_view bytes);

}  // namespace wick
