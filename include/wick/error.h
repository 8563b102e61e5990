#pragma once

// wick::Error, the only exception that the library throws.
#include "base/error.h"
