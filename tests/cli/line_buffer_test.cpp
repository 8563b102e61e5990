#include "cli/terminal/line_buffer.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace wick {
namespace {

using Outcome = LineBuffer::Outcome;

// Types bytes as a terminal sends them; the outcome of the last key.
Outcome type(LineBuffer& buffer, std::string_view bytes) {
  KeyReader keys;
  Outcome outcome = Outcome::kEdited;
  for (const char byte : bytes) {
    if (const auto key = keys.feed(byte)) outcome = buffer.press(*key);
  }
  return outcome;
}

// The text with | where the cursor is.
std::string typed(std::string_view bytes, const std::vector<std::string>& history = {}) {
  LineBuffer buffer(history);
  type(buffer, bytes);
  return cat(buffer.text().substr(0, buffer.cursor()), "|", buffer.text().substr(buffer.cursor()));
}

TEST(LineBuffer, EditsWhereTheCursorIs) {
  EXPECT_EQ(typed("abc"), "abc|");
  EXPECT_EQ(typed("abc\x7f"), "ab|");
  EXPECT_EQ(typed("abc\033[D\033[D"), "a|bc");
  EXPECT_EQ(typed("abc\033[D\033[Dx\033[3~"), "ax|c");
  EXPECT_EQ(typed("abc\x01x"), "x|abc");
  EXPECT_EQ(typed("abc\x01x\x05y"), "xabcy|");
  EXPECT_EQ(typed("abc\033[Hx\033[Fy"), "xabcy|");
  EXPECT_EQ(typed("abc\033OHx\033OFy"), "xabcy|");
  EXPECT_EQ(typed("\x7f\033[D\033[C\033[3~"), "|");
  EXPECT_EQ(typed("abc\033[D\x04"), "ab|") << "Ctrl-D deletes in a text";
}

TEST(LineBuffer, KillsAndYanks) {
  EXPECT_EQ(typed("one two\x17"), "one |");
  EXPECT_EQ(typed("one two \x17"), "one |");
  EXPECT_EQ(typed("one two\x17\x17"), "|");
  EXPECT_EQ(typed("one two\x15"), "|");
  EXPECT_EQ(typed("one two\x15\x19\x19"), "one twoone two|");
  EXPECT_EQ(typed("one two\x01\x0b"), "|");
  EXPECT_EQ(typed("one two\x01\033d"), "| two");
  EXPECT_EQ(typed("one two\033\x7f"), "one |");
}

TEST(LineBuffer, TabGoesOnAsFarAsItIsClear) {
  const std::vector<std::string> none;
  const auto complete = [](std::string_view text) {
    std::vector<std::string> all;
    for (const char* command : {"/set ", "/show", "/system "}) {
      if (std::string_view(command).starts_with(text)) all.emplace_back(command);
    }
    return all;
  };
  LineBuffer buffer(none, complete);
  EXPECT_EQ(type(buffer, "/s\t"), Outcome::kChoices);
  EXPECT_EQ(buffer.choices(), (std::vector<std::string>{"/set ", "/show", "/system "}));
  EXPECT_EQ(buffer.text(), "/s");
  EXPECT_EQ(type(buffer, "h\t"), Outcome::kEdited);
  EXPECT_EQ(buffer.text(), "/show");
  type(buffer, "\x15/sy x\x01\033[C\033[C\033[C\t");
  EXPECT_EQ(buffer.text(), "/system  x") << "what stands behind the cursor stays";
  type(buffer, "\x15/nope\t");
  EXPECT_EQ(buffer.text(), "/nope x") << "nothing fits";
  EXPECT_EQ(typed("a\tb"), "a\tb|") << "in a message it is a character";
}

TEST(LineBuffer, CtrlRSearchesTheHistory) {
  const std::vector<std::string> history = {"one fox", "two dogs", "three foxes", "four"};
  EXPECT_EQ(typed("draft\x12"
                  "fox",
                  history),
            "three |foxes");
  EXPECT_EQ(typed("\x12"
                  "fox\x12",
                  history),
            "one |fox");
  EXPECT_EQ(typed("\x12"
                  "fox\x12\x12",
                  history),
            "one |fox")
      << "there is no other";
  EXPECT_EQ(typed("\x12"
                  "foxx\x7f\x05!",
                  history),
            "three foxes!|");
  EXPECT_EQ(typed("draft\x12"
                  "dogs\x03",
                  history),
            "draft|")
      << "Ctrl-C takes the search back";
  EXPECT_EQ(typed("\x12"
                  "dogs\033[A",
                  history),
            "one fox|")
      << "and an arrow goes on from there";
  LineBuffer buffer(history);
  EXPECT_FALSE(buffer.search_prompt());
  type(buffer,
       "\x12"
       "zebra");
  EXPECT_EQ(buffer.search_prompt(), "(not found: 'zebra') ");
  type(buffer,
       "\x7f\x7f\x7f\x7f\x7f"
       "two");
  EXPECT_EQ(buffer.search_prompt(), "(search 'two') ");
  EXPECT_EQ(type(buffer, "\r"), Outcome::kAccepted);
  EXPECT_EQ(buffer.text(), "two dogs");
}

TEST(LineBuffer, MovesByWords) {
  EXPECT_EQ(typed("one, two\033b"), "one, |two");
  EXPECT_EQ(typed("one, two\033[1;5D\033[1;5D"), "|one, two");
  EXPECT_EQ(typed("one, two\x01\033f"), "one|, two");
  EXPECT_EQ(typed("one, two\x01\033[1;5C\033[1;3C"), "one, two|");
}

TEST(LineBuffer, CharactersAreWhole) {
  EXPECT_EQ(typed("Zürich\033[D\033[D\033[D\033[D\x7f"), "Z|rich");
  EXPECT_EQ(typed("日本語\033[D\x7f"), "日|語");
  EXPECT_EQ(typed("ae\xCC\x81\x7f"), "a|") << "with the marks that combine with it";
  EXPECT_EQ(typed("ae\xCC\x81\033[D"), "a|e\xCC\x81");
  EXPECT_EQ(typed("\xff\xfe"
                  "a\xc3"),
            "a|")
      << "what is no UTF-8 is left out";
  EXPECT_EQ(typed("a\xc3x"), "ax|");
}

TEST(LineBuffer, UnknownSequencesDoNothing) {
  EXPECT_EQ(typed("a\033[15~b\033[1;2Pc\033x\033[Zd\x1f"), "abcd|");
  EXPECT_EQ(typed("\033[99999999999999999999999999999999999999999xa"), "a|") << "however long";
}

TEST(LineBuffer, LinesGoOn) {
  const std::vector<std::string> none;
  LineBuffer buffer(none);
  EXPECT_EQ(type(buffer, "one\\\r"), Outcome::kEdited);
  EXPECT_EQ(type(buffer, "two\x0a"), Outcome::kEdited);
  EXPECT_EQ(type(buffer, "three\033\r"), Outcome::kEdited);
  EXPECT_EQ(type(buffer, "four\r"), Outcome::kAccepted);
  EXPECT_EQ(buffer.text(), "one\ntwo\nthree\nfour");
  EXPECT_EQ(typed("one\ntwo\x01x"), "one\nx|two");
  EXPECT_EQ(typed("one\ntwo\033[Ax"), "onex|\ntwo");
  EXPECT_EQ(typed("one\nto\033[A\033[A\033[Bx"), "one\ntox|");
  EXPECT_EQ(typed("a\nlonger\033[A\033[B"), "a\nl|onger") << "a short line in between";
}

TEST(LineBuffer, PastesKeepTheirLines) {
  EXPECT_EQ(typed("\033[200~a\rb\r\nc\nd\te\033[201~"), "a\nb\nc\nd\te|");
  EXPECT_EQ(typed("x\033[200~\033[31mred\x03\033[201~y"), "x[31mredy|") << "no control characters";
  EXPECT_EQ(typed("\033[200~\xff\033[201~"), "\xEF\xBF\xBD|");
  const std::vector<std::string> none;
  LineBuffer buffer(none);
  EXPECT_EQ(type(buffer, "\033[200~a\r\033[201~"), Outcome::kEdited) << "a pasted line break sends nothing";
}

TEST(LineBuffer, RecallsHistory) {
  const std::vector<std::string> history = {"first", "second\nline"};
  EXPECT_EQ(typed("\033[A", history), "second\nline|");
  EXPECT_EQ(typed("\033[A\033[A", history), "seco|nd\nline") << "within the text first";
  EXPECT_EQ(typed("\033[A\033[A\033[A", history), "first|");
  EXPECT_EQ(typed("\033[A\033[A\033[A\033[A", history), "first|");
  EXPECT_EQ(typed("new\033[A\033[B", history), "new|");
  EXPECT_EQ(typed("new\x10\x0ex", history), "newx|");
  EXPECT_EQ(typed("\033[B", history), "|");
}

TEST(LineBuffer, TellsWhatEndsIt) {
  const std::vector<std::string> none;
  LineBuffer buffer(none);
  EXPECT_EQ(type(buffer, "\x04"), Outcome::kEnded);
  EXPECT_EQ(type(buffer, "\x03"), Outcome::kInterrupted);
  EXPECT_EQ(type(buffer, "\x1a"), Outcome::kSuspend);
  EXPECT_EQ(type(buffer, "\x0c"), Outcome::kClearScreen);
  EXPECT_EQ(type(buffer, "\r"), Outcome::kAccepted);
}

std::vector<std::string> rows(std::string_view text, int width) { return lay_out("> ", "  ", text, 0, width).rows; }
std::pair<size_t, int> place(std::string_view text, size_t cursor, int width) {
  const LineLayout layout = lay_out("> ", "  ", text, cursor, width);
  return {layout.cursor_row, layout.cursor_column};
}

TEST(LineLayout, BreaksRows) {
  EXPECT_EQ(rows("", 10), (std::vector<std::string>{"> "}));
  EXPECT_EQ(rows("abc", 10), (std::vector<std::string>{"> abc"}));
  EXPECT_EQ(rows("abcdefghijkl", 10), (std::vector<std::string>{"> abcdefgh", "ijkl"}));
  EXPECT_EQ(rows("a\nb", 10), (std::vector<std::string>{"> a", "  b"}));
  EXPECT_EQ(rows("日本語", 7), (std::vector<std::string>{"> 日本", "語"})) << "wide characters are not cut";
  EXPECT_EQ(rows("a\tb", 20), (std::vector<std::string>{"> a    b"}));
  EXPECT_EQ(rows("日本", 1).size(), 4u) << "a terminal too narrow for anything";
}

TEST(LineLayout, FindsTheCursor) {
  using Place = std::pair<size_t, int>;
  EXPECT_EQ(place("", 0, 10), Place(0, 2));
  EXPECT_EQ(place("abc", 1, 10), Place(0, 3));
  EXPECT_EQ(place("日本語", 3, 10), Place(0, 4));
  EXPECT_EQ(place("日本語", 6, 7), Place(1, 0)) << "where the next character will be";
  EXPECT_EQ(place("abcdefgh", 8, 10), Place(1, 0)) << "a full row";
  EXPECT_EQ(place("a\nbc", 4, 10), Place(1, 4));
  EXPECT_EQ(place("a\nbc", 1, 10), Place(0, 3));
}

}  // namespace
}  // namespace wick
