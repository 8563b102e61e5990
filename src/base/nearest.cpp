#include "base/nearest.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace wick {
namespace {

constexpr size_t kMaxLength = 256;
constexpr int64_t kMaxWork = 20'000'000;  // letter pairs

// Rows of the table of edits: the last two are needed beside the one that is made, for neighbours that changed places.
struct Rows {
  std::vector<size_t> before, last, row;
};

// Insertions, deletions, replacements, and exchanges of neighbours that turn a into b.
size_t edit_distance(std::string_view a, std::string_view b, Rows& rows) {
  auto& [before, last, row] = rows;
  before.resize(b.size() + 1);
  last.resize(b.size() + 1);
  row.resize(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, last[j + 1] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t limit = name.size() / 3 + 1;  // fewer edits than this
  int64_t work = kMaxWork;
  Rows rows;
  if (name.size() > kMaxLength) return best;
  for (const std::string_view candidate : candidates) {
    const size_t difference = std::max(candidate.size(), name.size()) - std::min(candidate.size(), name.size());
    if (candidate.size() > kMaxLength || difference >= limit) continue;
    work -= static_cast<int64_t>((name.size() + 1) * (candidate.size() + 1));
    if (work < 0) break;
    const size_t distance = edit_distance(name, candidate, rows);
    if (distance < limit) {
      best = candidate;
      limit = distance;
    }
  }
  return best;
}

}  // namespace wick
