#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <tuple>

#include "base/utf8.h"
#include "support/errors.h"
#include "support/fixtures.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/stages/byte_level.h"

namespace wick {
namespace {

Tokenizer fixture(const std::string& name) {
  return Tokenizer::load(fixture_folders("tokenizers").front() / (name + ".tokenizer.json"));
}

std::vector<std::string> all_fixtures() {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(fixture_folders("tokenizers").front())) {
    const std::string name = item.path().filename().string();
    if (const size_t end = name.find(".tokenizer.json"); end != std::string::npos) names.push_back(name.substr(0, end));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string random_utf8(std::mt19937& random) {
  std::string text;
  for (unsigned n = random() % 60; n > 0; --n) {
    const unsigned kind = random() % 6;
    char32_t c = kind < 3    ? 32 + random() % 95
                 : kind == 3 ? random() % 0x800
                             : random() % (kind == 4 ? 0xD800 : 0x110000);
    if (c >= 0xD800 && c < 0xE000) c = '\n';
    append_utf8(text, c);
  }
  return text;
}

std::string random_bytes(std::mt19937& random) {
  std::string text(random() % 80, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST(Tokenizer, ByteLevelKindsGoRoundInCircles) {
  std::mt19937 random(11);
  for (const char* name : {"llama3-like", "gpt4o-like", "deepseek3-like"}) {
    const Tokenizer tokenizer = fixture(name);
    for (int i = 0; i < 3000; ++i) {
      const std::string text = random_utf8(random);
      ASSERT_EQ(tokenizer.decode(tokenizer.encode(text, {.add_special = false})), text) << name << in_quotes(text);
    }
  }
}

// What `most` promises: all tokens of a text that has no more, and too many of one that has; at no cost of its length.
TEST(Tokenizer, StopsWhereATextHasTooManyTokens) {
  std::mt19937 random(13);
  for (const std::string& name : all_fixtures()) {
    const Tokenizer tokenizer = fixture(name);
    for (int i = 0; i < 40; ++i) {
      std::string text = random_utf8(random);
      for (unsigned n = random() % 200; n > 0; --n)
        text += i % 4 ? random_utf8(random) : std::string(random() % 90, ' ');
      const auto whole = tokenizer.encode(text);
      for (const size_t most : {size_t{0}, size_t{1}, size_t{7}, size_t{100}, whole.size() - 1, whole.size()}) {
        EncodeOptions options;
        options.most = most;
        const auto some = tokenizer.encode(text, options);
        if (whole.size() <= most) {
          ASSERT_EQ(some, whole) << name << most;
        } else {
          ASSERT_GT(some.size(), most) << name;
          ASSERT_LE(some.size(), std::max(whole.size(), most + 1)) << name;
        }
      }
    }
  }
}

TEST(Tokenizer, StoppingCostsNothingOfTheRest) {
  const Tokenizer tokenizer = fixture("llama3-like");
  EncodeOptions options;
  options.most = 1000;
  for (const char* part : {"Some words, and more. ", "word", "\n", "<|begin_of_text|>", "\xC3\xA9"}) {
    std::string text;
    while (text.size() < (8u << 20)) text += part;
    const auto some = tokenizer.encode(text, options);
    EXPECT_GT(some.size(), 1000u) << part;
    EXPECT_LT(some.size(), 400'000u) << part;
  }
}

TEST(Tokenizer, AnyBytesCanBeEncodedByEveryKind) {
  std::mt19937 random(12);
  for (const std::string& name : all_fixtures()) {
    const Tokenizer tokenizer = fixture(name);
    for (int i = 0; i < 300; ++i) {
      const std::string text = i % 2 ? random_bytes(random) : random_utf8(random);
      const auto ids = tokenizer.encode(text);
      const Encoding encoding = tokenizer.encode_with_offsets(text);
      ASSERT_EQ(encoding.ids, ids) << name << in_quotes(text);
      for (const Span span : encoding.offsets) ASSERT_TRUE(span.begin <= span.end && span.end <= text.size()) << name;
      ASSERT_TRUE(is_utf8(tokenizer.decode(ids)));
    }
  }
}

// Long words take other ways through the merges than short ones.
TEST(Tokenizer, LongWordsMergeLikeShortOnes) {
  std::mt19937 random(13);
  const Tokenizer tokenizer = fixture("llama3-like");
  const Tokenizer marked = fixture("llama2-like");
  for (const size_t length : {41u, 300u, 700u, 5000u}) {
    for (const int letters : {1, 2, 26}) {
      std::string word;
      for (size_t i = 0; i < length; ++i) word += static_cast<char>('a' + random() % static_cast<unsigned>(letters));
      for (const Tokenizer* each : {&tokenizer, &marked}) {
        const auto ids = each->encode(word, {.add_special = false});
        // A stretch that ends where a token ends gives the same tokens when nothing crosses its end: check by decoding.
        EXPECT_EQ(each->decode(ids), word);
        Detokenizer steps(*each);
        std::string again;
        for (const int id : ids) again += steps.push(id);
        EXPECT_EQ(again + steps.finish(), word);
      }
    }
  }
}

using Merge = std::array<std::string, 2>;

// A byte-level tokenizer with these merges.
Tokenizer with_merges(const std::vector<Merge>& merges) {
  std::string vocab, list;
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    std::string letter = bytes_to_letters(std::string_view(&raw, 1));
    if (letter == "\"" || letter == "\\") letter.insert(0, "\\");
    vocab += cat(byte ? "," : "", "\"", letter, "\":", byte);
  }
  for (size_t i = 0; i < merges.size(); ++i) {
    vocab += cat(",\"", merges[i][0], merges[i][1], "\":", 256 + i);
    list += cat(i ? "," : "", "[\"", merges[i][0], "\",\"", merges[i][1], "\"]");
  }
  return Tokenizer::from_json(cat(
      R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{)",
      vocab, R"(},"merges":[)", list, "]}}"));
}

// Merging by the book: the leftmost pair of the lowest rank, one at a time.
std::vector<int> merged_by_the_book(const Tokenizer& tokenizer, const std::vector<Merge>& merges,
                                    const std::string& word) {
  std::vector<std::string> symbols;
  for (const char c : word) symbols.emplace_back(1, c);
  while (true) {
    size_t best = merges.size(), at = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rank = static_cast<size_t>(std::find(merges.begin(), merges.end(), Merge{symbols[i], symbols[i + 1]}) -
                                            merges.begin());
      if (rank < best) best = rank, at = i;
    }
    if (best == merges.size()) break;
    symbols[at] += symbols[at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  std::vector<int> ids;
  for (const std::string& symbol : symbols) ids.push_back(*tokenizer.id_of(symbol));
  return ids;
}

std::string random_word(std::mt19937& random, size_t length, unsigned letters) {
  std::string word;
  for (size_t i = 0; i < length; ++i) word += static_cast<char>('a' + random() % letters);
  return word;
}

TEST(Tokenizer, LongWordsMergeByTheBook) {
  const std::vector<Merge> merges = {{"a", "b"}, {"ab", "a"}, {"b", "a"}, {"a", "a"}, {"aa", "aa"}};
  const Tokenizer tokenizer = with_merges(merges);
  std::mt19937 random(14);
  for (const size_t length : {10u, 39u, 100u, 600u}) {
    for (int round = 0; round < 10; ++round) {
      std::string word;
      for (size_t i = 0; i < length; ++i) word += random() % (round % 3 + 1) ? 'b' : 'a';
      ASSERT_EQ(tokenizer.encode(word), merged_by_the_book(tokenizer, merges, word)) << word;
    }
  }
}

// Merges made up at random, in the order in which they build on each other or in any other.
TEST(Tokenizer, LongWordsMergeByTheBookWhateverTheMerges) {
  std::mt19937 random(15);
  for (int trial = 0; trial < 120; ++trial) {
    const unsigned letters = 1 + random() % 4;
    std::vector<std::string> pieces;
    for (unsigned i = 0; i < letters; ++i) pieces.emplace_back(1, static_cast<char>('a' + i));
    std::vector<Merge> merges;
    for (unsigned tries = 4 + random() % 20; tries > 0; --tries) {
      const Merge merge = {pieces[random() % pieces.size()], pieces[random() % pieces.size()]};
      const std::string result = merge[0] + merge[1];
      if (result.size() > 40 || std::find(pieces.begin(), pieces.end(), result) != pieces.end()) continue;
      merges.push_back(merge);
      pieces.push_back(result);
    }
    if (trial % 2 == 1) std::shuffle(merges.begin(), merges.end(), random);
    const Tokenizer tokenizer = with_merges(merges);
    for (const size_t length : {25u, 70u, 200u, 333u}) {
      std::string word = random_word(random, length, letters);
      if (trial % 3 == 0) {  // repeats itself
        const std::string unit = random_word(random, 1 + random() % 7, letters);
        for (size_t i = 0; i < word.size(); ++i) word[i] = unit[i % unit.size()];
      }
      ASSERT_EQ(tokenizer.encode(word), merged_by_the_book(tokenizer, merges, word)) << word;
    }
  }
}

// Without offsets, shorter ways are taken: tables instead of steps.
TEST(Tokenizer, OffsetsDoNotChangeTokens) {
  std::mt19937 random(12);
  for (const std::string& name : all_fixtures()) {
    const Tokenizer tokenizer = fixture(name);
    for (int i = 0; i < 300; ++i) {
      std::string text = i % 4 == 0 ? random_bytes(random) : random_utf8(random);
      if (i % 5 == 0) text += "\u0300\u0316\u302E\u0301 \u1100\u1161\u0130\u6F22\u1F600";
      EXPECT_EQ(tokenizer.encode(text), tokenizer.encode_with_offsets(text).ids) << name << ": " << in_quotes(text);
    }
  }
}

TEST(Tokenizer, ControlTokensAreAllowedForbiddenOrText) {
  const Tokenizer tokenizer = fixture("llama3-like");
  const int end = *tokenizer.id_of("<|eot_id|>");
  const std::string text = "a<|eot_id|>b";
  EXPECT_TRUE(tokenizer.is_special(end));
  EXPECT_EQ(tokenizer.encode(text, {.add_special = false})[1], end);
  EXPECT_ERROR(tokenizer.encode(text, {.special = SpecialTokens::kForbid}), kInvalidArgument,
               "the text holds the control token '<|eot_id|>' at byte 1");
  const auto ids = tokenizer.encode(text, {.add_special = false, .special = SpecialTokens::kAsText});
  for (const int id : ids) EXPECT_FALSE(tokenizer.is_special(id));
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text), true), "ab");
}

TEST(Tokenizer, NoControlTokenAcrossABreak) {
  const Tokenizer tokenizer = fixture("llama3-like");
  const int end = *tokenizer.id_of("<|eot_id|>");
  const std::string text = "<|eot_id|><|eot_id|>";
  const auto count = [&](const std::vector<uint32_t>& breaks) {
    const auto ids = tokenizer.encode(text, {.add_special = false, .breaks = breaks});
    EXPECT_EQ(tokenizer.decode(ids), text);
    EXPECT_EQ(tokenizer.encode_with_offsets(text, {.add_special = false, .breaks = breaks}).ids, ids);
    return std::count(ids.begin(), ids.end(), end);
  };
  EXPECT_EQ(count({}), 2);
  EXPECT_EQ(count({0, 10, 20}), 2) << "between them";
  EXPECT_EQ(count({1}), 1);
  EXPECT_EQ(count({9}), 1);
  EXPECT_EQ(count({5, 6, 7}), 1);
  EXPECT_EQ(count({5, 19}), 0);
}

TEST(Tokenizer, TextNeverBecomesAControlTokenInAnyKind) {
  for (const std::string& name : all_fixtures()) {
    const Tokenizer tokenizer = fixture(name);
    for (const AddedToken& token : tokenizer.added_tokens()) {
      if (!token.special) continue;
      for (const std::string& text : {token.content, "x " + token.content + " y", " " + token.content}) {
        const auto ids = tokenizer.encode(text, {.add_special = false, .special = SpecialTokens::kAsText});
        for (const int id : ids) {
          const bool unknown = id == tokenizer.special_ids().unk;
          EXPECT_TRUE(unknown || !tokenizer.is_special(id)) << name << ": " << text << " gives " << tokenizer.piece(id);
        }
      }
    }
  }
}

TEST(Tokenizer, Truncates) {
  const Tokenizer tokenizer = fixture("bert-like");
  const std::string text = "a b c d e f g h";
  EncodeOptions options;
  options.truncation = Truncation{.max_length = 5};
  const auto ids = tokenizer.encode(text, options);
  EXPECT_EQ(tokenizer.decode(ids), "[CLS] a b c [SEP]");
  options.truncation->from_left = true;
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, options)), "[CLS] f g h [SEP]");
  options.truncation = Truncation{.max_length = 9};
  EXPECT_EQ(tokenizer.decode(tokenizer.encode_pair(text, "x y z", options).ids), "[CLS] a b c [SEP] x y z [SEP]");
  options.truncation->strategy = Truncation::Strategy::kOnlySecond;
  EXPECT_ERROR(tokenizer.encode_pair(text, "x y z", options), kInvalidArgument, "nothing of the second text");
  options.truncation = Truncation{.max_length = 1};
  EXPECT_ERROR(tokenizer.encode(text, options), kInvalidArgument, "leaves no room for the 2 tokens");
}

TEST(Tokenizer, PadsABatchToTheLongest) {
  const Tokenizer tokenizer = fixture("bert-like");
  const std::vector<std::string_view> texts = {"a", "a b c", ""};
  EncodeOptions options;
  options.padding = Padding{.multiple_of = 4, .pad_id = 0};
  for (const Encoding& encoding : tokenizer.encode_batch(texts, options)) {
    ASSERT_EQ(encoding.ids.size(), 8u);
    EXPECT_EQ(encoding.ids.back(), 0);
    EXPECT_EQ(encoding.attention_mask.back(), 0);
    EXPECT_EQ(encoding.offsets.size(), 8u);
  }
  options.padding->on_left = true;
  EXPECT_EQ(tokenizer.encode_batch(texts, options)[0].ids[0], 0);
}

TEST(Tokenizer, OffsetsOfBrokenTextPointIntoIt) {
  const Tokenizer tokenizer = fixture("llama3-like");
  const std::string text =
      "ab\xFF\xFE"
      "cd";
  const Encoding encoding = tokenizer.encode_with_offsets(text, {.add_special = false});
  EXPECT_EQ(encoding.offsets.front().begin, 0u);
  EXPECT_EQ(encoding.offsets.back().end, text.size());
  EXPECT_EQ(tokenizer.decode(encoding.ids), "ab\uFFFD\uFFFDcd");
}

TEST(Tokenizer, ThreadsGetTheSameTokens) {
  const Tokenizer a = fixture("llama3-like"), b = fixture("gpt4o-like");
  std::mt19937 random(15);
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) texts.push_back(random_utf8(random));
  std::vector<std::vector<int>> expected;
  for (const std::string& text : texts) {
    expected.push_back(a.encode(text));
    expected.push_back(b.encode(text));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < texts.size(); ++i) {
        wrong += a.encode(texts[i]) != expected[2 * i];
        wrong += b.encode(texts[i]) != expected[2 * i + 1];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Detokenizer, EqualsTheWholeDecodeForEveryKind) {
  std::mt19937 random(16);
  for (const std::string& name : all_fixtures()) {
    const Tokenizer tokenizer = fixture(name);
    Detokenizer detokenizer(tokenizer);
    for (int i = 0; i < 500; ++i) {
      std::vector<int> ids;
      for (unsigned n = random() % 12; n > 0; --n)
        ids.push_back(static_cast<int>(random() % (tokenizer.vocab_size() + 2u)));
      std::string text;
      for (const int id : ids) {
        const std::string part = detokenizer.push(id);
        ASSERT_TRUE(is_utf8(part)) << name;
        text += part;
      }
      text += detokenizer.finish();
      ASSERT_EQ(text, tokenizer.decode(ids)) << name;
    }
  }
}

TEST(Tokenizer, Tiktoken) {
  std::string file;
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int byte = 0; byte < 256; ++byte) {
    file += cat(kAlphabet[byte >> 2], kAlphabet[(byte & 3) << 4], "== ", byte, "\n");
  }
  file += "YWI= 256\nYWJj 257\nIGFi 258\n";  // ab, abc, " ab"
  const Tokenizer tokenizer = Tokenizer::from_tiktoken(file, "");
  EXPECT_EQ(tokenizer.encode("abc ab abx"), (std::vector<int>{257, 258, 258, 'x'}));
  EXPECT_EQ(tokenizer.bytes(258), " ab");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("Größe 世界")), "Größe 世界");
}

// A SentencePiece model put together by hand.
std::string sentencepiece(int model_type, const std::vector<std::tuple<std::string, float, int>>& pieces) {
  std::string out;
  for (const auto& [text, score, type] : pieces) {
    std::string piece = cat('\x0A', static_cast<char>(text.size()), text, '\x15');
    piece.append(reinterpret_cast<const char*>(&score), 4);
    piece += cat('\x18', static_cast<char>(type));
    out += cat('\x0A', static_cast<char>(piece.size()), piece);
  }
  out += cat('\x12', '\x05', '\x18', static_cast<char>(model_type), '\x98', '\x02', '\x01');  // byte fallback
  out += cat('\x1A', '\x04', '\x18', '\x01', '\x20', '\x00');  // a dummy prefix, blanks are kept
  return out;
}

TEST(Tokenizer, SentencePiece) {
  std::vector<std::tuple<std::string, float, int>> pieces = {{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    pieces.emplace_back(cat("<0x", kDigits[byte >> 4], kDigits[byte & 15], ">"), 0, 6);
  }
  const float scores[] = {-1, -2, -3, -10, -11, -12, -13};
  const char* texts[] = {"he", "▁he", "ll", "h", "e", "l", "▁"};
  for (int i = 0; i < 7; ++i) pieces.emplace_back(texts[i], scores[i], 1);
  for (const int type : {1, 2}) {
    const Tokenizer tokenizer = Tokenizer::from_sentencepiece(sentencepiece(type, pieces));
    const auto ids = tokenizer.encode("hell é", {.special = SpecialTokens::kAsText});
    std::string shown;
    for (const int id : ids) shown += std::string(tokenizer.piece(id)) + " ";
    EXPECT_EQ(shown, "▁he ll ▁ <0xC3> <0xA9> ") << type;
    EXPECT_EQ(tokenizer.decode(ids), "hell é");
    EXPECT_EQ(tokenizer.special_ids().eos, 2);
    EXPECT_EQ(tokenizer.encode("he</s>").back(), 2);
    for (const int id : tokenizer.encode("he</s>", {.special = SpecialTokens::kAsText})) EXPECT_NE(id, 2);
  }
}

TEST(Tokenizer, GgufRwkvTakesTheLongest) {
  GgufVocabulary gguf;
  gguf.model = "rwkv";
  gguf.tokens = {"<s>", "a", "ab", "abc", "\\xe4", "\\xbd\\xa0", "\\n", "b"};
  const Tokenizer tokenizer = Tokenizer::from_gguf(gguf);
  EXPECT_EQ(tokenizer.encode("abcab\n你"), (std::vector<int>{3, 2, 6, 4, 5}));
  EXPECT_EQ(tokenizer.decode(std::vector<int>{3, 4, 5, 6}), "abc你\n");
}

TEST(Tokenizer, GgufT5FindsTheBestPath) {
  GgufVocabulary gguf;
  gguf.model = "t5";
  gguf.tokens = {"<pad>", "</s>", "<unk>", "▁", "a", "b", "▁ab", "ab"};
  gguf.scores = {0, 0, 0, -2, -3, -3, -4, -1};
  gguf.token_types = {3, 3, 2, 1, 1, 1, 1, 1};
  gguf.eos_id = 1;
  gguf.unk_id = 2;
  const Tokenizer tokenizer = Tokenizer::from_gguf(gguf);
  EXPECT_EQ(tokenizer.encode("ab xx"), (std::vector<int>{3, 7, 3, 2, 1}));
  EXPECT_EQ(tokenizer.decode(std::vector<int>{6, 6}), "ab ab");
}

}  // namespace
}  // namespace wick
