#include <gtest/gtest.h>

#include "schema_samples.h"
#include "schema_validator.h"
#include "support/errors.h"

namespace wick {
namespace {

const std::vector<SchemaCase>& cases() {
  static const std::vector<SchemaCase> kCases = {
      {"true", {"1", "\"x\"", "[1, {\"a\": null}]", "{}"}, {"", "tru", "[1,]"}},
      {"{}", {"null", "-1.5e3"}, {"01", "+1"}},
      {R"({"type": "null"})", {"null"}, {"0", "nul"}},
      {R"({"type": "boolean", "title": "x", "description": "y", "default": 3, "examples": [1], "x-note": 1})",
       {"true", "false"},
       {"1"}},
      {R"({"type": "integer"})", {"0", "-7", "123456789012345678"}, {"1.5", "-", "007", "1e3"}},
      {R"({"type": "number"})", {"0", "-7.25", "1E-9", "3"}, {".5", "1.", "\"1\""}},
      {R"({"type": "string"})",
       {R"("")", R"("é\n\"\\\/\u00e9\ud83d\ude00")", "\"😀\""},
       {"\"\n\"", R"("\x")", R"("\ud800")", "\"\xff\""}},
      {R"({"type": ["string", "null", "integer"]})", {"null", "3", "\"a\""}, {"true", "1.5"}},
      {R"({"enum": ["red", 3, null, [1, 2], {"a": 1}, "q\"\n"]})",
       {"\"red\"", "3", "null", "[1,2]", "[ 1, 2 ]", R"({"a": 1})", R"("q\"\n")"},
       {"\"re\"", "[1]", "4"}},
      {R"({"type": "string", "enum": ["a", 1, "bb", "ccc"], "maxLength": 2})", {"\"a\"", "\"bb\""}, {"1", "\"ccc\""}},
      {R"({"const": {"x": [true, 1.5]}})", {R"({"x":[true,1.5]})"}, {R"({"x":[true,1.25]})", "{}"}},
      {R"({"type": "integer", "minimum": 1, "maximum": 14})", {"1", "9", "10", "14"}, {"0", "15", "100", "-3"}},
      {R"({"type": "integer", "minimum": -23, "exclusiveMaximum": 105})",
       {"-23", "-9", "0", "99", "104"},
       {"-24", "105", "-30", "-0"}},
      {R"({"type": "integer", "exclusiveMinimum": 99})", {"100", "101", "999", "12345"}, {"99", "9", "-100", "1"}},
      {R"({"type": "integer", "maximum": -5})", {"-5", "-12", "-100"}, {"-4", "0", "5"}},
      {R"({"type": "integer", "minimum": 2.5, "maximum": 4.5})", {"3", "4"}, {"2", "5"}},
      {R"({"type": "number", "minimum": 0, "maximum": 1})", {"0", "1", "0.5", "1.0", "0.999"}, {"1.01", "-0.5", "2"}},
      {R"({"type": "number", "exclusiveMinimum": 0.25, "exclusiveMaximum": 10.5})",
       {"0.26", "0.251", "1", "10.49", "9.99999"},
       {"0.25", "0.250", "0.2", "10.5", "10.50", "11", "0"}},
      {R"({"type": "number", "minimum": -1.5, "maximum": 0})", {"-1.5", "-0.25", "0", "-1"}, {"-1.51", "0.1", "-2"}},
      {R"({"type": "number", "exclusiveMinimum": 0})", {"0.1", "3572.98", "1000000"}, {"0", "0.0", "-1"}},
      {R"({"type": "number", "maximum": -0.001})", {"-0.001", "-5"}, {"-0.0001", "0"}},
      {R"({"type": "number", "minimum": 0, "multipleOf": 0.01})", {"0", "1499.99", "95.5"}, {"0.001", "-1"}},
      {R"({"type": "integer", "multipleOf": 7})", {"0", "7", "-14", "7007"}, {"1", "8", "-15"}},
      {R"({"type": "integer", "minimum": 10, "maximum": 40, "multipleOf": 15})", {"15", "30"}, {"10", "45", "0"}},
      {R"({"type": "integer", "format": "uint8"})", {"0", "255"}, {"256", "-1"}},
      {R"({"type": "string", "minLength": 2, "maxLength": 4})",
       {R"("ab")", R"("é中😀")", R"("\n\u00e9x")", "\"abcd\""},
       {"\"a\"", "\"abcde\""}},
      {R"({"type": "string", "minLength": 3})", {"\"abc\"", "\"abcdefghij\""}, {"\"ab\""}},
      {R"({"type": "string", "maxLength": 0})", {"\"\""}, {"\"a\""}},
      {R"({"type": "string", "pattern": "^[a-z]{2}(-[A-Z]{2})?$"})",
       {"\"en\"", "\"en-GB\""},
       {"\"eng\"", "\"xen-GB\"", "\"en-gb\""}},
      {R"({"type": "string", "pattern": "b+"})", {"\"b\"", "\"abba\""}, {"\"aa\"", "\"\""}},
      {R"({"type": "string", "pattern": "^a|z$"})", {"\"a1\"", "\"1z\"", "\"az\""}, {"\"1a\"", "\"z1\""}},
      {R"({"type": "string", "pattern": "^(\\d+|[^\\w\\s]|\\t\"\\\\)$"})",
       {"\"042\"", "\"!\"", R"("\t\"\\")"},
       {"\"a\"", "\"4!\"", "\" \""}},
      {R"({"type": "string", "pattern": "^x*?y{2,3}(?:ab|c)+$"})",
       {"\"yyc\"", "\"xxyyyabcab\""},
       {"\"yc\"", "\"yyyyc\"", "\"yy\""}},
      {R"({"type": "string", "pattern": "^[a-z]+$", "minLength": 3, "maxLength": 5})",
       {"\"abc\"", "\"abcde\""},
       {"\"ab\"", "\"abcdef\"", "\"ab1\""}},
      {R"({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "z$"}, {"pattern": "[0-9]"}]})",
       {"\"a1z\"", "\"aa9zz\""},
       {"\"az\"", "\"1az\""}},
      {R"({"type": "string", "format": "date"})",
       {"\"2024-02-29\"", "\"1999-12-31\"", "\"2000-02-29\""},
       {"\"2023-02-29\"", "\"2024-13-01\"", "\"2024-04-31\"", "\"1900-02-29\""}},
      {R"({"type": "string", "format": "date-time"})",
       {"\"2024-06-30T09:15:00Z\"", "\"2024-06-30T23:59:59.123+02:00\""},
       {"\"2024-06-30\"", "\"2024-06-30T24:00:00Z\""}},
      {R"({"type": "string", "format": "uuid"})", {"\"3f2504e0-4f89-41d3-9a0c-0305e82c3301\""}, {"\"3f2504e0\""}},
      {R"({"type": "string", "format": "email"})", {"\"a.b+c@example.org\""}, {"\"a.example.org\"", "\"a@b\""}},
      {R"({"type": "string", "format": "ipv4"})", {"\"10.0.255.1\""}, {"\"10.0.256.1\"", "\"1.2.3\""}},
      {R"({"type": "array", "items": {"type": "integer"}})",
       {"[]", "[1]", "[1, 2,3]", "[\n 1\n]"},
       {"[1.5]", "[1,]", "[\"a\"]"}},
      {R"({"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 3})",
       {"[true,false]", "[true,true,true]"},
       {"[]", "[true]", "[true,true,true,true]"}},
      {R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"}},
      {R"({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"type": "null"}, "minItems": 1})",
       {"[\"a\"]", "[\"a\", 1]", "[\"a\", 1, null, null]"},
       {"[]", "[1]", "[\"a\", 1, 2]"}},
      {R"({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false})",
       {"[]", "[\"a\", 1]"},
       {"[\"a\", 1, 2]"}},
      {R"({"type": "array", "prefixItems": [{}, {}, {}], "maxItems": 2})", {"[]", "[1,2]"}, {"[1,2,3]"}},
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}}, "required": ["b"], "additionalProperties": false})",
       {R"({"b": "x"})", R"({"a": 1, "b": ""})", R"({"b":"","c":null})", "{\"a\":1,\n\"b\":\"\",\"c\":null}"},
       {"{}", R"({"a":1})", R"({"b":"","d":1})", R"({"b":1})", R"({"b":"",})"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false})",
       {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
       {R"({"c":1})"}},
      {R"({"type": "object", "properties": {"name": {"type": "string"}, "nam": {"type": "null"}}, "additionalProperties": {"type": "integer"}})",
       {R"({"name": "x", "n": 1, "names": 2, "": 3})", R"({"na": 1})", R"({"é": 1})", R"({"nam": null, "x": 1})"},
       {R"({"name": 1})", R"({"n": "x"})", R"({"nam": 3})", R"({"n\u0061me": 1})"}},
      {R"({"type": "object", "required": ["k"], "additionalProperties": {"type": "boolean"}})",
       {R"({"k": true})", R"({"k": true, "j": false})"},
       {"{}", R"({"k": 1})"}},
      {R"({"properties": {"a": {"type": "integer"}}, "required": ["a"]})",
       {R"({"a": 1})", R"({"a": 1, "z": []})"},
       {"{}"}},
      {R"({"type": "object", "patternProperties": {"^x-[a-z]+$": {"type": "integer"}}, "additionalProperties": false})",
       {"{}", R"({"x-a": 1, "x-bc": 2})"},
       {R"({"y": 1})", R"({"x-a": "1"})"}},
      {R"({"type": "object", "propertyNames": {"enum": ["low", "high"]}, "additionalProperties": {"type": "number"}})",
       {"{}", R"({"high": 2.5})"},
       {R"({"mid": 1})"}},
      {R"({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer", "minimum": 5}]})",
       {"\"ab\"", "7"},
       {"\"abc\"", "4"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": false})",
       {R"({"a": 1})", R"({"b": 1})", R"({"a":1,"b":2})"},
       {"{}"}},
      {R"({"oneOf": [{"type": "string"}, {"type": "null"}]})", {"\"x\"", "null"}, {"1"}},
      {R"({"oneOf": [{"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
                     {"type": "object", "properties": {"kind": {"enum": ["square", "box"]}, "side": {"type": "number"}}, "required": ["kind", "side"]}]})",
       {R"({"kind": "circle", "r": 1})", R"({"kind": "box", "side": 2})"},
       {R"({"kind": "circle", "side": 1})"}},
      {R"({"oneOf": [{"type": "integer", "maximum": 3}, {"type": "integer", "minimum": 10}]})",
       {"3", "-1", "10"},
       {"5"}},
      {R"({"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "string"}, "a": {"minimum": 3}}, "required": ["b"]}]})",
       {R"({"a": 3, "b": "x"})", R"({"a": 10, "b": "x", "c": 1})"},
       {R"({"a": 2, "b": "x"})", R"({"a": 3})"}},
      {R"({"allOf": [{"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}, {"type": "object", "properties": {"a": {}}, "additionalProperties": false}]})",
       {"{}", R"({"a": 1})"},
       {R"({"b": 1})", R"({"a": "x"})"}},
      {R"({"$ref": "#/$defs/positive", "maximum": 9, "$defs": {"positive": {"type": "integer", "minimum": 1}}})",
       {"1", "9"},
       {"0", "10"}},
      {R"({"$ref": "#/definitions/node", "definitions": {"node": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/definitions/node"}, {"type": "null"}]}}, "required": ["v"], "additionalProperties": false}}})",
       {R"({"v": 1})", R"({"v": 1, "next": {"v": 2, "next": null}})"},
       {R"({"next": null})", R"({"v": 1, "next": {}})"}},
      {R"({"type": "array", "items": {"$ref": "#"}})", {"[]", "[[], [[]]]"}, {"[1]"}},
      {R"({"type": "object", "properties": {"a b/c~d": {"$ref": "#/properties/x%20y"}, "x y": {"type": "integer"}}, "additionalProperties": false})",
       {R"({"a b/c~d": 5})"},
       {R"({"a b/c~d": "5"})"}},
      {R"({"type": "object", "properties": {"never": false, "a": {"type": "null"}}, "additionalProperties": false})",
       {"{}", R"({"a": null})"},
       {R"({"never": 1})"}},
  };
  return kCases;
}

TEST(JsonSchema, AcceptsValidAndRefusesInvalidTexts) { expect_cases(cases()); }

TEST(JsonSchema, RandomWalksAlongTheMaskAreValid) {
  const SampleVocabulary vocabulary = make_vocabulary();
  std::mt19937 random(3);
  int made = 0;
  for (const SchemaCase& test : cases()) {
    SCOPED_TRACE(test.schema);
    const Json schema = Json::parse(test.schema, "schema");
    const SchemaValidator validator(schema);
    // The validator follows references plainly.
    const bool has_escapes = std::string_view(test.schema).find('%') != std::string_view::npos;
    for (const auto layout : {JsonLayout::kAny, JsonLayout::kOneLine}) {
      const Grammar grammar = Grammar::from_json_schema(schema, layout);
      for (int i = 0; i < 40; ++i) {
        const auto text = sample(grammar, vocabulary, random);
        if (!text) continue;
        try {
          const Json value = Json::parse(*text, "sample");
          ++made;
          EXPECT_TRUE(has_escapes || validator.is_valid(value)) << *text;
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("given twice"), std::string::npos) << error.what() << "\n" << *text;
        }
      }
    }
  }
  EXPECT_GT(made, 3000);
}

TEST(JsonSchema, LayoutOneLineAllowsOneSpace) {
  const Grammar grammar = Grammar::from_json_schema(
      Json::parse(R"({"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]})", "schema"),
      JsonLayout::kOneLine);
  EXPECT_TRUE(matches(grammar, R"({"a": [1, 2]})"));
  EXPECT_TRUE(matches(grammar, R"({"a":[1,2]})"));
  EXPECT_FALSE(matches(grammar, R"({"a":  [1,2]})"));
  EXPECT_FALSE(matches(grammar, R"({ "a":[1,2]})"));
}

TEST(JsonMode, ValuesAndObjects) {
  EXPECT_TRUE(matches(Grammar::json(), "[1, {\"a\": [true, null]}, \"x\", -0.5e-7]"));
  EXPECT_FALSE(matches(Grammar::json(), "{'a': 1}"));
  EXPECT_TRUE(matches(Grammar::json_object(), "{\"a\": {\"b\": []}}"));
  EXPECT_FALSE(matches(Grammar::json_object(), "[1]"));
}

struct BadSchema {
  const char* schema;
  const char* message;
};

TEST(JsonSchema, WhatCannotBeEnforcedIsAnErrorThatNamesThePlace) {
  const std::vector<BadSchema> bad = {
      {"3", "schema: expected a schema"},
      {R"({"type": "text"})", "'type': unknown type 'text'"},
      {R"({"type": 5})", "expected the name of a type"},
      {R"({"type": "any", "items": {"type": "array", "uniqueItems": true}})",
       "'items.uniqueItems': uniqueItems is supported where"},
      {R"({"not": {"type": "array", "uniqueItems": true}})", "the opposite of uniqueItems is not supported"},
      {R"({"not": {"unevaluatedProperties": false}})", "the opposite of unevaluatedItems and unevaluatedProperties"},
      {R"({"unevaluatedItems": false, "contains": {"type": "null"}})", "contains beside unevaluatedItems"},
      {R"({"type": "number", "multipleOf": 0.001234})", "'multipleOf': multipleOf with more than 1000 remainders"},
      {R"({"type": "integer", "multipleOf": 0})", "expected a number above 0"},
      {R"({"$schema": "http://json-schema.org/draft-03/schema#", "disallow": "string"})",
       "the keyword 'disallow' of draft 3"},
      {R"({"type": "string", "pattern": "(a)\\1"})", "back references are not supported"},
      {R"({"type": "string", "pattern": "\\p{L}"})", "'\\p' is not supported"},
      {R"({"type": "string", "pattern": "["})", "this '[' is not closed"},
      {R"({"patternProperties": {"[b": {}}})", "this '[' is not closed"},
      {R"j({"type": "string", "pattern": "(?<=^a)b"})j", "an assertion inside a look behind is not supported"},
      {R"({"type": "string", "pattern": "(a"})", "expected ')'"},
      {R"j({"type": "string", "pattern": "a)"})j", "this ')' was never opened"},
      {R"({"type": "string", "pattern": "*a"})", "nothing to repeat"},
      {R"({"type": "string", "pattern": 3})", "expected a regular expression"},
      {R"({"type": "string", "minLength": -1})", "expected a count"},
      {R"({"$ref": "#/$defs/gone"})", "'#/$defs/gone' does not exist"},
      {R"({"$ref": "https://example.org/schema"})", "is not part of this document, and nothing is fetched"},
      {R"({"$ref": "#"})", "refers to itself without an end"},
      {R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})", "without an end"},
      {R"({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}})",
       "without an end"},
      {R"({"anyOf": []})", "expected a list of schemas"},
      {R"({"type": "string", "enum": [1, 2]})", "matches no text at all"},
      {R"({"allOf": [{"type": "string"}, {"type": "integer"}]})", "matches no text at all"},
      {R"({"type": "object", "properties": {"a": false}, "required": ["a"]})", "matches no text at all"},
      {R"({"required": "a"})", "expected a list of names"},
      {R"({"type": "array", "items": 7})", "expected a schema"},
  };
  for (const BadSchema& test : bad) {
    SCOPED_TRACE(test.schema);
    EXPECT_ERROR(Grammar::from_json_schema(Json::parse(test.schema, "schema")), kInvalidArgument, test.message);
  }
}

}  // namespace
}  // namespace wick
