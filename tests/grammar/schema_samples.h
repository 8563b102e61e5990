#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "grammar_samples.h"

namespace wick {

struct SchemaCase {
  const char* schema;
  std::vector<const char*> valid, invalid;
};

inline void expect_cases(const std::vector<SchemaCase>& cases, MemberOrder order = MemberOrder::kSchema) {
  for (const SchemaCase& test : cases) {
    SCOPED_TRACE(test.schema);
    const Grammar grammar = Grammar::from_json_schema(Json::parse(test.schema, "schema"), JsonLayout::kAny, order);
    for (const char* text : test.valid) EXPECT_TRUE(matches(grammar, text)) << text;
    for (const char* text : test.invalid) EXPECT_FALSE(matches(grammar, text)) << text;
  }
}

}  // namespace wick
