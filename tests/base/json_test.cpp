#include "base/json.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace wick {
namespace {

TEST(Json, ReadsEveryKind) {
  const Json json = Json::parse(R"({"a": [1, -2, 3.5, 4.0], "b": {"c": true, "d": null}, "e": "x\u00e9\n"})", "doc");
  EXPECT_EQ(json.at("a").as_array()[1].as_int(), -2);
  EXPECT_EQ(json.at("a").as_array()[2].as_number(), 3.5);
  EXPECT_EQ(json.at("a").as_array()[3].as_int(), 4);
  EXPECT_TRUE(json.at("b").at("c").as_bool());
  EXPECT_TRUE(json.at("b").at("d").is_null());
  EXPECT_EQ(json.at("e").as_text(), "x\xc3\xa9\n");
  EXPECT_EQ(json.find("nothing"), nullptr);
  EXPECT_EQ(json.get("missing", 7), 7);
  EXPECT_EQ(json.at("b").get("d", 7), 7);
  EXPECT_EQ(json.get("e", "other"), "x\xc3\xa9\n");
  EXPECT_EQ(json.at("a").to<std::vector<double>>(), (std::vector<double>{1, -2, 3.5, 4}));
}

TEST(Json, MessagesNameThePlace) {
  const Json json = Json::parse(R"({"rope": {"factor": "high", "dims": [1, 2.5]}, "big": 5000000000})", "config.json");
  EXPECT_ERROR(json.at("rope").at("factor").as_number(), kBadFile,
               "config.json: 'rope.factor' is text, expected a number");
  EXPECT_ERROR(json.at("rope").at("dims").to<std::vector<int64_t>>(), kBadFile,
               "'rope.dims[1]' is a number, expected a whole");
  EXPECT_ERROR(json.at("rope").at("base"), kBadFile, "config.json: 'rope': 'base' is missing");
  EXPECT_ERROR(json.get("big", 1), kBadFile, "'big' is 5000000000, which is out of range");
  EXPECT_ERROR(json.get("rope", true), kBadFile, "is an object, expected true or false");
}

TEST(Json, RefusesBadDocuments) {
  EXPECT_ERROR(Json::parse("", "f"), kBadFile, "f: not valid JSON");
  EXPECT_ERROR(Json::parse("{\"a\": 1", "f"), kBadFile, "f: not valid JSON");
  EXPECT_ERROR(Json::parse("[1] [2]", "f"), kBadFile, "f: not valid JSON");
  EXPECT_ERROR(Json::parse("\"\xff\xfe\"", "f"), kBadFile, "f: not valid JSON");
  EXPECT_ERROR(Json::parse(R"({"a": 1, "b": 2, "a": 3})", "f"), kBadFile, "f: the name 'a' is given twice");
  EXPECT_ERROR(Json::parse(std::string(300, '[') + std::string(300, ']'), "f"), kBadFile, "f: not valid JSON");
  EXPECT_ERROR(Json::load("/no/such/file.json"), kIo, "/no/such/file.json: cannot open");
}

// The place that every value carries does not grow with the names around it.
TEST(Json, LongNamesAreCutInPlaces) {
  std::string text = cat("{\"", std::string(1000, 'n'), "\": {\"deep\": [");
  for (int i = 0; i < 1000; ++i) text += "1,";
  const Json json = Json::parse(text + "1]}}", "file");
  const Json& item = json.as_object()[0].second.at("deep").as_array()[7];
  EXPECT_LT(item.place().size(), 300u);
  EXPECT_ERROR(item.as_text(), kBadFile, "file: '...' is a number, expected text");
}

}  // namespace
}  // namespace wick
