#include <gtest/gtest.h>

#include "base/ascii.h"
#include "base/json_reader.h"
#include "base/json_write.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "support/errors.h"

namespace wick {
namespace {

TEST(Utf8, FindsTheFirstInvalidByte) {
  for (const char* good : {"", "plain ascii text", "\u00e9", "\u20ac", "\U0001F600", "\U0010FFFF", "12345678\u00e9"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  EXPECT_EQ(find_invalid_utf8("ab\xFF"), 2u);
  EXPECT_EQ(find_invalid_utf8("12345678\x80"), 8u);
  for (const char* bad : {"\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
                          "\xF5\x80\x80\x80", "\xE2\x82", "\xF0\x9F\x98"}) {
    EXPECT_EQ(find_invalid_utf8(bad), 0u);
  }
}

TEST(Utf8, QuotesForMessages) {
  EXPECT_EQ(in_quotes("caf\u00e9"), "'caf\u00e9'");
  EXPECT_EQ(in_quotes("a\n\x1B[1m\xFF"), "'a\\x0a\\x1b[1m\\xff'");
  EXPECT_EQ(in_quotes(std::string(500, 'x')), cat("'", std::string(120, 'x'), "...'"));
}

TEST(Nearest, PrefersTheFewestEditsAndNothingFar) {
  const std::vector<std::string_view> names = {"lm_head.weight", "model.norm.weight", ""};
  EXPECT_EQ(nearest("lm_head.wieght", names), "lm_head.weight");
  EXPECT_EQ(nearest("banana", names), "");
  const std::vector<std::string_view> commands = {"serve", "run", "rm"};
  EXPECT_EQ(nearest("rnu", commands), "run");  // neighbours that changed places are one edit
  EXPECT_EQ(nearest("urn", commands), "run");
  EXPECT_EQ(nearest("nur", commands), "");
  EXPECT_EQ(nearest(std::string(10000, 'x'), names), "");
}

TEST(JsonReader, ReadsInOrder) {
  JsonReader json(
      R"( {"a" : [1, -2,3 ] , "b":{}, "c\u0041":"x\ty\ud83d\ude00", "skip":[{"x":[1e5,-0.5,true,null]},"s"]} )",
      "file");
  std::vector<int64_t> numbers;
  std::string name;
  json.begin_object();
  ASSERT_TRUE(json.next_name(name));
  json.begin_list();
  while (json.next_item()) numbers.push_back(json.integer());
  EXPECT_EQ(numbers, (std::vector<int64_t>{1, -2, 3}));
  ASSERT_TRUE(json.next_name(name));
  json.begin_object();
  EXPECT_FALSE(json.next_name(name));
  ASSERT_TRUE(json.next_name(name));
  EXPECT_EQ(name, "cA");
  EXPECT_EQ(json.text(), "x\ty\U0001F600");
  ASSERT_TRUE(json.next_name(name));
  json.skip();
  EXPECT_FALSE(json.next_name(name));
  json.finish();
}

TEST(JsonReader, EveryMistakeIsNamed) {
  const auto skip = [](const char* text) {
    JsonReader json(text, "file");
    json.skip();
    json.finish();
  };
  EXPECT_ERROR(skip(""), kBadFile, "file: not valid JSON at byte 0: expected a value");
  EXPECT_ERROR(skip("[1,]"), kBadFile, "at byte 3: expected a value");
  EXPECT_ERROR(skip("[1 2]"), kBadFile, "at byte 3: expected ',' or ']'");
  EXPECT_ERROR(skip("{\"a\" 1}"), kBadFile, "at byte 5: expected ':'");
  EXPECT_ERROR(skip("{1:2}"), kBadFile, "at byte 1: expected a name in quotes");
  EXPECT_ERROR(skip("01"), kBadFile, "a number that starts with 0");
  EXPECT_ERROR(skip("1."), kBadFile, "at byte 2: expected a digit");
  EXPECT_ERROR(skip("-"), kBadFile, "at byte 1: expected a digit");
  EXPECT_ERROR(skip("1e+"), kBadFile, "at byte 3: expected a digit");
  EXPECT_ERROR(skip("\"\\x\""), kBadFile, "an unknown escape");
  EXPECT_ERROR(skip("\"\\u12g4\""), kBadFile, "expected four hexadecimal digits");
  EXPECT_ERROR(skip("\"\\u+123\""), kBadFile, "expected four hexadecimal digits");
  EXPECT_ERROR(skip("\"\\udc00\""), kBadFile, "half of a surrogate pair");
  EXPECT_ERROR(skip("\"\\ud800\\u0041\""), kBadFile, "half of a surrogate pair");
  EXPECT_ERROR(skip("\"a\nb\""), kBadFile, "a control character inside text");
  EXPECT_ERROR(skip("tru"), kBadFile, "expected a value");
  EXPECT_ERROR(skip("[] []"), kBadFile, "at byte 3: text after the end of the document");
  JsonReader json("[1.0]", "file");
  json.set_place("tensor", "a", "shape");
  json.begin_list();
  json.next_item();
  EXPECT_ERROR(json.integer(), kBadFile, "file: tensor 'a': 'shape' is '1.0', expected a whole number");
}

TEST(JsonWrite, WhatIsWrittenIsRead) {
  std::string everything;
  for (int c = 0; c < 128; ++c) everything += static_cast<char>(c);
  everything += "\u00e9\U0001F600";
  std::string json;
  append_json_text(json, everything);
  EXPECT_EQ(JsonReader(json, "file").text(), everything);
}

TEST(Ascii, OnlyItsLettersChange) {
  EXPECT_EQ(lower_ascii("AZ[@`az É"), "az[@`az É");
  EXPECT_TRUE(same_letters("Content-RANGE", "content-range"));
  EXPECT_FALSE(same_letters("É", "é"));
  EXPECT_FALSE(same_letters("[", "{"));
  EXPECT_FALSE(same_letters("ab", "abc"));
}

TEST(Ascii, BlanksAreTrimmedAtBothEnds) {
  EXPECT_EQ(trimmed("\r\n a \t b\t"), "a \t b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\ta ", " "), "\ta");
}

}  // namespace
}  // namespace wick
