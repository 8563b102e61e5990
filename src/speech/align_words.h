#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wick {

// A text as a forced aligner takes it: letters, numbers and apostrophes of each word between blanks, and each Chinese
// or Japanese character by itself.
struct AlignWord {
  std::string spoken;  // what the model sees
  std::string text;    // as it stands in the text
};
std::vector<AlignWord> split_for_alignment(std::string_view text);

// Times that should not fall: those outside the longest rising sequence are put between their neighbours; one or two
// in a row become the nearer one.
std::vector<double> rising_times(std::vector<double> times);

}  // namespace wick
