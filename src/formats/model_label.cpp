#include "formats/model_label.h"

#include <string_view>
#include <system_error>

namespace wick {

// Links are not followed: those of the cache lead to files that are called after checksums.
std::string model_label(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::path plain = std::filesystem::absolute(path, ignored).lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();
  if (!std::filesystem::is_directory(plain, ignored)) return plain.stem().string();
  constexpr std::string_view kModels = "models--", kBetween = "--";
  const std::string repository = plain.parent_path().parent_path().filename().string();
  if (plain.parent_path().filename() != "snapshots" || !repository.starts_with(kModels)) {
    return plain.filename().string();
  }
  std::string name = repository.substr(kModels.size());
  if (const size_t at = name.find(kBetween); at != std::string::npos) name.replace(at, kBetween.size(), "/");
  return name;
}

}  // namespace wick
