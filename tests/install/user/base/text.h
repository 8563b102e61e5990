#pragma once

// Named as a header of Wick, which must not come in its way nor take its place.
inline const char* user_text() { return "12"; }
