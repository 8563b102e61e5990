#pragma once

#include "server/api/field_kinds.h"

namespace wick {

// What the server offers, as OpenAPI 3.1: made from the same descriptions that requests are read and answers are
// written with.
OrderedJson openapi_document();

}  // namespace wick
