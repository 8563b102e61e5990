// The example of docs/add-a-model.md is the code of a family that is tested against PyTorch (families_test.cpp).
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "models/registry.h"
#include "support/places.h"

namespace wick {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(std::string(WICK_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(AddAModel, TheExampleIsTheCode) {
  const std::string guide = text_of("docs/add-a-model.md"), code = text_of("src/models/families/phi.cpp");
  ASSERT_FALSE(code.empty());
  EXPECT_NE(guide.find("<!-- src/models/families/phi.cpp -->\n```cpp\n" + code + "```"), std::string::npos)
      << "docs/add-a-model.md shows another phi.cpp than the one that is compiled";
  const Family* family = find_family("phi");
  ASSERT_NE(family, nullptr);
  EXPECT_NE(family->decoder, nullptr);
}

TEST(AddAModel, EveryFamilyIsListedOnce) {
  for (const Family& family : families()) {
    EXPECT_EQ(find_family(family.model_type), &family) << family.model_type;
    EXPECT_FALSE(family.title.empty());
    EXPECT_NE(family.decoder, nullptr) << family.model_type;
  }
}

}  // namespace
}  // namespace wick
