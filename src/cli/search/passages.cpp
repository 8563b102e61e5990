#include "cli/search/passages.h"

#include <algorithm>

#include "base/ascii.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr size_t kUsual = 1000, kLeast = 300;  // bytes
constexpr int64_t kLargestFile = int64_t{4} << 20;

// Where to cut a text that is longer than a passage: behind the last end of something in its second part.
size_t cut_in(std::string_view text) {
  for (const std::string_view end : {"\n\n", "\n", ". ", " "}) {
    const size_t found = text.substr(0, kUsual).rfind(end);
    if (found != std::string_view::npos && found >= kLeast) return found + end.size();
  }
  size_t cut = kUsual;
  while (cut > 1 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;  // inside a character
  return cut;
}

}  // namespace

std::vector<Passage> passages_of(std::string_view text) {
  std::vector<Passage> passages;
  int64_t line = 1;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.size() > kUsual ? cut_in(text) : text.size());
    const std::string_view inside = trimmed(part);
    if (!inside.empty()) {
      const auto before = part.substr(0, static_cast<size_t>(inside.data() - part.data()));
      passages.push_back({line + std::count(before.begin(), before.end(), '\n'), inside});
    }
    line += std::count(part.begin(), part.end(), '\n');
    text.remove_prefix(part.size());
  }
  return passages;
}

std::vector<TextFile> text_files(const fs::path& folder) {
  std::vector<TextFile> files;
  std::error_code failed;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(folder, options); entry != fs::recursive_directory_iterator();
       entry.increment(failed)) {
    if (failed) break;
    if (entry->path().filename().string().starts_with('.')) {
      entry.disable_recursion_pending();
      continue;
    }
    std::error_code gone;  // while we look
    if (entry->is_symlink(gone) || !entry->is_regular_file(gone)) continue;
    const auto size = static_cast<int64_t>(entry->file_size(gone));
    const auto changed = entry->last_write_time(gone);
    if (gone || size == 0 || size > kLargestFile) continue;
    files.push_back({entry->path().lexically_relative(folder).generic_string(), size,
                     static_cast<int64_t>(changed.time_since_epoch().count())});
  }
  std::sort(files.begin(), files.end(), [](const TextFile& a, const TextFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace wick
