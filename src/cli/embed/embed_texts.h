#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace wick {

// What every command over encoders reads: texts as words, or a file of them.
struct TextsArguments {
  std::vector<std::string> texts;
  std::string file;
  bool truncate = false;
};

// The options for them; `name` is what help calls a text.
void add_texts_options(CLI::App& command, TextsArguments& arguments, const char* name, const char* what,
                       bool may_cut = true);
// Throws CLI::ValidationError when there is neither a text nor a file.
void check_has_texts(const TextsArguments& arguments, const char* name);

// The texts themselves, or those of the file: a line each, or the member "text" of each line of a .jsonl. Blank lines
// do not count. Throws Error(kBadFile) naming the line, Error(kInvalidArgument) when there is no text.
std::vector<std::string> texts_of(const TextsArguments& arguments);

// Runs `read` for text `index`; what it refuses names the text, where there are several, and the option that helps.
template <typename Read>
auto read_text_at(size_t index, size_t count, const TextsArguments& arguments, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string said = error.what();
    const bool is_long = !arguments.truncate && said.find("the model takes") != std::string::npos;
    throw Error(error.code(), cat(count == 1 ? std::string() : cat("text ", index + 1, ": "), said,
                                  is_long ? "; --truncate cuts it" : ""));
  }
}

}  // namespace wick
