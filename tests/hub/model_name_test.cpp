#include "hub/model_name.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

TEST(ModelName, TakesApartWhatUsersWrite) {
  struct Row {
    const char *text, *repo, *revision, *file, *variant;
  };
  for (const Row& row :
       {Row{"Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B", "main", "", ""}, Row{"gpt2", "gpt2", "main", "", ""},
        Row{"a/b@v1.0", "a/b", "v1.0", "", ""}, Row{"a/b@refs/pr/7", "a/b", "refs/pr/7", "", ""},
        Row{"a/b:Q4_K_M", "a/b", "main", "", "Q4_K_M"}, Row{"a/b@dev:UD-Q4_K_XL", "a/b", "dev", "", "UD-Q4_K_XL"},
        Row{"a/b/c.gguf", "a/b", "main", "c.gguf", ""}, Row{"a/b/c/d e.gguf@x", "a/b", "x", "c/d e.gguf", ""}}) {
    const auto name = parse_model_name(row.text);
    ASSERT_TRUE(name) << row.text;
    EXPECT_EQ(name->repo, row.repo);
    EXPECT_EQ(name->revision, row.revision);
    EXPECT_EQ(name->file, row.file);
    EXPECT_EQ(name->variant, row.variant);
    EXPECT_EQ(name->text(), row.text);
  }
}

TEST(ModelName, RefusesWhatCouldLeaveTheCache) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text :
       {""sv,        "/"sv,         "/etc/passwd"sv, "../x"sv,     "a/.."sv,     "a/../b"sv,       "a/b/../c"sv,
        "a/b/"sv,    "a//b"sv,      "./a"sv,         "~/a"sv,      "a/b@"sv,     "a/b@../x"sv,     "a/b@/x"sv,
        "a/b@x/"sv,  "a/b:"sv,      "a/b:x/y"sv,     "a/b:.."sv,   "a b/c"sv,    "a--b/c"sv,       "-a/b"sv,
        "a/b."sv,    "a/b..c"sv,    "a\\b/c"sv,      "a/b\0c"sv,   "a/b@x\0y"sv, "a/b/c\0.gguf"sv, "a/b/c\n"sv,
        "a/b@x@y"sv, "a/b:Q4:Q5"sv, "\xff/b"sv,      "a/b/\xff"sv, "a/b/c:Q4"sv, "a/b/c/../d"sv}) {
    const auto name = parse_model_name(text);
    if (text == "a/b:.."sv) {  // a variant is never part of a path
      EXPECT_TRUE(name);
      continue;
    }
    EXPECT_FALSE(name) << text;
  }
  EXPECT_TRUE(parse_model_name(std::string(96, 'a')));
  EXPECT_FALSE(parse_model_name(std::string(97, 'a')));
}

TEST(ModelName, FileNamesStayInTheirFolder) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view good : {"a"sv, "a/b/c.json"sv, "a b"sv, "...a"sv, "ä.json"sv, ".gitattributes"sv}) {
    EXPECT_TRUE(is_safe_file_name(good)) << good;
  }
  for (const std::string_view bad : {""sv, "/a"sv, "a/"sv, "a//b"sv, "."sv, ".."sv, "../a"sv, "a/../b"sv, "a/./b"sv,
                                     "a\0b"sv, "a\nb"sv, "a\\b"sv, "\xc3"sv, "a\x7f"sv}) {
    EXPECT_FALSE(is_safe_file_name(bad)) << bad;
  }
  EXPECT_FALSE(is_safe_file_name(std::string(256, 'a')));
  std::string deep = "a";
  for (int i = 0; i < 40; ++i) deep += "/a";
  EXPECT_FALSE(is_safe_file_name(deep));
}

}  // namespace
}  // namespace wick
