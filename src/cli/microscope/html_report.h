#pragma once

#include <string>
#include <string_view>

#include "cli/microscope/microscope_report.h"

namespace wick {

// The report as one file for a browser: nothing is fetched, nothing but its own small script may run, and every text is
// escaped. Readable in light and dark.
std::string html_page(const MicroscopeReport& report);

// For element content and attributes in double quotes. Bytes that are not UTF-8 become U+FFFD, and characters that
// documents may not hold are left out.
std::string html_escaped(std::string_view text);

}  // namespace wick
