#include "cli/microscope/token_label.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace wick {
namespace {

TEST(TokenLabel, ShowsBlanksAndLineEnds) {
  EXPECT_EQ(token_label(" the"), "·the");
  EXPECT_EQ(token_label("\n\n\t "), "⏎⏎⇥·");
  EXPECT_EQ(token_label("größe"), "größe");
  EXPECT_EQ(token_label("世界"), "世界");
  EXPECT_EQ(token_label(""), "");
}

// Nothing that a terminal would obey gets through.
TEST(TokenLabel, DisarmsWhatMisleads) {
  EXPECT_EQ(token_label("\033[31m\r\x7f"), "␛[31m␍␡");
  EXPECT_EQ(token_label(std::string_view("\0", 1)), "␀");
  EXPECT_EQ(token_label("\xC2\x9B"), "\\u{9B}");  // CSI as one character
  EXPECT_EQ(token_label("a\xE2\x80\xAE"
                        "b"),
            "a\\u{202E}b");  // right to left from here on
  EXPECT_EQ(token_label("\xE2\x80\x8B"), "\\u{200B}");
  EXPECT_EQ(token_label("\xC2\xA0\xE2\x80\xA8"), "\\u{A0}\\u{2028}");
  EXPECT_EQ(token_label("\xCC\x81"), "◌\xCC\x81");  // a mark with nothing to stand on
}

TEST(TokenLabel, ShowsBytesThatAreNoText) {
  EXPECT_EQ(token_label("\xE4\xB8"), "\\xE4\\xB8");
  EXPECT_EQ(token_label("\xFFok"), "\\xFFok");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string label = token_label(std::string(1, static_cast<char>(byte)));
    EXPECT_TRUE(is_utf8(label)) << byte;
    EXPECT_EQ(label.find_first_of("\n\r\t\033\x7f"), std::string::npos) << byte;
  }
}

TEST(TokenLabel, PassagesKeepTheirLines) { EXPECT_EQ(visible_passage("one two\nthree\t4\033"), "one two\nthree\t4␛"); }

TEST(TokenLabel, CountsAndCutsColumns) {
  EXPECT_EQ(text_columns("世界"), 4);
  EXPECT_EQ(text_columns("e\xCC\x81"), 1);
  EXPECT_EQ(fit_columns("abcdef", 6), "abcdef");
  EXPECT_EQ(fit_columns("abcdefg", 6), "abcde…");
  EXPECT_EQ(fit_columns("世界世界", 6), "世界…");
  EXPECT_EQ(fit_columns("世界世界", 5), "世界…");
  EXPECT_EQ(fit_columns("世界世界", 4), "世…");
  EXPECT_EQ(fit_columns("abc", 1), "…");
  EXPECT_EQ(fit_columns("abc", 0), "");
}

}  // namespace
}  // namespace wick
