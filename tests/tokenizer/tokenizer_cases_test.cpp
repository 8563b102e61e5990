#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/utf8.h"
#include "formats/checkpoint.h"
#include "formats/gguf/gguf_tokenizer.h"

#include "support/fixtures.h"

#include "tokenizer/detokenizer.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string out;
  std::vector<char> buffer(1 << 16);
  if (!pipe) return out;
  for (size_t read; (read = fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) out.append(buffer.data(), read);
  return out;
}

std::vector<fs::path> files_ending(const std::string& ending) {
  std::vector<fs::path> paths;
  for (const auto& folder : fixture_folders("tokenizers")) {
    for (const auto& item : fs::directory_iterator(folder)) {
      if (item.path().string().ends_with(ending)) paths.push_back(item.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string decode_in_steps(const Tokenizer& tokenizer, const std::vector<int>& ids) {
  Detokenizer detokenizer(tokenizer);
  std::string text;
  for (const int id : ids) {
    const std::string part = detokenizer.push(id);
    EXPECT_TRUE(is_utf8(part));
    text += part;
  }
  return text + detokenizer.finish();
}

// The tokenizer that x.cases.json is about: beside it, packed or not, or in models/x.
Tokenizer tokenizer_of(const fs::path& cases) {
  const std::string path = cases.string();
  const std::string stem = path.substr(0, path.size() - std::string(".cases.json").size());
  if (fs::exists(stem + ".tokenizer.json")) return Tokenizer::load(stem + ".tokenizer.json");
  if (fs::exists(stem + ".tokenizer.json.xz")) {
    return Tokenizer::from_json(output_of("xz -dc '" + stem + ".tokenizer.json.xz'"), stem + ".tokenizer.json");
  }
  return Tokenizer::load(cases.parent_path().parent_path() / "models" / fs::path(stem).filename());
}

std::vector<int> ints(const Json& json) { return json.to<std::vector<int>>(); }

// What only the repository's own cases say.
void check_more(const Tokenizer& tokenizer, const Json& item) {
  const std::string& text = item.at("text").as_text();
  if (const Json* decoded = item.find("decoded_without_special")) {
    EXPECT_EQ(tokenizer.decode(ints(item.at("with_special")), true), decoded->as_text());
  }
  if (const Json* pair = item.find("pair")) {
    const Encoding encoding = tokenizer.encode_pair(text, pair->at("text").as_text());
    EXPECT_EQ(encoding.ids, ints(pair->at("ids")));
    EXPECT_EQ(encoding.type_ids, ints(pair->at("type_ids")));
  }
  if (const Json* offsets = item.find("offsets")) {
    EncodeOptions plain;
    plain.add_special = false;
    const Encoding encoding = tokenizer.encode_with_offsets(text, plain);
    std::string got, expected;
    for (const Span span : encoding.offsets) got += cat("[", span.begin, ",", span.end, "]");
    for (const Json& span : offsets->as_array()) {
      expected += cat("[", span.as_array()[0].as_int(), ",", span.as_array()[1].as_int(), "]");
    }
    EXPECT_EQ(got, expected);
  }
}

TEST(TokenizerCases, TokenizerJson) {
  const auto files = files_ending(".cases.json");
  ASSERT_FALSE(files.empty());
  for (const fs::path& path : files) {
    SCOPED_TRACE(path.filename().string());
    const Tokenizer tokenizer = tokenizer_of(path);
    const Json file = Json::load(path);
    int failed = 0;
    for (const Json& item : file.at("cases").as_array()) {
      const std::string& text = item.at("text").as_text();
      SCOPED_TRACE(in_quotes(text));
      EncodeOptions plain;
      plain.add_special = false;
      const auto expected = ints(item.at("ids"));
      const auto ids = tokenizer.encode(text, plain);
      EXPECT_EQ(ids, expected);
      failed += ids != expected;
      EXPECT_EQ(tokenizer.encode_with_offsets(text, plain).ids, expected);
      EXPECT_EQ(tokenizer.encode(text), ints(item.at("with_special")));
      EXPECT_EQ(tokenizer.decode(expected), item.at("decoded").as_text());
      EXPECT_EQ(decode_in_steps(tokenizer, expected), item.at("decoded").as_text());
      check_more(tokenizer, item);
    }
    printf("%s: %zu cases, %d failed\n", path.filename().c_str(), file.at("cases").as_array().size(), failed);
  }
}

std::vector<std::string> split_text(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (size_t found; (found = text.find(separator)) != std::string_view::npos;) {
    parts.emplace_back(text.substr(0, found));
    text.remove_prefix(found + separator.size());
  }
  if (!text.empty()) parts.emplace_back(text);
  return parts;
}

std::string file_text(const fs::path& path) {
  const auto file = MappedFile::open(path);
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

TEST(TokenizerCases, GgufVocabularies) {
  for (const fs::path& path : files_ending(".gguf")) {
    SCOPED_TRACE(path.filename().string());
    const Checkpoint checkpoint = Checkpoint::open(path);
    const Tokenizer tokenizer = Tokenizer::from_gguf(gguf_vocabulary_of(checkpoint.metadata(), path.string()));
    const auto inputs = split_text(file_text(path.string() + ".inp"), "\n__ggml_vocab_test__\n");
    const auto outputs = split_text(file_text(path.string() + ".out"), "\n");
    ASSERT_EQ(inputs.size(), outputs.size());
    int failed = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::vector<int> expected;
      for (const std::string& word : split_text(outputs[i], " ")) {
        if (!word.empty()) expected.push_back(std::stoi(word));
      }
      EncodeOptions plain;
      plain.add_special = false;
      const auto ids = tokenizer.encode(inputs[i], plain);
      EXPECT_EQ(ids, expected) << i << ": " << in_quotes(inputs[i]);
      failed += ids != expected;
      EXPECT_EQ(decode_in_steps(tokenizer, ids), tokenizer.decode(ids));
    }
    printf("%s: %zu cases, %d failed\n", path.filename().c_str(), inputs.size(), failed);
  }
}

}  // namespace
}  // namespace wick
