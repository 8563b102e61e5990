#pragma once

#include "server/http/router.h"

namespace wick {

// Answers for the web page: each of its files, and "/". They need no API key.
void add_web_routes(Router& router);

}  // namespace wick
