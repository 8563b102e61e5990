#include "formats/config_json.h"

#include "base/mapped_file.h"

namespace wick {

std::string with_float_objects(std::string_view json) {
  constexpr std::string_view kWords[] = {"-Infinity", "Infinity", "NaN"};
  std::string out;
  bool in_text = false;
  for (size_t i = 0; i < json.size();) {
    std::string_view word;
    for (const std::string_view candidate : kWords) {
      if (!in_text && json.substr(i).starts_with(candidate)) word = candidate;
    }
    if (!word.empty()) {
      out += cat("{\"__float__\": \"", word, "\"}");
      i += word.size();
      continue;
    }
    if (json[i] == '"') in_text = !in_text;
    const size_t length = in_text && json[i] == '\\' && i + 1 < json.size() ? 2 : 1;
    out += json.substr(i, length);
    i += length;
  }
  return out;
}

Json load_config_json(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const bool plain = text.find("Infinity") == std::string_view::npos && text.find("NaN") == std::string_view::npos;
  return plain ? Json::parse(text, path.string()) : Json::parse(with_float_objects(text), path.string());
}

}  // namespace wick
