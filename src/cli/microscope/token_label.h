#pragma once

#include <string>
#include <string_view>

namespace wick {

// Any bytes as text that a terminal or a page shows on one line and cannot be misled by: blanks as ·, line ends as ⏎,
// tabs as ⇥, control characters as their pictures (␛), characters without a shape (U+202E) as \u{202E}, and bytes that
// are not UTF-8 as \xNN.
std::string token_label(std::string_view bytes);
// The same for text that is read: blanks and line ends stay.
std::string visible_passage(std::string_view text);

// Columns that valid UTF-8 takes on a terminal: 2 for wide characters, 0 for combining marks.
int text_columns(std::string_view text);
// At most so many columns of it, with … at the end when something is left out.
std::string fit_columns(std::string_view text, int columns);

}  // namespace wick
