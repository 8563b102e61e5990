// The index over a folder's texts, and `wick search`.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/process.h"
#include "cli/search/passages.h"
#include "cli/search/search_index.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/sentence_folder.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

TEST(Passages, AreCutWhereSomethingEnds) {
  const std::string paragraph(400, 'a'), text = cat("\n\n", paragraph, "\n\n", paragraph, "\n\n", paragraph, "\n");
  const auto passages = passages_of(text);
  ASSERT_EQ(passages.size(), 2u);
  EXPECT_EQ(passages[0].text, cat(paragraph, "\n\n", paragraph));
  EXPECT_EQ(passages[0].line, 3);
  EXPECT_EQ(passages[1].line, 7);
  EXPECT_TRUE(passages_of(" \n\n ").empty());
  // No ends at all: whole characters, and nothing is lost.
  std::string long_text;
  for (int i = 0; i < 900; ++i) long_text += "é€";
  std::string all;
  for (const Passage& passage : passages_of(long_text)) {
    EXPECT_LE(passage.text.size(), 1000u);
    EXPECT_EQ(static_cast<unsigned char>(passage.text[0]) & 0xC0, 0xC0);
    all += passage.text;
  }
  EXPECT_EQ(all, long_text);
}

ProcessResult run_program(const std::vector<std::string>& arguments) {
  return run_process(WICK_PROGRAM, arguments, {});
}

class Search : public testing::Test {
 protected:
  void SetUp() override {
    try {
      Sqlite(folder_.path() / "try.sqlite");
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUnsupported) GTEST_SKIP() << error.what();
      throw;
    }
    write("one.md", "w9 w10 w11\n");
    write("sub/two.txt", "w30 w31 w32 w33\n");
    write("three.md", "w50 w51 w52\n");
    write(".hidden/four.md", "w9 w10 w11\n");
    write("five.bin", std::string("w9\0w10", 6));
    write("six.txt", "w9 \xff w10");
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((texts() / name).parent_path());
    std::ofstream(texts() / name, std::ios::binary) << text;
  }
  fs::path texts() const { return folder_.path() / "texts"; }
  fs::path index() const { return folder_.path() / "index"; }
  static std::shared_ptr<const Embedder> model() {
    static const TinySentences folder;
    static const auto embedder = Embedder::load(folder.path());
    return embedder;
  }
  std::vector<std::string> paths(const SearchIndex& index, const std::string& query, SearchIndex::By by) const {
    std::vector<std::string> paths;
    for (const Found& found : index.search(query, 10, by)) paths.push_back(found.path);
    return paths;
  }
  TempFolder folder_;
};
using By = SearchIndex::By;
using Paths = std::vector<std::string>;

TEST_F(Search, FindsWordsAndMeaning) {
  SearchIndex found(texts(), index(), model(), 1);
  const auto change = found.update();
  EXPECT_EQ(change.read, 3);  // those that are text
  EXPECT_EQ(change.passages, 3);
  EXPECT_EQ(change.embedded, 3);
  EXPECT_EQ(paths(found, "w31?", By::kWords), (Paths{"sub/two.txt"}));
  EXPECT_EQ(paths(found, "nothing", By::kWords), Paths());
  EXPECT_EQ(paths(found, "\" OR * NEAR(", By::kWords), Paths());  // is no syntax
  // By cosine, as the library computes it.
  const Tensor vectors =
      model()->embed(std::vector<std::string>{"w9 w10 w11", "w30 w31 w32 w33", "w50 w51 w52", "w9 w30"});
  std::vector<std::pair<double, std::string>> expected;
  const char* names[] = {"one.md", "sub/two.txt", "three.md"};
  for (int64_t i = 0; i < 3; ++i) {
    const std::span row(vectors.data<float>() + i * 64, 64), query(vectors.data<float>() + 3 * 64, 64);
    expected.emplace_back(-cosine(row, query), names[i]);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(paths(found, "w9 w30", By::kMeaning), (Paths{expected[0].second, expected[1].second, expected[2].second}));
  const std::vector<Found> both = found.search("w31 w30", 10);
  ASSERT_EQ(both.size(), 3u);
  EXPECT_EQ(both[0].path, "sub/two.txt");
  EXPECT_EQ(both[0].line, 1);
  EXPECT_EQ(both[0].snippet, "w30 w31 w32 w33");
  ASSERT_TRUE(both[0].vector_rank && both[0].word_rank);
  EXPECT_DOUBLE_EQ(both[0].score, 1.0 / 61 + 1 / (60.0 + static_cast<double>(*both[0].vector_rank)));
  EXPECT_FALSE(both[1].word_rank);
  EXPECT_EQ(found.search("w9", 1).size(), 1u);
  EXPECT_ERROR(found.search(" ", 3), kInvalidArgument, "the query is empty");
}

TEST_F(Search, LooksAtWhatHasChanged) {
  {
    SearchIndex first(texts(), index(), model(), 1);
    first.update();
  }
  {
    SearchIndex again(texts(), index(), model(), 1);
    const auto change = again.update();
    EXPECT_EQ(change.read + change.removed + change.embedded, 0);
    EXPECT_EQ(paths(again, "w9", By::kWords), (Paths{"one.md"}));
    EXPECT_ERROR(SearchIndex(texts(), index(), nullptr, 0), kIo, "is being used by another process");
  }
  write("one.md", "w80 w81");
  fs::remove(texts() / "three.md");
  write("new.md", "w9");
  {
    SearchIndex changed(texts(), index(), model(), 1);
    const auto change = changed.update();
    EXPECT_EQ(change.read, 2);
    EXPECT_EQ(change.removed, 1);
    EXPECT_EQ(change.embedded, 2);
    EXPECT_EQ(paths(changed, "w9", By::kWords), (Paths{"new.md"}));
    EXPECT_EQ(paths(changed, "w80 w81", By::kMeaning).front(), "one.md");
    EXPECT_EQ(paths(changed, "w51", By::kWords), Paths());
  }
  // Another model: all vectors anew. Vectors that were lost: those.
  {
    SearchIndex other(texts(), index(), model(), 2);
    EXPECT_EQ(other.update().embedded, 3);
  }
  fs::resize_file(index() / "vectors", 64 + 2 * 64 * 4 + 10);
  {
    SearchIndex lost(texts(), index(), model(), 2);
    EXPECT_EQ(lost.update().embedded, 1);
    EXPECT_EQ(paths(lost, "w9", By::kMeaning).size(), 3u);
  }
  // And words alone.
  SearchIndex words(texts(), index(), nullptr, 0);
  EXPECT_EQ(words.update().embedded, 0);
  EXPECT_EQ(paths(words, "w80", By::kBoth), (Paths{"one.md"}));
}

TEST_F(Search, ADamagedIndexIsASentence) {
  { SearchIndex(texts(), index(), nullptr, 0).update(); }
  std::ofstream(index() / "texts.sqlite", std::ios::binary) << std::string(5000, 'x');
  fs::remove(index() / "texts.sqlite-wal");
  EXPECT_ERROR(SearchIndex(texts(), index(), nullptr, 0), kBadFile, "texts.sqlite: file is not a database");
  EXPECT_ERROR(SearchIndex(texts() / "none", index(), nullptr, 0), kIo, "is no folder");
}

TEST_F(Search, TheCommandPrintsPlaces) {
  const auto words = run_program({"search", texts().string(), "w31", "--index", index().string()});
  EXPECT_EQ(words.exit_code, 0) << words.errors;
  EXPECT_EQ(words.output, "sub/two.txt:1\n    w30 w31 w32 w33\n");
  EXPECT_NE(words.errors.find("3 passages"), std::string::npos);
  const TinySentences model;
  const auto both = run_program({"search", texts().string(), "w31 w30", "--model", model.path().string(), "--json",
                                 "--top", "1", "--index", index().string()});
  EXPECT_EQ(both.exit_code, 0) << both.errors;
  EXPECT_NE(both.output.find(R"("path":"sub/two.txt","line":1,"score":)"), std::string::npos) << both.output;
  const auto none = run_program({"search", texts().string(), "w31", "--by", "meaning"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.errors.find("name one with --model"), std::string::npos);
}

}  // namespace
}  // namespace wick
