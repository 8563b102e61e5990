#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "base/text.h"
#include "grammar_samples.h"
#include "schema_validator.h"

namespace wick {
namespace {

// Random schemas of every keyword, and random values small enough to satisfy them now and then.
class SchemaMaker {
 public:
  explicit SchemaMaker(uint32_t seed) : random_(seed) {}

  // The type is always given: without one, schemas with properties or items mean objects and lists only.
  std::string schema(int depth) {
    if (depth == 0 && one_in(6)) return one_in(2) ? "true" : "false";
    std::string out = "{\"type\":";
    out += one_in(3)
               ? pick({"\"integer\"", "\"string\"", "\"array\"", "\"object\"", "[\"object\",\"null\"]", "\"number\""})
               : R"(["null","boolean","number","string","array","object"])";
    const int count = 1 + below(3);
    used_.emplace_back();
    for (int i = 0; i < count; ++i) out += keywords(depth);
    used_.pop_back();
    return out + "}";
  }

  std::string value(int depth) {
    switch (below(depth > 0 ? 9 : 5)) {
      case 0: return pick({"null", "true", "false"});
      case 1:
      case 2: return pick({"0", "1", "2", "3", "-1", "2.5", "6"});
      case 3:
      case 4: return pick({"\"\"", "\"a\"", "\"b\"", "\"ab\"", "\"ba\"", "\"abb\"", "\"é\""});
      case 5:
      case 6: {
        std::string out = "[";
        for (int i = below(4); i > 0; --i) out += cat(out.size() > 1 ? "," : "", value(depth - 1));
        return out + "]";
      }
      default: {
        std::string out = "{";
        for (const char* name : {"c", "a", "ab", "b"}) {
          if (one_in(2)) out += cat(out.size() > 1 ? "," : "", "\"", name, "\":", value(depth - 1));
        }
        return out + "}";
      }
    }
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }
  bool one_in(int count) { return below(count) == 0; }
  std::string pick(std::vector<const char*> options) {
    return options[static_cast<size_t>(below(static_cast<int>(options.size())))];
  }

  // Empty when the keyword has been used in this schema.
  std::string keyword(const std::string& name, const std::string& argument) {
    if (!used_.back().insert(name).second) return "";
    return cat(",\"", name, "\":", argument);
  }

  std::string list(int depth, int least) {
    std::string out;
    for (int i = least + below(2); i > 0; --i) out += cat(out.empty() ? "" : ",", schema(depth));
    return "[" + out + "]";
  }

  std::string keywords(int depth) {
    const std::string name = pick({"a", "b", "c"}), other = pick({"a", "b", "ab"});
    if (depth > 0 && one_in(2)) {
      switch (below(6)) {
        case 0: return keyword("allOf", list(depth - 1, 1));
        case 1: return keyword("anyOf", list(depth - 1, 2));
        case 2: return keyword("oneOf", list(depth - 1, 2));
        case 3: return keyword("not", schema(depth - 1));
        case 4:
          return keyword("if", schema(depth - 1)) + (one_in(3) ? "" : keyword("then", schema(depth - 1))) +
                 (one_in(2) ? "" : keyword("else", schema(depth - 1)));
        default: return keyword("$ref", "\"#/$defs/d\"");
      }
    }
    switch (below(depth > 0 ? 20 : 11)) {
      case 0:
        return keyword("enum", pick({"[1,\"a\",null]", "[\"a\",\"ab\",[1]]", "[{\"a\":1},2.5,true]", "[0,2,\"\"]"}));
      case 1: return keyword("const", pick({"1", "\"a\"", "{\"b\":\"a\"}", "[1,2]"}));
      case 2: return keyword(pick({"minimum", "exclusiveMinimum"}), pick({"0", "1", "1.5"}));
      case 3: return keyword(pick({"maximum", "exclusiveMaximum"}), pick({"0", "2", "2.5"}));
      case 4: return keyword("multipleOf", pick({"2", "3", "0.5", "1"}));
      case 5: return keyword(pick({"minLength", "maxLength"}), pick({"0", "1", "2"}));
      case 6:
        return keyword("pattern", pick({"\"^a\"", "\"b$\"", "\"^(a|b)*$\"", "\"^(?!ab)\"", "\"a(?=b)\"", "\"^$|b.\"",
                                        "\"(a$|b)b*$\"", "\"\\\\bb\"", "\"^a?b{0,2}$\""}));
      case 7: return keyword(pick({"minItems", "maxItems"}), pick({"0", "1", "2"}));
      case 8: return keyword(pick({"minProperties", "maxProperties"}), pick({"0", "1", "2"}));
      case 9: return keyword("required", cat("[\"", name, "\",\"", other, "\"]"));
      case 10: return keyword("dependentRequired", cat("{\"", name, "\":[\"", other, "\"]}"));
      case 11: return keyword("dependentSchemas", cat("{\"", name, "\":", schema(depth - 1), "}"));
      case 12:
        return keyword("contains", schema(depth - 1)) + (one_in(3) ? keyword("minContains", pick({"0", "2"})) : "") +
               (one_in(3) ? keyword("maxContains", pick({"1", "2"})) : "");
      case 13: return keyword("items", schema(depth - 1));
      case 14: return keyword("prefixItems", list(depth - 1, 1));
      case 15:
        return keyword("items", pick({"{\"enum\":[1,2,\"a\"]}", "{\"type\":[\"boolean\",\"null\"]}"})) +
               keyword("uniqueItems", "true");
      case 16: return keyword("propertyNames", schema(0));
      case 17:
        return keyword("patternProperties", cat("{\"", pick({"^a", "b", "^c$"}), "\":", schema(depth - 1), "}")) +
               keyword("additionalProperties", schema(0));
      case 18: return keyword(pick({"unevaluatedProperties", "unevaluatedItems"}), schema(0));
      default:
        return keyword("properties", cat("{\"", name, "\":", schema(depth - 1), ",\"ab\":", schema(depth - 1), "}"));
    }
  }

  std::mt19937 random_;
  std::vector<std::set<std::string>> used_;
};

// What one text keeps to under several grammars of random schemas, against a plain validator: in any order a text is
// accepted exactly if it is valid, in the schema's order only if it is valid.
TEST(SchemaRandom, AcceptsWhatAPlainValidatorDoes) {
  SchemaMaker make(5);
  int compiled = 0, refused = 0, accepted = 0, rejected = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = make.schema(2);
    text.insert(text.size() - 1, cat(",\"$defs\":{\"d\":", make.schema(1), "}"));
    if (text.find("$ref") != text.rfind("$ref")) continue;  // the definition may refer to itself
    SCOPED_TRACE(text);
    const Json schema = Json::parse(text, "schema");
    const SchemaValidator validator(schema);
    std::optional<Grammar> any, ordered;
    bool is_empty = false;
    try {
      any = Grammar::from_json_schema(schema, JsonLayout::kOneLine, MemberOrder::kAny);
      ordered = Grammar::from_json_schema(schema, JsonLayout::kOneLine);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
      is_empty = std::string_view(error.what()).find("matches no text") != std::string_view::npos;
      refused += !is_empty;
      if (!is_empty) continue;
    }
    compiled += !is_empty;
    for (int i = 0; i < 40; ++i) {
      const std::string value = make.value(2);
      const bool is_valid = validator.is_valid(Json::parse(value, "value"));
      ++(is_valid ? accepted : rejected);
      if (is_empty) {
        ASSERT_FALSE(is_valid) << value;
        continue;
      }
      ASSERT_EQ(matches(*any, value), is_valid) << value;
      ASSERT_LE(matches(*ordered, value), is_valid) << value;
    }
  }
  EXPECT_GT(compiled, 2000);
  EXPECT_LT(refused, compiled / 5);
  EXPECT_GT(accepted, 15000);
  EXPECT_GT(rejected, 15000);
}

}  // namespace
}  // namespace wick
