#include <gtest/gtest.h>

#include "grammar_samples.h"
#include "support/errors.h"

namespace wick {
namespace {

TEST(Gbnf, LiteralsAndEscapes) {
  const Grammar grammar = Grammar::from_gbnf(R"(root ::= "a\"\\\n\t\r\x41\u00e9\U0001F600[é]")");
  EXPECT_TRUE(matches(grammar, "a\"\\\n\t\rAé😀[é]"));
  EXPECT_FALSE(matches(grammar, "a\"\\\n\t\rAé😀[é"));
  EXPECT_FALSE(matches(grammar, ""));
  EXPECT_TRUE(matches(Grammar::from_gbnf("root ::= \"\""), ""));
}

TEST(Gbnf, Classes) {
  const Grammar grammar = Grammar::from_gbnf("root ::= [a-cx\\]\\n] [^a-c\"] [α-ω] . [-z] [a-]");
  EXPECT_TRUE(matches(grammar, "bdβ\n-a"));
  EXPECT_TRUE(matches(grammar, "]😀ω中z-"));
  EXPECT_TRUE(matches(grammar, "\n\nα\"--"));
  EXPECT_FALSE(matches(grammar, "daβ\n-a"));
  EXPECT_FALSE(matches(grammar, "b\"β\n-a"));
  EXPECT_FALSE(matches(grammar, "bdb\n-a"));
}

TEST(Gbnf, RepetitionsGroupsAndAlternatives) {
  const Grammar grammar =
      Grammar::from_gbnf("root ::= \"a\"? (\"b\" | \"c\"{2})* [d]+ \"e\"{1,2} \"f\"{2,} \"g\"{0,1}");
  EXPECT_TRUE(matches(grammar, "abccbdddeeff"));
  EXPECT_TRUE(matches(grammar, "deffffg"));
  EXPECT_FALSE(matches(grammar, "abcdeff"));
  EXPECT_FALSE(matches(grammar, "deeeff"));
  EXPECT_FALSE(matches(grammar, "def"));
  EXPECT_FALSE(matches(grammar, "deffgg"));
}

TEST(Gbnf, LinesAndComments) {
  const Grammar grammar = Grammar::from_gbnf(
      "# a comment\r\n"
      "root ::= # and another\n"
      "  item (\",\" ws\n"
      "    item)* |\n"
      "  \"none\"\n"
      "\n"
      "item ::= \"x\"\n"
      "  | \"y\"   # continued\n"
      "ws ::= | \" \" ws");
  EXPECT_TRUE(matches(grammar, "x,   y,x"));
  EXPECT_TRUE(matches(grammar, "none"));
  EXPECT_FALSE(matches(grammar, "x,"));
}

TEST(Gbnf, RecursionOfEveryAllowedKind) {
  const Grammar nested = Grammar::from_gbnf("root ::= \"(\" root* \")\"");
  EXPECT_TRUE(matches(nested, "(()(()))"));
  EXPECT_FALSE(matches(nested, "(()"));
  const Grammar right = Grammar::from_gbnf("root ::= \"a\" root | \"b\"");
  EXPECT_TRUE(matches(right, std::string(20000, 'a') + "b"));  // a call in last place costs no depth
  const Grammar mutual = Grammar::from_gbnf("root ::= \"a\" other \"a\" | \"c\"\nother ::= \"b\" root \"b\" | root");
  EXPECT_TRUE(matches(mutual, "abacaba"));
  EXPECT_TRUE(matches(mutual, "aacaa"));
}

TEST(Gbnf, EmptyRulesAndLoopsOfNothing) {
  EXPECT_TRUE(matches(Grammar::from_gbnf("root ::= nothing* \"a\" nothing+\nnothing ::= \"\" | \"b\"?"), "bbabb"));
  EXPECT_TRUE(matches(Grammar::from_gbnf("root ::= ((\"\"*)+ (\"x\"?)*)*"), "xxx"));
  EXPECT_TRUE(matches(Grammar::from_gbnf("root ::= ((\"\"*)+ (\"x\"?)*)*"), ""));
  EXPECT_TRUE(matches(Grammar::from_gbnf("root ::= (\"a\"?){3}"), "aa"));
  EXPECT_FALSE(matches(Grammar::from_gbnf("root ::= (\"a\"?){3}"), "aaaa"));
}

TEST(Gbnf, TheJsonGrammarOfLlamaCpp) {
  const Grammar grammar = Grammar::from_gbnf(R"(root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws

object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws

array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws

string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws

number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws

# Optional space: by convention, applied in this grammar after literal chars when allowed
ws ::= | " " | "\n" [ \t]{0,20}
)");
  EXPECT_TRUE(matches(grammar, "{\"a\": [1, 2.5e+1, {\"é\\u00e9\": null}],\n  \"b\": true}"));
  EXPECT_FALSE(matches(grammar, "{\"a\": [1, 2.5e+1, {\"é\\u00e\": null}]}"));
  EXPECT_FALSE(matches(grammar, "[1]"));
}

TEST(Gbnf, ErrorsNameThePlace) {
  const auto gbnf = [](std::string_view text) { return Grammar::from_gbnf(text); };
  EXPECT_ERROR(gbnf(""), kInvalidArgument, "there is no rule 'root'");
  EXPECT_ERROR(gbnf("a ::= \"x\"\n"), kInvalidArgument, "there is no rule 'root'");
  EXPECT_ERROR(gbnf("root ::= \"a\"\nb ::= missing-one \"x\"\n"), kInvalidArgument,
               "line 2, column 7: rule 'missing-one' is not defined");
  EXPECT_ERROR(gbnf("root ::= \"a\"\nroot ::= \"b\"\n"), kInvalidArgument,
               "line 2, column 1: rule 'root' is defined twice");
  EXPECT_ERROR(gbnf("root ::= \"abc"), kInvalidArgument, "column 10: this '\"' is not closed");
  EXPECT_ERROR(gbnf("root ::= [abc"), kInvalidArgument, "this '[' is not closed");
  EXPECT_ERROR(gbnf("root ::= (\"a\""), kInvalidArgument, "expected ')'");
  EXPECT_ERROR(gbnf("root ::= \"a\" )"), kInvalidArgument, "expected the end of the line");
  EXPECT_ERROR(gbnf("root = \"a\""), kInvalidArgument, "expected '::='");
  EXPECT_ERROR(gbnf("root ::= \"\\q\""), kInvalidArgument, "unknown escape");
  EXPECT_ERROR(gbnf("root ::= \"\\ud800\""), kInvalidArgument, "not a Unicode character");
  EXPECT_ERROR(gbnf("root ::= \"\\U00110000\""), kInvalidArgument, "not a Unicode character");
  EXPECT_ERROR(gbnf("root ::= \"\\xg0\""), kInvalidArgument, "hexadecimal");
  EXPECT_ERROR(gbnf("root ::= [z-a]"), kInvalidArgument, "a range ends before it begins");
  EXPECT_ERROR(gbnf("root ::= \"a\"{3,2}"), kInvalidArgument, "less than the least");
  EXPECT_ERROR(gbnf("root ::= \"a\"{,2}"), kInvalidArgument, "expected a count");
  EXPECT_ERROR(gbnf("root ::= \"\xff\""), kInvalidArgument, "invalid UTF-8");
  EXPECT_ERROR(gbnf("root ::= * \"a\""), kInvalidArgument, "expected the end of the line");
  EXPECT_ERROR(gbnf("root ::= <think>"), kInvalidArgument, "expected the end of the line");
}

TEST(Gbnf, LeftRecursionIsAnError) {
  EXPECT_ERROR(Grammar::from_gbnf("root ::= root \"a\" | \"b\""), kInvalidArgument, "rule 'root' is left-recursive");
  EXPECT_ERROR(Grammar::from_gbnf("root ::= a\na ::= b \"x\" | \"y\"\nb ::= \"z\"? a"), kInvalidArgument,
               "is left-recursive");
  EXPECT_ERROR(Grammar::from_gbnf("root ::= empty root \"a\" | \"b\"\nempty ::= \"\""), kInvalidArgument,
               "left-recursive");
}

TEST(Gbnf, WhatMatchesNothingIsAnError) {
  EXPECT_ERROR(Grammar::from_gbnf("root ::= \"a\" root"), kInvalidArgument, "'root' matches no text at all");
  EXPECT_ERROR(Grammar::from_gbnf("root ::= \"a\" []"), kInvalidArgument, "matches no text at all");
  // Where only one way is dead, it is never entered.
  const Grammar grammar = Grammar::from_gbnf("root ::= \"ab\" endless | \"cd\"\nendless ::= \"x\" endless");
  EXPECT_TRUE(matches(grammar, "cd"));
  EXPECT_FALSE(GrammarState(grammar, make_vocabulary().tokens).accept_bytes("a"));
}

}  // namespace
}  // namespace wick
