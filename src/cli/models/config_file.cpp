#include "cli/models/config_file.h"

#include <algorithm>
#include <charconv>

#include "base/env.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

class ConfigParser {
 public:
  ConfigParser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  std::vector<ConfigTable> parse() {
    if (!is_utf8(text_)) throw bad("is not UTF-8");
    std::vector<ConfigTable> tables(1);
    for (skip_blank_lines(); at_ < text_.size(); skip_blank_lines()) {
      if (text_[at_] == '[') {
        ConfigTable table = header();
        for (const ConfigTable& other : tables) {
          if (other.name == table.name) throw bad(cat("the table [", joined(table.name), "] comes twice"));
        }
        tables.push_back(std::move(table));
      } else {
        ConfigEntry entry = key_and_value();
        for (const ConfigEntry& other : tables.back().entries) {
          if (other.key == entry.key) throw bad(cat("the key ", in_quotes(entry.key), " comes twice"));
        }
        tables.back().entries.push_back(std::move(entry));
      }
      end_line();
    }
    return tables;
  }

 private:
  Error bad(const std::string& what) const { return {ErrorCode::kBadFile, cat(source_, ":", line_, ": ", what)}; }

  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += cat(text.empty() ? "" : ".", name);
    return text;
  }

  bool has(std::string_view text) const { return text_.substr(std::min(at_, text_.size())).starts_with(text); }
  bool take(std::string_view text) {
    if (!has(text)) return false;
    at_ += text.size();
    return true;
  }
  void skip_blanks() {
    while (has(" ") || has("\t")) ++at_;
  }
  void skip_comment() {
    if (has("#")) at_ = std::min(text_.find('\n', at_), text_.size());
  }
  void skip_blank_lines() {
    while (true) {
      skip_blanks();
      skip_comment();
      take("\r");
      if (!take("\n")) return;
      ++line_;
    }
  }
  void end_line() {
    skip_blanks();
    skip_comment();
    take("\r");
    if (at_ < text_.size() && !has("\n")) throw bad("the line goes on behind its value");
  }

  std::string name() {
    if (has("\"") || has("'")) return text_value();
    const size_t begin = at_;
    while (at_ < text_.size() && is_bare(text_[at_])) ++at_;
    if (at_ == begin) throw bad("a name is expected, of letters, digits, _ and -, or in quotes");
    return std::string(text_.substr(begin, at_ - begin));
  }

  ConfigTable header() {
    ConfigTable table;
    table.line = line_;
    ++at_;
    if (has("[")) throw bad("lists of tables are not taken");
    do {
      skip_blanks();
      table.name.push_back(name());
      skip_blanks();
    } while (take("."));
    if (!take("]")) throw bad("the table's name does not end with ]");
    return table;
  }

  ConfigEntry key_and_value() {
    ConfigEntry entry;
    entry.line = line_;
    entry.key = name();
    skip_blanks();
    if (has(".")) throw bad("keys with dots are not taken; write a table");
    if (!take("=")) throw bad(cat("behind ", in_quotes(entry.key), ", = is expected"));
    skip_blanks();
    if (take("[")) {
      entry.is_list = true;
      while (true) {
        skip_blank_lines();
        if (take("]")) break;
        entry.values.push_back(value());
        skip_blank_lines();
        if (take("]")) break;
        if (!take(",")) throw bad("in a list, a comma or ] is expected");
      }
    } else {
      entry.values.push_back(value());
    }
    return entry;
  }

  std::string value() {
    if (has("\"") || has("'")) return text_value();
    const size_t begin = at_;
    while (at_ < text_.size() && (is_bare(text_[at_]) || text_[at_] == '+' || text_[at_] == '.')) ++at_;
    std::string word(text_.substr(begin, at_ - begin));
    double number = 0;
    const char* first = word.data() + (word.starts_with('+') ? 1 : 0);
    const auto [end, problem] = std::from_chars(first, word.data() + word.size(), number);
    const bool is_number = problem == std::errc() && end == word.data() + word.size();
    if (!is_number && word != "true" && word != "false") {
      throw bad(cat(word.empty() ? "a value" : in_quotes(word), word.empty() ? " is expected" : " is no value",
                    ": a text in quotes, a number, true, false or a list of them"));
    }
    return word;
  }

  std::string text_value() {
    const char quote = text_[at_];
    const std::string three(3, quote);
    const bool has_lines = take(three);
    if (has_lines) {
      take("\r");
      if (take("\n")) ++line_;
    } else {
      ++at_;
    }
    const std::string_view end = has_lines ? std::string_view(three) : std::string_view(three).substr(0, 1);
    std::string out;
    while (!take(end)) {
      if (at_ == text_.size() || (!has_lines && has("\n"))) throw bad("the text has no end");
      const char c = text_[at_++];
      if (c == '\n') ++line_;
      if (c == '\\' && quote == '"') {
        escape(out);
      } else {
        out += c;
      }
    }
    return out;
  }

  void escape(std::string& out) {
    const char c = at_ < text_.size() ? text_[at_++] : ' ';
    constexpr std::string_view kNames = "btnfr\"\\e", kBytes = "\b\t\n\f\r\"\\\033";
    if (const size_t known = kNames.find(c); known != std::string_view::npos) {
      out += kBytes[known];
      return;
    }
    const size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    const std::string_view text = text_.substr(std::min(at_, text_.size()), digits);
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), code, 16);
    const bool is_whole = digits > 0 && problem == std::errc() && end == text.data() + digits;
    if (!is_whole || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      throw bad(cat("\\", c, " is no escape that a text may have"));
    }
    at_ += digits;
    append_utf8(out, code);
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<ConfigTable> parse_config(std::string_view text, const std::string& source) {
  return ConfigParser(text, source).parse();
}

std::filesystem::path config_path() {
  if (const auto config = env_text("XDG_CONFIG_HOME")) return std::filesystem::path(*config) / "wick" / "config.toml";
  if (const auto home = env_text("HOME")) return std::filesystem::path(*home) / ".config" / "wick" / "config.toml";
  return {};
}

}  // namespace wick
