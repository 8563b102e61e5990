#include "formats/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/pre_tokenizer.h"
#include "formats/tokenizer_json.h"
#include "support/errors.h"
#include "support/temp_folder.h"

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
                             {"Sequence": {"id": "A", "type_id": 0}}]},
          "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120a": 3}, "merges": ["a b", "\u0120 a"]}})",
      R"({"eos_token": {"content": "<|x|>"}, "add_bos_token": false, "chat_template": [
          {"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]})",
      R"({"vocab_size": 8, "pad_token_id": 7, "eos_token_id": [1, 2]})");
  EXPECT_EQ(out.text("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(out.text("tokenizer.ggml.pre"), "smollm");
  EXPECT_EQ(texts(out, "tokenizer.ggml.tokens"),
            (std::vector<std::string>{"a", "b", "ab", "\u0120a", "<s>", "tool", "<|x|>", "[PAD7]"}));
  EXPECT_EQ(integers(out, "tokenizer.ggml.token_type"), (std::vector<int64_t>{1, 1, 1, 1, 3, 4, 3, 5}));
  EXPECT_EQ(texts(out, "tokenizer.ggml.merges"), (std::vector<std::string>{"a b", "\u0120 a"}));
  EXPECT_EQ(out.integer("tokenizer.ggml.bos_token_id"), 4) << "what the tokenizer puts in front";
  EXPECT_EQ(out.integer("tokenizer.ggml.eos_token_id"), 6);
  EXPECT_EQ(out.integer("tokenizer.ggml.padding_token_id"), 7);
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

TEST(GgufTokenizer, SaysWhatCannotBeConverted) {
  const std::string bpe = R"("model": {"type": "BPE", "vocab": {"a": 0}, "merges": []})";
  EXPECT_ERROR(convert(R"({"model": {"type": "Unigram", "vocab": [["a", -1.5]]}})"), kUnsupported, "Unigram");
  EXPECT_ERROR(convert("{" + bpe + "}"), kUnsupported, "cuts words by nothing");
  EXPECT_ERROR(convert(R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "x+"}, "behavior": "Isolated"}, )" +
                       bpe + "}"),
               kUnsupported, "cuts words by 'x+', which GGUF has no name for");
  EXPECT_ERROR(convert(R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}, )" + bpe + "}"),
               kUnsupported, "a space in front");
  EXPECT_ERROR(convert(R"({"model": {"type": "BPE", "vocab": {"a": 9}, "merges": []}})", "{}", R"({"vocab_size": 4})"),
               kBadFile, "tokens up to id 9 but the model's vocab_size is 4");
}

TEST(TokenizerJson, NamesTheFieldAtFault) {
  const auto parse = [](const char* text) { return TokenizerJson::parse(text, "t.json"); };
  EXPECT_ERROR(parse("{}"), kBadFile, "t.json: 'model' is missing");
  EXPECT_ERROR(parse(R"({"model": {"type": "Magic"}})"), kBadFile, "'model.type' is 'Magic'");
  EXPECT_ERROR(parse(R"({"model": {"vocab": {"a": -1}}})"), kBadFile, "has the id -1");
  EXPECT_ERROR(parse(R"({"model": {"vocab": {"a": 99999999999}}})"), kBadFile, "has the id 99999999999");
  EXPECT_ERROR(parse(R"({"model": {"merges": [["a"]]}})"), kBadFile, "merge 0 has 1 parts");
  EXPECT_ERROR(parse(R"({"model": {"merges": [["a", "b", "c"]]}})"), kBadFile, "merge 0 has more than two");
  EXPECT_ERROR(parse(R"({"added_tokens": [{"id": 1}], "model": {}})"), kBadFile, "content");
  EXPECT_ERROR(parse(R"({"model": {"vocab": {"a": 0})"), kBadFile, "t.json");
}

TEST(PreTokenizer, KnowsThePatternsOfFamilies) {
  const auto name = [](const std::string& pattern, bool ignore_merges) {
    TokenizerJson tokenizer;
    tokenizer.ignore_merges = ignore_merges;
    tokenizer.pre_tokenizer = Json::parse(
        R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": ")" + pattern +
            R"("}, "behavior": "Isolated"}, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})",
        "t.json");
    return std::string(gguf_pre_tokenizer(tokenizer));
  };
  const std::string start = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N})";
  const std::string end = R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";
  EXPECT_EQ(name(start + end, false), "qwen2");
  EXPECT_EQ(name(start + "{1,3}" + end, true), "llama-bpe");
  EXPECT_EQ(name(start + "{1,3}" + end, false), "dbrx");
}

}  // namespace
}  // namespace wick
