#include "cli/embed/embed_texts.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "base/json.h"
#include "cli/read_text.h"

namespace wick {

void add_texts_options(CLI::App& command, TextsArguments& arguments, const char* name, const char* what, bool may_cut) {
  CLI::Option* texts = command.add_option(name, arguments.texts, what);
  command
      .add_option("-f,--file", arguments.file,
                  "Read them from a file, one per line, or \"text\" of each line of a .jsonl; - for standard input")
      ->type_name("FILE")
      ->excludes(texts);
  if (may_cut) command.add_flag("--truncate", arguments.truncate, "Cut texts that are longer than the model reads");
}

void check_has_texts(const TextsArguments& arguments, const char* name) {
  if (!arguments.texts.empty() || !arguments.file.empty()) return;
  throw CLI::ValidationError(name, "is missing: give texts, or a file with --file");
}

std::vector<std::string> texts_of(const TextsArguments& arguments) {
  const std::string& file = arguments.file;
  if (file.empty()) return arguments.texts;
  const std::string all = read_text(file);
  const bool is_json = file.ends_with(".jsonl");
  std::vector<std::string> read;
  std::string_view left = all;
  for (int line = 1; !left.empty(); ++line) {
    const std::string_view text = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), text.size() + 1));
    if (trimmed(text).empty()) continue;
    if (is_json) {
      read.push_back(Json::parse(text, cat(file, ", line ", line)).at("text").as_text());
    } else {
      read.emplace_back(text.ends_with('\r') ? text.substr(0, text.size() - 1) : text);
    }
  }
  if (read.empty()) throw Error(ErrorCode::kInvalidArgument, cat(file, ": there is no text in it"));
  return read;
}

}  // namespace wick
