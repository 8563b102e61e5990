#pragma once

#include <string>
#include <vector>

namespace wick {

// Texts with labels, from a file of lines "text<tab>label" or of JSON objects {"text": ..., "label": ...}.
struct ProbeData {
  std::vector<std::string> texts;
  std::vector<int64_t> labels;     // indices into `names`; empty when the file has none
  std::vector<std::string> names;  // in the order of their first use

  // `labelled`: every line must have a label; else none need to. Throws Error(kBadFile) with the line's number.
  static ProbeData load(const std::string& path, bool labelled);

  double largest_share() const;  // of one label: what guessing reaches
};

}  // namespace wick
