#include <gtest/gtest.h>

#include "base/text.h"
#include "grammar_samples.h"
#include "support/errors.h"

namespace wick {
namespace {

std::string repeated(std::string_view part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

TEST(GrammarHostile, HugeCountsEndInAnError) {
  EXPECT_ERROR(Grammar::from_gbnf("root ::= \"a\"{100000000}"), kInvalidArgument, "too large");
  EXPECT_ERROR(Grammar::from_gbnf("root ::= \"abc\"{0,2000000}"), kInvalidArgument, "too large");
  EXPECT_ERROR(Grammar::from_gbnf("root ::= \"a\"{99999999999999999999}"), kInvalidArgument, "number larger than");
  EXPECT_ERROR(Grammar::from_gbnf("root ::= (\"a\"?){100000}"), kInvalidArgument, "too large");
  EXPECT_ERROR(Grammar::from_json_schema(Json::parse(R"({"type": "string", "maxLength": 5000000})", "schema")),
               kInvalidArgument, "too large");
  EXPECT_ERROR(Grammar::from_json_schema(
                   Json::parse(R"({"type": "string", "pattern": "^(ab?)+$", "maxLength": 100000})", "schema")),
               kInvalidArgument, "too large");
}

TEST(GrammarHostile, LargeCountsThatFitWork) {
  const Grammar nested = Grammar::from_gbnf("root ::= (((\"a\" \"b\"?){1000}){1000}){1000}");
  GrammarState state(nested, make_vocabulary().tokens);
  EXPECT_TRUE(state.accept_bytes(repeated("aab", 1000)));
  EXPECT_FALSE(state.is_complete());
  EXPECT_TRUE(matches(Grammar::from_json_schema(Json::parse(R"({"type": "string", "minLength": 100000})", "schema")),
                      "\"" + std::string(100000, 'x') + "\""));
}

TEST(GrammarHostile, ExponentialNumbersOfParsesAreFollowedTogether) {
  // After n letters there are 2^n ways to have got there.
  const Grammar grammar = Grammar::from_gbnf("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"a\"");
  EXPECT_TRUE(matches(grammar, repeated("a", 301) + repeated("bc", 150)));
  EXPECT_FALSE(matches(grammar, repeated("a", 301) + repeated("bc", 151)));
  std::string text = "root ::= r0\n";
  for (int i = 0; i < 60; ++i) text += cat("r", i, " ::= r", i + 1, " \"x\" | r", i + 1, " \"y\"\n");
  const Grammar chain = Grammar::from_gbnf(text + "r60 ::= \"a\"");
  EXPECT_TRUE(matches(chain, cat("a", repeated("xy", 30))));
  EXPECT_TRUE(matches(Grammar::from_gbnf("root ::= ((\"a\"*)*)* ((\"a\" | \"a\")* | (\"a\"+)+) \"b\""),
                      repeated("a", 3000) + "b"));
}

TEST(GrammarHostile, TooManyParsesEndInAnError) {
  const Grammar grammar =
      Grammar::from_gbnf("root ::= \"a\" | . item{114}\nitem ::= (\"x\" | root)* ws+\nws ::= \" \"?\n");
  GrammarState state(grammar, make_vocabulary().tokens);
  EXPECT_ERROR(state.accept_bytes(repeated("x", 1000)), kUnsupported, "too ambiguous");
}

TEST(GrammarHostile, NestingIsBounded) {
  EXPECT_ERROR(Grammar::from_gbnf("root ::= " + repeated("(", 100000)), kInvalidArgument, "nested more than");
  EXPECT_ERROR(Grammar::from_gbnf("root ::= " + repeated("(", 100000) + "\"a\"" + repeated(")", 100000)),
               kInvalidArgument, "nested more than");
  EXPECT_ERROR(Grammar::from_json_schema(
                   Json::parse(R"({"type": "string", "pattern": ")" + repeated("(", 5000) + "\"}", "schema")),
               kInvalidArgument, "nested more than");
  // Text as deep as the limit is read, and one level more refused rather than read on without end.
  GrammarState state(Grammar::json(), make_vocabulary().tokens);
  int depth = 0;
  while (depth < 100000 && state.accept_bytes("[")) ++depth;
  EXPECT_GT(depth, 500);
  EXPECT_LT(depth, 3000);
  EXPECT_TRUE(state.accept_bytes(repeated("]", depth)));
  EXPECT_TRUE(state.is_complete());
}

TEST(GrammarHostile, LongChainsOfReferencesWork) {
  std::string schema = R"({"$ref": "#/$defs/d0", "$defs": {)";
  for (int i = 0; i < 2000; ++i) {
    schema += cat("\"d", i, R"(": {"type": "array", "items": {"$ref": "#/$defs/d)", i + 1, "\"}},");
  }
  schema += R"("d2000": {"type": "null"}}})";
  EXPECT_TRUE(matches(Grammar::from_json_schema(Json::parse(schema, "schema")), "[[[[]]]]"));
  std::string chain = R"({"$ref": "#/$defs/d0", "$defs": {)";
  for (int i = 0; i < 2000; ++i) chain += cat("\"d", i, R"(": {"$ref": "#/$defs/d)", i + 1, "\"},");
  chain += R"("d2000": {"type": "null"}}})";
  EXPECT_ERROR(Grammar::from_json_schema(Json::parse(chain, "schema")), kInvalidArgument, "references in a row");
}

TEST(GrammarHostile, ProductsOfChoicesAreBounded) {
  std::string schema = R"({"allOf": [)";
  for (int i = 0; i < 40; ++i) {
    schema += cat(i ? "," : "", R"({"anyOf": [{"required": ["a)", i, R"("]}, {"required": ["b)", i, R"("]}]})");
  }
  EXPECT_ERROR(Grammar::from_json_schema(Json::parse(schema + "]}", "schema")), kInvalidArgument, "more than");
}

// A cache that has grown to its limit is replaced, and states move over.
TEST(GrammarHostile, CachesAreBounded) {
  const SampleVocabulary vocabulary = make_vocabulary();
  const Grammar grammar = Grammar::from_gbnf("root ::= ([a-z] [^b]){30000}");
  GrammarState state(grammar, vocabulary.tokens);
  std::vector<uint32_t> bits(vocabulary.bytes.size() / 32 + 1);
  for (int i = 0; i < 30000; ++i) {
    ASSERT_TRUE(i % 3 != 0 || state.mask(bits));
    ASSERT_TRUE(state.accept_bytes(i % 2 ? "zé" : "ac")) << i;
  }
  EXPECT_TRUE(state.is_complete());
}

}  // namespace
}  // namespace wick
