#include <gtest/gtest.h>

#include "base/text.h"
#include "schema_samples.h"
#include "support/errors.h"

namespace wick {
namespace {

TEST(SchemaKeywords, UnknownOnesAreAnnotations) {
  expect_cases({
      {R"({"type": "integer", "readonly": true, "name": "x", "version": 1, "links": [{"rel": "self"}], "javaType": "int", "comment": "c", "_format": "uuid", "$$target": "t", "options": {"type": "string"}})",
       {"1"},
       {"\"a\"", "1.5"}},
      {R"({"type": "string", "format": "carrier-pigeon", "contentEncoding": "base64", "deprecated": true})",
       {"\"a b\"", "\"\""},
       {"1"}},
      {R"({"properties": {"a": {"frobnicate": false}}, "additionalProperties": false})",
       {"{\"a\": 1}"},
       {"{\"b\": 1}"}},
  });
}

TEST(SchemaKeywords, Not) {
  expect_cases({
      {R"({"not": {"type": ["string", "object"]}})", {"1", "null", "[\"a\"]"}, {"\"a\"", "{}"}},
      {R"({"not": {"type": "integer"}})", {"1.5", "\"1\"", "-0.25"}, {"1", "1.0", "0", "1.000"}},
      {R"({"type": "number", "not": {"minimum": 3}})", {"2", "2.99", "-5"}, {"3", "3.0", "10"}},
      {R"({"type": "integer", "not": {"multipleOf": 3}})", {"1", "2", "-4", "100"}, {"0", "3", "-6", "999"}},
      {R"({"type": "number", "not": {"enum": [1, 2.5]}})",
       {"0", "10", "2.51", "2", "1.01"},
       {"1", "1.0", "2.5", "2.50"}},
      {R"({"type": "string", "not": {"enum": ["a", "abc", ""]}})",
       {"\"ab\"", "\"abcd\"", "\"b\"", "\"é\""},
       {"\"a\"", "\"abc\"", "\"\""}},
      {R"({"type": "string", "not": {"pattern": "^a.*z$"}})", {"\"az1\"", "\"b\"", "\"\""}, {"\"az\"", "\"abcz\""}},
      {R"({"type": "string", "not": {"minLength": 3}})", {"\"\"", "\"éé\""}, {"\"abc\""}},
      {R"({"type": "object", "not": {"required": ["a"]}})",
       {"{}", "{\"b\": 1}"},
       {"{\"a\": 1}", "{\"b\": 1, \"a\": 2}"}},
      {R"({"type": "object", "not": {"required": ["a", "b"]}})",
       {"{}", "{\"a\": 1}", "{\"b\": 1}"},
       {"{\"a\":1,\"b\":2}"}},
      {R"({"type": "object", "properties": {"a": {"type": "integer"}}, "not": {"properties": {"a": {"minimum": 5}}, "required": ["a"]}})",
       {"{}", "{\"a\": 4}", "{\"b\": 1}"},
       {"{\"a\": 5}", "{\"a\": 50}"}},
      {R"({"not": {"const": {"a": [1, true]}}})",
       {"{\"a\": [1]}", "{\"a\": [1, false]}", "{}", "{\"a\": [1, true], \"b\": 1}", "1"},
       {"{\"a\": [1, true]}"}},
      {R"({"enum": [true, false, null], "not": {"const": false}})", {"true", "null"}, {"false"}},
      {R"({"not": {"not": {"type": "null"}}})", {"null"}, {"1"}},
      {R"({"not": {"anyOf": [{"type": "string"}, {"minimum": 2}]}})", {"1", "-0.5"}, {"\"a\"", "2", "3.5", "null"}},
      {R"({"type": "array", "not": {"items": {"type": "integer"}}})", {"[\"a\"]", "[1, null]"}, {"[]", "[1, 2]"}},
      {R"({"type": "object", "not": {"additionalProperties": {"type": "integer"}}})",
       {"{\"a\": \"x\"}", "{\"a\": 1, \"b\": null}"},
       {"{}", "{\"a\": 1}"}},
      {R"({"type": "object", "not": {"propertyNames": {"maxLength": 1}}})",
       {"{\"ab\": 1}", "{\"a\":1,\"bc\":2}"},
       {"{}", "{\"a\": 1}"}},
  });
}

TEST(SchemaKeywords, IfThenElse) {
  expect_cases({
      {R"({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "x": {}}, "required": ["kind"],
           "if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["x"]}, "else": {"properties": {"x": false}}})",
       {R"({"kind": "a", "x": 1})", R"({"kind": "b"})"},
       {R"({"kind": "a"})", R"({"kind": "b", "x": 1})", "{}"}},
      {R"({"type": "integer", "if": {"minimum": 10}, "then": {"multipleOf": 5}})", {"3", "10", "15"}, {"11", "12"}},
      {R"({"type": "integer", "if": {"minimum": 10}, "else": {"multipleOf": 5}})", {"11", "5", "0"}, {"3", "-4"}},
      {R"({"type": "integer", "if": {"minimum": 10}})", {"3", "11"}, {"1.5"}},
      {R"({"type": "integer", "then": {"minimum": 10}, "else": false})", {"3"}, {"\"a\""}},
  });
}

TEST(SchemaKeywords, Dependencies) {
  const std::vector<const char*> valid = {"{}", "{\"b\": 1}", "{\"a\": 1, \"b\": 2}"},
                                 invalid = {"{\"a\": 1}", "{\"a\":1,\"c\":2}"};
  expect_cases({
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependencies": {"a": ["b"]}})", valid, invalid},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}})", valid, invalid},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependencies": {"a": {"required": ["b"]}}})", valid,
       invalid},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependentSchemas": {"a": {"required": ["b"]}}})", valid,
       invalid},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "$schema": "http://json-schema.org/draft-03/schema#", "dependencies": {"a": "b"}})",
       valid, invalid},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependentSchemas": {"a": {"properties": {"b": {"type": "null"}}}, "b": {"maxProperties": 1}}})",
       {"{}", "{\"a\": 1}", "{\"b\": 1}"},
       {"{\"a\": 1, \"b\": null}", "{\"b\": 1, \"c\": 1}"}},
  });
}

TEST(SchemaKeywords, Contains) {
  expect_cases({
      {R"({"type": "array", "contains": {"type": "string"}})",
       {"[\"a\"]", "[1, \"a\"]", "[1, \"a\", 2]"},
       {"[]", "[1, 2]"}},
      {R"({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}, "minContains": 2})",
       {"[5, 6]", "[1, 5, 2, 7]", "[5,5,5]"},
       {"[5]", "[1, 5]", "[\"a\", 5, 6]"}},
      {R"({"type": "array", "contains": {"const": 1}, "minContains": 0, "maxContains": 2})",
       {"[]", "[1, 1]", "[2, 1, 3, 1]"},
       {"[1, 1, 1]", "[1,2,1,1]"}},
      {R"({"type": "array", "contains": {"const": 1}, "minItems": 3, "maxItems": 4})",
       {"[1, 2, 3]", "[2, 2, 2, 1]"},
       {"[1, 2]", "[2, 2, 2]", "[1, 1, 1, 1, 1]"}},
      {R"({"type": "array", "allOf": [{"contains": {"type": "null"}}, {"contains": {"type": "boolean"}}]})",
       {"[null, true]", "[false, 1, null]"},
       {"[null]", "[true, false]"}},
      {R"({"type": "array", "prefixItems": [{"type": "integer"}], "contains": {"type": "string"}})",
       {"[1, \"a\"]"},
       {"[1]", "[\"a\"]"}},
      {R"({"type": "array", "not": {"contains": {"type": "null"}}})", {"[]", "[1]"}, {"[null]", "[1, null]"}},
  });
}

TEST(SchemaKeywords, UniqueItems) {
  std::string many = R"({"type": "array", "uniqueItems": true, "minItems": 2, "items": {"enum": [0)";
  for (int i = 1; i < 130; ++i) many += cat(",", i);
  many += "]}}";
  expect_cases({
      {R"({"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": true})",
       {"[]", "[\"b\"]", "[\"b\", 1, \"a\"]"},
       {"[\"a\", \"a\"]", "[1, \"a\", 1]", "[\"c\"]"}},
      {R"({"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": true, "minItems": 2, "maxItems": 2})",
       {"[\"b\", \"a\"]", "[1, \"b\"]"},
       {"[]", "[1]", "[1, 1]", "[\"a\", \"b\", 1]"}},
      {R"({"type": "array", "items": {"type": ["boolean", "null"]}, "uniqueItems": true})",
       {"[true, null, false]"},
       {"[null, null]"}},
      {R"({"type": "array", "items": {"anyOf": [{"const": 1}, {"enum": [2, 1.0]}]}, "uniqueItems": true})",
       {"[2, 1]"},
       {"[1, 1]", "[3]"}},
      {R"({"type": "array", "uniqueItems": true, "maxItems": 1})", {"[]", "[[1, 1]]"}, {"[1, 2]"}},
      {R"({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "uniqueItems": true})",
       {"[\"a\", 1]", "[\"a\"]"},
       {"[1]"}},
      {R"({"type": "array", "items": {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": true}})",
       {"[[1, 2], [1, 2]]", "[[2], []]"},
       {"[[1, 1]]", "[[1], [2, 2]]"}},
      {many.c_str(), {"[129, 64, 63, 0, 128]", "[1,65]"}, {"[64, 128, 64]", "[7]", "[0, 130]", "[129,129]"}},
      {R"({"type": "array", "uniqueItems": false})", {"[1, 1]"}, {"1"}},
  });
}

TEST(SchemaKeywords, PatternPropertiesBesideProperties) {
  expect_cases({
      {R"({"type": "object", "properties": {"abc": {"type": "integer"}, "xyz": {"type": "null"}}, "patternProperties": {"^a": {"maximum": 5}, "c$": {"minimum": 2}}, "additionalProperties": {"type": "string"}})",
       {R"({"abc": 3})", R"({"abc": 5, "xyz": null, "ab": 1, "bc": 7, "zz": "s"})", R"({"axc": 3})", R"({"ab": "s"})"},
       {R"({"abc": 6})", R"({"abc": 1})", R"({"axc": 1})", R"({"bc": 1})", R"({"zz": 1})", R"({"xyz": "s"})"}},
      {R"({"type": "object", "patternProperties": {"^[a-z]$": {"type": "integer"}, "^[0-9]+$": {"type": "boolean"}}, "additionalProperties": false})",
       {"{}", R"({"a": 1, "12": true})"},
       {R"({"aa": 1})", R"({"a": true})", R"({"1": 1})", R"({"": 1})"}},
      {R"({"type": "object", "patternProperties": {"^x-": {}}, "additionalProperties": false, "required": ["x-a"]})",
       {R"({"x-a": 1, "x-": 2})"},
       {"{}", R"({"x-b": 1})", R"({"x-a": 1, "y": 1})"}},
  });
}

TEST(SchemaKeywords, PropertyNames) {
  expect_cases({
      {R"({"type": "object", "properties": {"a": {}, "long": {}}, "propertyNames": {"maxLength": 2}})",
       {"{}", "{\"a\": 1, \"bc\": 2}"},
       {"{\"long\": 1}", "{\"abc\": 1}"}},
      {R"({"type": "object", "propertyNames": {"anyOf": [{"pattern": "^x"}, {"enum": ["a", "b"]}, {"minLength": 4}]}})",
       {"{\"a\": 1}", "{\"xy\": 1, \"abcd\": 2}"},
       {"{\"c\": 1}", "{\"abc\": 1}"}},
      {R"({"type": "object", "propertyNames": {"not": {"pattern": "^_"}}})",
       {"{\"a_\": 1}", "{\"\": 1}"},
       {"{\"_a\": 1}"}},
      {R"({"type": "object", "propertyNames": false})", {"{}"}, {"{\"a\": 1}"}},
  });
}

TEST(SchemaKeywords, MinAndMaxProperties) {
  expect_cases({
      {R"({"type": "object", "minProperties": 2})",
       {"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2,\"c\":3}"},
       {"{}", "{\"a\":1}"}},
      {R"({"type": "object", "maxProperties": 2})", {"{}", "{\"a\":1,\"b\":2}"}, {"{\"a\":1,\"b\":2,\"c\":3}"}},
      {R"({"type": "object", "maxProperties": 0})", {"{}", "{ }"}, {"{\"a\":1}"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": false, "minProperties": 1, "maxProperties": 2})",
       {"{\"b\":1}", "{\"a\":1,\"c\":1}"},
       {"{}", "{\"a\":1,\"b\":1,\"c\":1}"}},
      {R"({"type": "object", "properties": {"a": {}}, "required": ["a"], "minProperties": 3})",
       {"{\"a\":1,\"x\":1,\"y\":1}"},
       {"{\"a\":1}", "{\"a\":1,\"x\":1}", "{\"x\":1,\"y\":1,\"z\":1}"}},
  });
}

TEST(SchemaKeywords, OneOfThatOverlaps) {
  expect_cases({
      {R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})", {"1.5"}, {"1", "1.0", "\"a\""}},
      {R"({"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "multipleOf": 5}]})",
       {"3", "5", "-10", "9"},
       {"0", "15", "1", "-30"}},
      {R"({"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
       {"{\"a\":1}", "{\"b\":1,\"c\":1}"},
       {"{}", "{\"a\":1,\"b\":1}"}},
      {R"({"type": "string", "oneOf": [{"pattern": "^a"}, {"pattern": "z$"}, {"maxLength": 1}]})",
       {"\"ab\"", "\"bz\"", "\"\"", "\"b\""},
       {"\"a\"", "\"z\"", "\"abz\"", "\"bb\""}},
      {R"({"oneOf": [{"enum": [1, 2, "a"]}, {"enum": [2, 3]}, {"type": "string"}]})",
       {"1", "3", "\"b\""},
       {"2", "\"a\"", "4"}},
      {R"({"oneOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "object", "properties": {"a": {"minimum": 3}, "b": {"type": "string"}}}]})",
       {R"({"a": 1})", R"({"a": 4, "b": 1})", R"({"a": "s"})", R"({"b": 1})"},
       {"{}", R"({"a": 4})", R"({"b": "s"})", R"({"a": "s", "b": 1})", R"({"a": 2.5})"}},
  });
}

TEST(SchemaKeywords, Unevaluated) {
  expect_cases({
      {R"({"type": "object", "allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "unevaluatedProperties": false})",
       {"{}", "{\"a\":1,\"b\":1}"},
       {"{\"c\":1}"}},
      {R"({"type": "object", "anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": {"const": 1}}, "required": ["b"]}], "unevaluatedProperties": false})",
       {"{\"a\":1}", "{\"b\":1}", "{\"a\":1,\"b\":1}"},
       {"{}", "{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":1}"}},
      {R"({"type": "object", "if": {"required": ["a"], "properties": {"a": {}}}, "then": {"properties": {"b": {}}}, "unevaluatedProperties": {"type": "null"}})",
       {"{\"a\":1,\"b\":1}", "{\"b\":null}", "{\"a\":1,\"c\":null}"},
       {"{\"b\":1}", "{\"a\":1,\"c\":1}"}},
      {R"({"type": "array", "allOf": [{"prefixItems": [{}, {}]}], "unevaluatedItems": {"type": "integer"}})",
       {"[]", "[\"a\"]", "[\"a\", null, 1]"},
       {"[1, 2, \"a\"]"}},
      {R"({"type": "array", "prefixItems": [{}], "items": {"type": "null"}, "unevaluatedItems": false})",
       {"[1, null]"},
       {"[1, 1]"}},
      {R"({"type": "object", "properties": {"a": {}}, "not": {"not": {"properties": {"b": {}}}}, "unevaluatedProperties": false})",
       {"{\"a\":1}"},
       {"{\"b\":1}"}},
  });
}

TEST(SchemaKeywords, References) {
  expect_cases({
      {R"({"$ref": "#node", "$defs": {"n": {"$anchor": "node", "type": "integer"}}})", {"1"}, {"\"a\""}},
      {R"({"$id": "https://example.org/root", "$ref": "item.json", "$defs": {"i": {"$id": "item.json", "$ref": "#/$defs/x", "$defs": {"x": {"type": "null"}}}}})",
       {"null"},
       {"1"}},
      {R"({"$id": "https://example.org/a/root.json", "items": {"$ref": "../b/x#y"}, "type": "array", "$defs": {"i": {"$id": "/b/x", "$defs": {"z": {"$anchor": "y", "type": "string"}}}}})",
       {"[\"a\"]"},
       {"[1]"}},
      {R"j({"$id": "https://example.org/tree", "$dynamicAnchor": "node", "type": "object", "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}}, "additionalProperties": false})j",
       {R"({"children": [{"children": []}, {}]})"},
       {R"({"children": [1]})"}},
      {R"({"$schema": "https://json-schema.org/draft/2019-09/schema", "type": "array", "items": {"$recursiveRef": "#"}})",
       {"[[], [[]]]"},
       {"[1]"}},
      {R"({"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://x.org/", "properties": {"a": {"$ref": "#/definitions/p", "maximum": 3}}, "definitions": {"p": {"id": "#p", "type": "integer"}}, "required": ["a"]})",
       {"{\"a\": 7}"},
       {"{\"a\": \"x\"}", "{}"}},
      {R"({"properties": {"a": {"$ref": "#/$defs/p", "maximum": 3}}, "$defs": {"p": {"type": "integer"}}, "required": ["a"]})",
       {"{\"a\": 3}"},
       {"{\"a\": 7}"}},
  });
  EXPECT_ERROR(
      Grammar::from_json_schema(Json::parse(
          R"j({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "a", "$dynamicAnchor": "n", "$dynamicRef": "#n"}, "b": {"$id": "b", "$dynamicAnchor": "n"}}})j",
          "schema")),
      kInvalidArgument, "leads to different schemas");
}

TEST(SchemaKeywords, AssertionsInPatterns) {
  expect_cases({
      {R"j({"type": "string", "pattern": "^(?!.*--)[a-z-]+$"})j", {"\"a-b\"", "\"-\""}, {"\"a--b\"", "\"\"", "\"A\""}},
      {R"j({"type": "string", "pattern": "^(?=.*\\d)(?=.*[A-Z]).{4,}$"})j",
       {"\"aB3x\"", "\"0AAA\""},
       {"\"aaB3\\n\"", "\"abc3\"", "\"A1x\""}},
      {R"j({"type": "string", "pattern": "^((?!mode)(?!Mode).)*$"})j",
       {"\"mod\"", "\"\"", "\"moe mod e\""},
       {"\"mode\"", "\"xModex\""}},
      {R"j({"type": "string", "pattern": "\\bcat\\b"})j",
       {"\"cat\"", "\"a cat.\"", "\"é-cat\""},
       {"\"cats\"", "\"_cat\"", "\"concat\""}},
      {R"j({"type": "string", "pattern": "^a\\Bb?"})j", {"\"ab\"", "\"ax\""}, {"\"a\"", "\"a b\""}},
      {R"j({"type": "string", "pattern": "(?<!\\$)b$"})j", {"\"b\"", "\"ab\""}, {"\"$b\"", "\"ba\""}},
      {R"j({"type": "string", "pattern": "(?<=a|xx)b"})j", {"\"ab\"", "\"cxxb\""}, {"\"xb\"", "\"b\""}},
      {R"({"type": "string", "pattern": "^([^,]+(,|$)){3}$"})",
       {"\"a,b,c\"", "\"a,b,c,\""},
       {"\"a,b\"", "\"a,b,c,d\""}},
      {R"({"type": "string", "pattern": "a^b|^$"})", {"\"\""}, {"\"ab\"", "\"a^b\""}},
      {R"j({"type": "string", "pattern": "^x(?=y$|z)"})j", {"\"xy\"", "\"xzz\""}, {"\"xyy\"", "\"x\""}},
      {R"j({"type": "string", "pattern": "^(?!a(?!b)).*$"})j", {"\"ab\"", "\"b\"", "\"\""}, {"\"a\"", "\"ac\""}},
      {R"j({"type": "string", "pattern": "^(?<year>\\d{4})$", "maxLength": 4})j", {"\"2024\""}, {"\"202\""}},
  });
}

TEST(SchemaKeywords, Numbers) {
  expect_cases({
      {R"({"type": "number", "multipleOf": 0.25})", {"0", "1.25", "-3.5", "0.750"}, {"0.3", "1.125"}},
      {R"({"type": "number", "multipleOf": 1.5, "minimum": 2})", {"3", "4.5", "6.0"}, {"1.5", "0", "2", "4"}},
      {R"({"type": "integer", "multipleOf": 7, "minimum": 3, "exclusiveMaximum": 21})",
       {"7", "14"},
       {"0", "21", "-7", "8"}},
      {R"({"type": "number", "multipleOf": 86400, "minimum": 0, "maximum": 864000})",
       {"0", "86400", "864000"},
       {"86401", "950400"}},
      {R"({"type": "number", "allOf": [{"multipleOf": 4}, {"multipleOf": 6}]})", {"0", "12", "-24"}, {"4", "6", "8"}},
      {R"({"type": "number", "minimum": 0, "maximum": 1})", {"1e-06", "2.5E-3", "0.5"}, {"1e06", "-1e-6", "1e6"}},
      {R"({"type": "number", "exclusiveMinimum": 0})", {"1e-06"}, {"0e-6", "0"}},
      {R"({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 3, "exclusiveMinimum": true})",
       {"4"},
       {"3"}},
  });
}

TEST(SchemaKeywords, Formats) {
  expect_cases({
      {R"({"type": "string", "format": "uri"})",
       {"\"http://a.b/c?d=e#f\"", "\"urn:x\""},
       {"\"a\"", "\"//a\"", "\"http://a b\""}},
      {R"({"type": "string", "format": "iri"})", {"\"http://é.org/ü\""}, {"\"é\""}},
      {R"({"type": "string", "format": "uri-reference"})",
       {"\"../a#b\"", "\"https://a:80/\"", "\"\""},
       {"\"a:b c\"", "\"\\\\\""}},
      {R"({"type": "string", "format": "json-pointer"})", {"\"\"", "\"/a/~0~1\""}, {"\"a\"", "\"/~2\""}},
      {R"({"type": "string", "format": "regex"})",
       {"\"^a[b-]+(c|d)?$\"", "\"\\\\d{3}\""},
       {"\"*\"", "\"(\"", "\"[\"", "\"\\\\\""}},
      {R"({"type": "string", "format": "ipv6"})",
       {"\"::1\"", "\"2001:db8::8a2e:370:7334\"", "\"1:2:3:4:5:6:7:8\"", "\"::ffff:1.2.3.4\"", "\"1::\""},
       {"\"1:2:3\"", "\"1::2::3\"", "\"12345::\"", "\":::\""}},
      {R"({"oneOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "hostname"}]})",
       {},
       {"\"1.2.3.4\"", "\"a_b\""}},
      {R"({"type": "string", "format": "email", "maxLength": 20})",
       {"\"a@b.org\""},
       {"\"a@b\"", "\"abcdefghijklm@example.org\""}},
  });
}

// Named members are marked when they come, so that none comes twice and none is missing.
TEST(SchemaKeywords, MembersInAnyOrder) {
  expect_cases(
      {
          {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {}}, "required": ["a", "c"], "additionalProperties": false})",
           {R"({"a": 1, "b": "", "c": 2})", R"({"c": 2, "a": 1})", R"({"b": "", "c": 2, "a": 1})"},
           {"{}", R"({"a": 1})", R"({"c": 1, "b": ""})", R"({"a": 1, "c": 2, "a": 1})", R"({"c": 1, "a": ""})",
            R"({"a":1,})"}},
          {R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": {"type": "null"}})",
           {R"({"x": null, "a": 1, "y": null})", R"({"a": 1})"},
           {R"({"x": null})", R"({"x": 1, "a": 1})", R"({"a": 1, "a": 2})"}},
          {R"({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["c"], "additionalProperties": false, "minProperties": 2, "maxProperties": 2})",
           {R"({"c": 1, "a": 1})", R"({"b": 1, "c": 1})"},
           {R"({"c": 1})", R"({"a": 1, "b": 1})", R"({"a": 1, "b": 1, "c": 1})"}},
          {R"({"type": "array", "items": {"type": "object", "properties": {"a": {}, "b": {"$ref": "#/items"}}, "required": ["a"], "additionalProperties": false}})",
           {R"([{"b": {"a": 1}, "a": 2}, {"a": 1}])"},
           {R"([{"b": {"b": {"a": 1}}, "a": 2}])", R"([{"a": 1}, {}])"}},
          {R"({"type": "object", "properties": {"a": {}}, "not": {"additionalProperties": {"type": "integer"}, "properties": {"a": {}}}})",
           {R"({"x": 1, "y": "s", "a": 1})", R"({"y": "s"})"},
           {"{}", R"({"a": "s", "x": 1})"}},
      },
      MemberOrder::kAny);
  std::string schema = R"({"type": "object", "additionalProperties": false, "properties": {)", text = "{", twice;
  for (int i = 0; i < 70; ++i) schema += cat(i ? "," : "", "\"m", i, "\": {\"type\": \"integer\"}");
  schema += "}, \"required\": [\"m0\"";
  for (int i = 1; i < 70; ++i) schema += cat(",\"m", i, "\"");
  for (int i = 0; i < 70; ++i) text += cat(i ? "," : "", "\"m", i * 33 % 70, "\":", i);
  const Grammar grammar =
      Grammar::from_json_schema(Json::parse(schema + "]}", "schema"), JsonLayout::kAny, MemberOrder::kAny);
  EXPECT_TRUE(matches(grammar, text + "}"));
  EXPECT_FALSE(matches(grammar, text + ",\"m3\":1}"));
  EXPECT_FALSE(matches(grammar, text.substr(0, text.rfind(',')) + "}"));
}

}  // namespace
}  // namespace wick
