#include "cli/models/file_kind.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>

#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLookAt = 4096;  // bytes at the front

struct Magic {
  std::string_view bytes;
  size_t at;
  std::string_view name;
};

constexpr Magic kSounds[] = {{"WAVE", 8, "WAV"},     {"AVI ", 8, "AVI"}, {"fLaC", 0, "FLAC"},
                             {"OggS", 0, "Ogg"},     {"ID3", 0, "MP3"},  {"\xFF\xFB", 0, "MP3"},
                             {"\xFF\xF3", 0, "MP3"}, {"ftyp", 4, "MP4"}, {"\x1A\x45\xDF\xA3", 0, "WebM or Matroska"},
                             {"FORM", 0, "AIFF"}};
constexpr Magic kOthers[] = {{"\x89PNG", 0, "a PNG image"},
                             {"\xFF\xD8\xFF", 0, "a JPEG image"},
                             {"GIF8", 0, "a GIF image"},
                             {"WEBP", 8, "a WebP image"},
                             {"%PDF-", 0, "a PDF"},
                             {"\x7F"
                              "ELF",
                              0, "a program"},
                             {"\x1F\x8B", 0, "packed with gzip"}};

// As it would be typed.
std::string shell_word(const std::string& text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._-+,:@%").find(c) != std::string_view::npos;
  });
  return is_plain ? text : in_quotes(text);
}

bool has(std::string_view front, const Magic& magic) {
  return front.size() > magic.at && front.substr(magic.at).starts_with(magic.bytes);
}

// UTF-8 without control characters; the last character may be cut.
bool is_plain_text(std::string_view front) {
  const bool has_controls = std::any_of(front.begin(), front.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f';
  });
  const size_t invalid = find_invalid_utf8(front);
  return !front.empty() && !has_controls && (invalid == std::string_view::npos || front.size() - invalid < 4);
}

std::string kind_of_text(const fs::path& path, std::string_view front) {
  const std::string name = path.filename().string(), word = shell_word(path.string());
  if (name.ends_with(".index.json")) return {};  // of a model in several files
  if (path.extension() == ".jinja") return cat("is a chat template; `wick template ", word, "` renders it");
  if (name == "tokenizer.json") return cat("is a tokenizer; `wick tokenize ", word, "` takes it");
  if (name == "config.json") return "holds the settings of a model; give the folder that it is in";
  const char first = front[std::min(front.find_first_not_of(" \t\r\n"), front.size() - 1)];
  if (first == '{' || first == '[') {
    return "is JSON, and no model; `wick run` takes a conversation with --messages and a form of the answer with "
           "--json-schema";
  }
  return cat("is a text, and no model; `wick run --file ", word, "` takes it as the prompt");
}

}  // namespace

std::string other_kind_of_file(const fs::path& path) {
  std::error_code ignored;
  const std::string extension = path.extension().string();
  const bool is_called_model = extension == ".gguf" || extension == ".safetensors" || extension == ".bin";
  if (is_called_model || !fs::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string front(kLookAt, '\0');
  file.read(front.data(), static_cast<std::streamsize>(front.size()));
  front.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  for (const Magic& magic : kSounds) {
    if (!has(front, magic)) continue;
    return cat("is a sound or video file (", magic.name, "); `wick transcribe ", shell_word(path.string()),
               "` writes down what is said");
  }
  for (const Magic& magic : kOthers) {
    if (has(front, magic)) return cat("is ", magic.name, ", and no model");
  }
  return is_plain_text(front) ? kind_of_text(path, front) : std::string();
}

}  // namespace wick
