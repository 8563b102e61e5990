#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/models/named_model.h"
#include "cli/read_text.h"
#include "cli/terminal/terminal.h"
#include "engine/text/text_files.h"
#include "tokenizer/stages/code_points.h"
#include "tokenizer/tokenizer.h"

namespace wick {
namespace {

struct TokenizeOptions {
  std::string model;
  std::string text = "-";
  bool json = false;
  bool decode = false;
  bool no_special = false;
  bool as_text = false;
  bool skip_special = false;
};

// The bytes of a token on one line: what cannot be shown appears as an escape.
std::string visible(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Part part = utf8_part_at(bytes, at);
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (bytes[at] == '\n') {
      out += "\\n";
    } else if (bytes[at] == '\t') {
      out += "\\t";
    } else if (part.valid && byte >= 0x20 && byte != 0x7F) {
      out += bytes.substr(at, part.bytes);
    } else {
      for (uint32_t i = 0; i < part.bytes; ++i) {
        const auto value = static_cast<unsigned char>(bytes[at + i]);
        out += cat("\\x", kDigits[value >> 4], kDigits[value & 15]);
      }
    }
    at += part.bytes;
  }
  return out;
}

// Whole numbers with anything but digits between them: "1 2 3", "[1, 2, 3]".
std::vector<int> read_ids(std::string_view text, const Tokenizer& tokenizer) {
  std::vector<int> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    if (*at == ' ' || *at == ',' || *at == '[' || *at == ']' || *at == '\n' || *at == '\t' || *at == '\r') {
      ++at;
      continue;
    }
    int id = -1;
    const auto [rest, error] = std::from_chars(at, end, id);
    if (error != std::errc()) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("--decode: ", in_quotes(std::string_view(at, end)), " is no token id"));
    }
    if (!tokenizer.has(id)) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("--decode: there is no token ", id, "; the vocabulary has ", tokenizer.vocab_size()));
    }
    ids.push_back(id);
    at = rest;
  }
  return ids;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += utf8_part_at(text, at).bytes) ++count;
  return count;
}

std::string to_text(const Tokenizer& tokenizer, const Encoding& encoding, std::string_view text,
                    const Terminal& terminal) {
  std::string pieces, ids;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const int id = encoding.ids[i];
    const Colour colour = tokenizer.is_special(id) ? Colour::kBad : i % 2 ? Colour::kWarn : Colour::kGood;
    if (i > 0 && !terminal.colour) pieces += "|";
    pieces += terminal.paint(visible(tokenizer.bytes(id)), colour);
    ids += cat(i > 0 ? " " : "", id);
  }
  const size_t characters = count_characters(text);
  return cat(pieces, "\n", ids, "\n",
             terminal.paint(cat(encoding.ids.size(), " tokens, ", text.size(), " bytes, ", characters, " characters"),
                            Colour::kDim),
             "\n");
}

nlohmann::json to_json(const Tokenizer& tokenizer, const Encoding& encoding, std::string_view text) {
  nlohmann::json tokens = nlohmann::json::array();
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const int id = encoding.ids[i];
    tokens.push_back({{"id", id},
                      {"piece", replace_invalid_utf8(tokenizer.piece(id))},
                      {"text", replace_invalid_utf8(tokenizer.bytes(id))},
                      {"special", tokenizer.is_special(id)},
                      {"begin", encoding.offsets[i].begin},
                      {"end", encoding.offsets[i].end}});
  }
  return {{"ids", encoding.ids},
          {"tokens", tokens},
          {"count", encoding.ids.size()},
          {"bytes", text.size()},
          {"characters", count_characters(text)}};
}

int run(const TokenizeOptions& options) {
  const Tokenizer tokenizer = load_tokenizer(named_path(options.model));
  const std::string input = options.text == "-" ? read_input() : options.text;
  if (options.decode) {
    const std::vector<int> ids = read_ids(input, tokenizer);
    const std::string text = tokenizer.decode(ids, options.skip_special);
    std::cout << (options.json ? nlohmann::json{{"ids", ids}, {"text", text}}.dump() : text) << "\n";
    return 0;
  }
  EncodeOptions encode;
  encode.add_special = !options.no_special;
  encode.special = options.as_text ? SpecialTokens::kAsText : SpecialTokens::kAllow;
  const Encoding encoding = tokenizer.encode_with_offsets(input, encode);
  std::cout << (options.json ? to_json(tokenizer, encoding, input).dump() + "\n"
                             : to_text(tokenizer, encoding, input, Terminal::of_stdout()));
  return 0;
}

}  // namespace

void add_tokenize(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("tokenize", "Show the tokens of a text, or the text of tokens");
  const auto options = std::make_shared<TokenizeOptions>();
  command->add_option("MODEL", options->model, "A model folder, a tokenizer file or a .gguf file, or Org/Name")
      ->required();
  command->add_option("TEXT", options->text, "The text, or token ids with --decode; - reads standard input (default)");
  command->add_flag("--json", options->json, "Print one JSON object");
  CLI::Option* decode = command->add_flag("--decode", options->decode, "TEXT holds token ids: print their text");
  command->add_flag("--no-special", options->no_special, "Do not add the tokens that the model wants around a text")
      ->excludes(decode);
  command->add_flag("--as-text", options->as_text, "Control tokens spelled out in TEXT are ordinary text")
      ->excludes(decode);
  command->add_flag("--skip-special", options->skip_special, "Leave control tokens out of the text")->needs(decode);
  command->footer(
      "Examples:\n"
      "  wick tokenize models/qwen3 \"Hello world\"\n"
      "  wick tokenize model.gguf --json < prompt.txt\n"
      "  wick tokenize models/qwen3 --decode \"9707 1879\"");
  command->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace wick
