// Marian's folders: the pieces of source.spm under the ids of vocab.json.
#include <gtest/gtest.h>

#include <fstream>
#include <tuple>

#include "base/text.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "tokenizer/tokenizer.h"

namespace wick {
namespace {

using Pieces = std::vector<std::tuple<std::string, float, int>>;

void write(const std::filesystem::path& folder, const Pieces& pieces, const std::string& ids, int model_type = 1) {
  std::string out;
  for (const auto& [text, score, type] : pieces) {
    std::string piece = cat('\x0A', static_cast<char>(text.size()), text, '\x15');
    piece.append(reinterpret_cast<const char*>(&score), 4);
    piece += cat('\x18', static_cast<char>(type));
    out += cat('\x0A', static_cast<char>(piece.size()), piece);
  }
  out += cat('\x12', '\x02', '\x18', static_cast<char>(model_type));
  out += cat('\x1A', '\x04', '\x18', '\x01', '\x20', '\x01');  // a dummy prefix, one blank for many
  std::ofstream(folder / "source.spm", std::ios::binary) << out;
  std::ofstream(folder / "vocab.json") << ids;
}

const Pieces kPieces = {{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {"▁he", -1, 1}, {"ll", -2, 1},
                        {"o", -3, 1},    {"▁", -4, 1},  {"l", -5, 1},   {"h", -6, 1},   {"e", -7, 1}};
constexpr char kIds[] = R"({"</s>": 0, "<unk>": 1, "▁he": 7, "ll": 3, "o": 4, "▁": 5, "l": 6, "h": 2, "e": 8, "▁bon": 9,
                            "jour": 10, ">>fra<<": 11, "<pad>": 12})";

TEST(Marian, PiecesHaveTheIdsOfTheVocabulary) {
  const TempFolder folder;
  write(folder.path(), kPieces, kIds);
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  EXPECT_EQ(tokenizer.encode("hello"), (std::vector<int>{7, 3, 4, 0}));
  EXPECT_EQ(tokenizer.encode(">>fra<<  hello  hello"), (std::vector<int>{11, 7, 3, 4, 7, 3, 4, 0}));
  EXPECT_EQ(tokenizer.encode("hello z", {.add_special = false}), (std::vector<int>{7, 3, 4, 5, 1}));
  // The target's pieces are for decoding alone.
  EXPECT_EQ(tokenizer.encode("bonjour", {.add_special = false}).front(), 5);
  EXPECT_EQ(tokenizer.decode(std::vector<int>{12, 9, 10, 9, 10, 0}, true), "bonjour bonjour");
  EXPECT_EQ(tokenizer.special_ids().eos, 0);
  EXPECT_EQ(tokenizer.special_ids().pad, 12);
  EXPECT_EQ(tokenizer.vocab_size(), 13);
}

TEST(Marian, WhatDoesNotFitIsRefused) {
  const TempFolder folder;
  const auto refused = [&](const std::string& ids, ErrorCode code, const char* what, int type = 1) {
    write(folder.path(), kPieces, ids, type);
    try {
      Tokenizer::load(folder.path());
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  refused(R"({"</s>": 0, "<unk>": 1, "<pad>": 2})", ErrorCode::kUnsupported, "'▁he' has no id in vocab.json");
  std::string without = kIds;
  without.replace(without.find("<pad>"), 5, "<pat>");
  refused(without, ErrorCode::kBadFile, "has no <pad>");
  refused(R"({"</s>": "0"})", ErrorCode::kBadFile, "vocab.json");
  refused(R"({"</s>": -4})", ErrorCode::kBadFile, "vocab.json");
  refused(R"({"</s>": 99999999999})", ErrorCode::kBadFile, "vocab.json");
  refused(kIds, ErrorCode::kUnsupported, "unigram", 2);
}

}  // namespace
}  // namespace wick
