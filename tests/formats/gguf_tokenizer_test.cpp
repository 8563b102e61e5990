#include "formats/gguf/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/errors.h"
#include "support/fixtures.h"
#include "support/temp_folder.h"
#include "tokenizer/gguf_split.h"
#include "tokenizer/stages/pretokenizers.h"
#include "tokenizer/tokenizer.h"

namespace wick {
namespace {

// A folder with these files, converted.
Metadata convert(const std::string& tokenizer, const std::string& settings = "{}", const std::string& config = "{}") {
  const TempFolder folder;
  std::ofstream(folder.path() / "tokenizer.json") << tokenizer;
  std::ofstream(folder.path() / "tokenizer_config.json") << settings;
  return gguf_tokenizer(folder.path(), Json::parse(config, "config.json"));
}

std::vector<std::string> texts(const Metadata& metadata, const std::string& key) {
  const auto views = metadata.array(key).texts(key);
  return {views.begin(), views.end()};
}

std::vector<int64_t> integers(const Metadata& metadata, const std::string& key) {
  return metadata.array(key).integers(key);
}

TEST(GgufTokenizer, ByteLevelBpe) {
  const Metadata out = convert(
      R"({"added_tokens": [{"id": 4, "content": "<s>", "special": true}, {"id": 5, "content": "tool", "special": false},
                           {"id": 6, "content": "<|x|>", "special": false}],
          "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true},
                            {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}]},
          "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                             {"Sequence": {"id": "A", "type_id": 0}}], "pair": [],
                             "special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}}},
          "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120a": 3, "\u0120": 7},
                    "merges": ["a b", ["\u0120", "a"]]}})",
      R"({"eos_token": {"content": "<|x|>"}, "add_bos_token": false, "chat_template": [
          {"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]})",
      R"({"vocab_size": 9, "pad_token_id": 8, "eos_token_id": [1, 2]})");
  EXPECT_EQ(out.text("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(out.text("tokenizer.ggml.pre"), "smollm");
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens"),
            (std::vector<std::string>{"a", "b", "ab", "\u0120a", "<s>", "tool", "<|x|>", "\u0120", "[PAD8]"}));
  EXPECT_EQ(integers(out, "tokenizer.ggml.token_type"), (std::vector<int64_t>{1, 1, 1, 1, 3, 4, 3, 1, 5}));
  EXPECT_EQ(texts(out, "tokenizer.ggml.merges"), (std::vector<std::string>{"a b", "\u0120 a"}));
  EXPECT_EQ(out.integer("tokenizer.ggml.bos_token_id"), 4) << "what the tokenizer puts in front";
  EXPECT_EQ(out.integer("tokenizer.ggml.eos_token_id"), 6);
  EXPECT_EQ(out.integer("tokenizer.ggml.padding_token_id"), 8);
  EXPECT_TRUE(out.boolean("tokenizer.ggml.add_bos_token"));
  EXPECT_FALSE(out.boolean("tokenizer.ggml.add_eos_token"));
  EXPECT_EQ(out.text("tokenizer.chat_template"), "D");
  EXPECT_EQ(out.text("tokenizer.chat_template.tool_use"), "T");
  EXPECT_EQ(texts(out, "tokenizer.chat_templates"), std::vector<std::string>{"tool_use"});
}

TEST(GgufTokenizer, SentencePieceBpe) {
  const Metadata out = convert(
      R"({"added_tokens": [{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true},
                           {"id": 7, "content": "\u2581\u2581", "special": false}],
          "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}]},
          "model": {"type": "BPE", "byte_fallback": true, "unk_token": "<unk>",
          "vocab": {"<unk>": 0, "<s>": 1, "<0x0A>": 2, "a": 3, "b": 4, "bb": 5, "abb": 6, "\u2581\u2581": 7},
          "merges": ["b b", "a bb"]}})",
      R"({"add_bos_token": true, "bos_token": "<s>", "unk_token": "<unk>"})");
  EXPECT_EQ(out.text("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(integers(out, "tokenizer.ggml.token_type"), (std::vector<int64_t>{2, 3, 6, 1, 1, 1, 1, 4}));
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens").at(7), "  ");
  const auto scores = out.array("tokenizer.ggml.scores").numbers("scores");
  EXPECT_EQ(scores.at(5), 0) << "the first merge";
  EXPECT_EQ(scores.at(6), -1) << "the second";
  EXPECT_LT(scores.at(3), scores.at(6));
  EXPECT_TRUE(out.boolean("tokenizer.ggml.add_space_prefix"));
  EXPECT_TRUE(out.boolean("tokenizer.ggml.add_bos_token"));
  EXPECT_EQ(out.find("tokenizer.ggml.merges"), nullptr);
}

// Gemma 4's files keep the merges of a tokenizer whose blanks are marks.
TEST(GgufTokenizer, MarkedBpeWithMerges) {
  const Metadata out = convert(
      R"({"added_tokens": [{"id": 0, "content": "<bos>", "special": true}],
          "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
          "model": {"type": "BPE", "byte_fallback": true,
          "vocab": {"<bos>": 0, "<0x0A>": 1, "a": 2, "\u2581": 3, "\u2581a": 4, "a\u2581a": 5},
          "merges": ["\u2581 a", "a \u2581a"]}})",
      R"({"add_bos_token": true, "bos_token": "<bos>"})", R"({"model_type": "gemma4_text"})");
  EXPECT_EQ(out.text("tokenizer.ggml.model"), "gemma4");
  EXPECT_EQ(texts(out, "tokenizer.ggml.merges"), (std::vector<std::string>{"\u2581 a", "a \u2581a"}));
  EXPECT_FALSE(out.boolean("tokenizer.ggml.add_space_prefix"));
  const Tokenizer tokenizer = Tokenizer::from_gguf(gguf_vocabulary_of(out, "written"));
  EXPECT_EQ(tokenizer.encode("a a\n a"), (std::vector<int>{0, 5, 1, 4}));
  EXPECT_EQ(tokenizer.decode(std::vector<int>{5, 1, 4}), "a a\n a");
}

TEST(GgufTokenizer, WordPiece) {
  const Metadata out = convert(
      R"({"added_tokens": [{"id": 0, "content": "[CLS]", "special": true}],
          "model": {"type": "WordPiece", "vocab": {"[CLS]": 0, "play": 1, "##ing": 2}}})",
      R"({"cls_token": "[CLS]"})", R"({"type_vocab_size": 2})");
  EXPECT_EQ(out.text("tokenizer.ggml.model"), "bert");
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens"), (std::vector<std::string>{"[CLS]", "\u2581play", "ing"}));
  EXPECT_EQ(out.integer("tokenizer.ggml.cls_token_id"), 0);
  EXPECT_EQ(out.integer("tokenizer.ggml.token_type_count"), 2);
}

TEST(GgufTokenizer, TokensThatNobodyNamesAreLeftOut) {
  const Metadata out = convert(R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
                                   "model": {"type": "BPE", "vocab": {"a": 0, "": 1}, "merges": []}})");
  for (const char* name : {"bos", "eos", "unknown", "seperator", "padding", "cls", "mask"}) {
    EXPECT_EQ(out.find(cat("tokenizer.ggml.", name, "_token_id")), nullptr) << name;
  }
}

TEST(GgufTokenizer, SaysWhatCannotBeConverted) {
  const std::string bpe = R"("model": {"type": "BPE", "vocab": {"a": 0}, "merges": []})";
  EXPECT_ERROR(convert(R"({"model": {"type": "Unigram", "vocab": [["a", -1.5]]}})"), kUnsupported, "Unigram");
  EXPECT_ERROR(convert("{" + bpe + "}"), kUnsupported, "cuts words by nothing");
  EXPECT_ERROR(convert(R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "x+"}, "behavior": "Isolated"}, )" +
                       bpe + "}"),
               kUnsupported, "cuts words by 'x+', which GGUF has no name for");
  EXPECT_ERROR(convert(R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}, )" + bpe + "}"),
               kUnsupported, "a space in front");
  const std::string gpt2 = R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, )";
  EXPECT_ERROR(convert("{" + gpt2 + R"("model": {"type": "BPE", "vocab": {"a": 0, " ": 1, "a ": 2, "a a": 3},
                                       "merges": [["a", " "], ["a ", "a"]]}})"),
               kUnsupported, "merge 0 of 'a' and ' ' has a blank");
  EXPECT_ERROR(convert("{" + gpt2 + R"("model": {"type": "BPE", "vocab": {}, "merges": [], "ignore_merges": true}})"),
               kUnsupported, "(with ignore_merges), which GGUF has no name for");
  EXPECT_ERROR(convert(R"({"model": {"type": "BPE", "vocab": {"a": 9}, "merges": []}})", "{}", R"({"vocab_size": 4})"),
               kBadFile, "tokens up to id 9 but the model's vocab_size is 4");
}

TEST(GgufTokenizer, TextBecomesTheSameTokensAfterwards) {
  for (const char* name : {"llama3-like", "gpt4o-like", "deepseek3-like", "llama2-like"}) {
    SCOPED_TRACE(name);
    const auto path = [&](const char* ending) { return fixture_folders("tokenizers").front() / cat(name, ending); };
    const TempFolder folder;
    std::filesystem::copy_file(path(".tokenizer.json"), folder.path() / "tokenizer.json");
    const Metadata metadata = gguf_tokenizer(folder.path(), Json());
    const Tokenizer tokenizer = Tokenizer::from_gguf(gguf_vocabulary_of(metadata, "written"));
    EncodeOptions plain;
    plain.add_special = false;
    const Json cases = Json::load(path(".cases.json"));
    for (const Json& item : cases.at("cases").as_array()) {
      EXPECT_EQ(tokenizer.encode(item.at("text").as_text(), plain), item.at("ids").to<std::vector<int>>())
          << item.at("text").as_text();
    }
  }
}

std::string name_of(const std::string& steps, bool ignore_merges = false) {
  const Json json = Json::parse(R"({"type": "Sequence", "pretokenizers": [)" + steps + "]}", "t.json");
  std::vector<std::string> patterns;
  read_pretokenizer(json, true)->list_patterns(patterns);
  return std::string(gguf_split_name(patterns, ignore_merges).value_or("none"));
}

TEST(GgufSplit, KnowsThePatternsOfFamilies) {
  const auto split = [](const std::string& pattern, const std::string& what = R"("Isolated")") {
    return R"({"type": "Split", "pattern": {"Regex": ")" + pattern + R"("}, "behavior": )" + what + "}";
  };
  const std::string bytes = R"(, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})";
  const std::string start = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N})";
  const std::string end = R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";
  const std::string raw_end = R"(| ?[^\\s\\p{L}\\p{N}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+)";
  EXPECT_EQ(name_of(split(start + end) + bytes), "qwen2");
  EXPECT_EQ(name_of(split(start + raw_end) + bytes), "qwen2") << "line breaks that are not escaped";
  EXPECT_EQ(name_of(split(start + "{1,3}" + end) + bytes, true), "llama-bpe");
  EXPECT_EQ(name_of(split(start + "{1,3}" + end) + bytes), "dbrx");
  EXPECT_EQ(name_of(split(start + "{1,3}" + end, R"("Removed", "invert": true)") + bytes), "dbrx");
  EXPECT_EQ(name_of(split(start + "{1,3}" + end, R"("Removed")") + bytes), "none");
  EXPECT_EQ(name_of(split(start + "{1,3}" + end, R"("MergedWithNext")") + bytes), "none");
  EXPECT_EQ(
      name_of(R"({"type": "Punctuation", "behavior": "Contiguous"}, {"type": "ByteLevel", "add_prefix_space": false,
                       "use_regex": true}, {"type": "Digits", "individual_digits": false}, )" +
              split("[0-9][0-9][0-9]")),
      "falcon");
  EXPECT_EQ(name_of(R"({"type": "Punctuation"}, {"type": "ByteLevel", "add_prefix_space": false}, )" +
                    split("[0-9][0-9][0-9]")),
            "none");
}

TEST(GgufSplit, WritesANameThatReadsBackTheSame) {
  for (const char* name : {"gpt-2",
                           "olmo",
                           "smollm",
                           "starcoder",
                           "llama3",
                           "llama-bpe",
                           "glm4",
                           "qwen2",
                           "qwen35",
                           "gpt-4o",
                           "granite-embed-multi-97m",
                           "cohere2moe",
                           "tekken",
                           "bloom",
                           "viking",
                           "seed-coder",
                           "hunyuan-dense",
                           "deepseek-llm",
                           "deepseek-coder",
                           "jais-2",
                           "laguna",
                           "minicpm5",
                           "youtu",
                           "chameleon",
                           "kimi-k2",
                           "superbpe",
                           "llada-moe",
                           "exaone-moe"}) {
    SCOPED_TRACE(name);
    const auto split = gguf_split(name);
    ASSERT_TRUE(split);
    const auto written = gguf_split_name({split->patterns.begin(), split->patterns.end()}, split->ignore_merges);
    ASSERT_TRUE(written);
    EXPECT_EQ(gguf_split(*written)->patterns, split->patterns);
    EXPECT_EQ(gguf_split(*written)->add_bos, split->add_bos);
  }
  EXPECT_EQ(gguf_split("falcon")->patterns.size(), 3u) << "its files list four steps";
  EXPECT_TRUE(gguf_split("default"));
  EXPECT_FALSE(gguf_split("nobody"));
}

}  // namespace
}  // namespace wick
