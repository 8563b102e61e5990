#include "cli/terminal/word_wrap.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"

namespace wick {
namespace {

// What a terminal shows of it, by a small one of the test's own: characters, line breaks, "n to the left" and "erase to
// the end of the row".
std::vector<std::string> shown(std::string_view bytes, size_t width) {
  std::vector<std::string> rows(1);
  size_t column = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] == '\n') {
      rows.emplace_back();
      column = 0;
    } else if (bytes.substr(at).starts_with("\033[K")) {
      rows.back().resize(column);
      at += 2;
    } else if (bytes[at] == '\033') {
      const size_t end = bytes.find('D', at);
      column -= static_cast<size_t>(std::stoi(std::string(bytes.substr(at + 2, end - at - 2))));
      at = end;
    } else {
      rows.back().resize(column);
      rows.back() += bytes[at];
      EXPECT_LT(++column, width) << "the last column stays empty";
    }
  }
  return rows;
}

std::vector<std::string> wrapped(std::string_view text, int width, size_t piece) {
  WordWrap wrap(width);
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) out += wrap.add(text.substr(at, piece));
  return shown(out, static_cast<size_t>(width));
}

TEST(WordWrap, WordsStayWhole) {
  const std::string text = "The quick brown fox jumps over the lazy dog.\nAnd a new line.";
  const std::vector<std::string> rows = {"The quick brown fox", "jumps over the lazy", "dog.", "And a new line."};
  for (const size_t piece : {1, 2, 3, 7, 100}) EXPECT_EQ(wrapped(text, 20, piece), rows) << piece;
}

TEST(WordWrap, LongWordsAreCutAndNarrowTerminalsLeftAlone) {
  const std::string word(45, 'x');
  EXPECT_EQ(wrapped("a " + word, 20, 4),
            (std::vector<std::string>{"a ", word.substr(0, 19), word.substr(0, 19), word.substr(0, 7)}));
  WordWrap narrow(10), off(0);
  EXPECT_EQ(narrow.add("one two three four"), "one two three four");
  EXPECT_EQ(off.add("one\033"), "one\033");
}

TEST(WordWrap, WideCharactersCountTwice) {
  WordWrap wrap(20);
  EXPECT_EQ(wrap.add("aaaaaaaa 日本語日本"), "aaaaaaaa 日本語日本") << "19 columns";
  EXPECT_EQ(wrap.add("語"), "\033[10D\033[K\n日本語日本語");
}

}  // namespace
}  // namespace wick
