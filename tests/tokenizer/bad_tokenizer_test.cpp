// Each mistake in a file gives one sentence that names it.
#include <gtest/gtest.h>

#include <fstream>

#include "base/text.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "tokenizer/gguf_vocabulary.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_document.h"

namespace wick {
namespace {

std::string with(std::string_view model, std::string_view more = "") {
  return cat(R"({"version":"1.0",)", more, R"("model":)", model, "}");
}

constexpr std::string_view kSmall = R"({"type":"WordLevel","vocab":{"a":0,"b":1},"unk_token":"a"})";
std::string bpe(std::string_view vocab, std::string_view merges) {
  return with(cat(R"({"type":"BPE","vocab":)", vocab, R"(,"merges":)", merges, "}"));
}

TEST(BadTokenizer, Structure) {
  EXPECT_ERROR(Tokenizer::from_json(""), kBadFile, "not valid JSON");
  EXPECT_ERROR(Tokenizer::from_json("{\"a\":"), kBadFile, "not valid JSON");
  EXPECT_ERROR(Tokenizer::from_json("[]"), kBadFile, "is not a JSON object");
  EXPECT_ERROR(Tokenizer::from_json("{}"), kBadFile, "'model' is missing");
  EXPECT_ERROR(Tokenizer::from_json(with("3")), kBadFile, "'model' is missing or no object");
  EXPECT_ERROR(Tokenizer::from_json(with(R"({"type":"Magic"})")), kUnsupported, "no tokenizer model 'Magic'");
  EXPECT_ERROR(Tokenizer::from_json(with(R"({"type":7})")), kBadFile, "'type' is a number, expected text");
  EXPECT_ERROR(Tokenizer::load("/no/such/tokenizer.json"), kIo, "/no/such/tokenizer.json");
}

// Who only looks at a file is told of the same mistakes.
TEST(BadTokenizer, Document) {
  const auto document = [](const std::string& json) { return TokenizerDocument(json, "t.json"); };
  EXPECT_ERROR(document("{}"), kBadFile, "t.json: 'model' is missing");
  EXPECT_ERROR(document(with(R"({"type":"Magic"})")), kUnsupported, "t.json: there is no tokenizer model 'Magic'");
  EXPECT_ERROR(document(bpe("3", "[]")).vocab_size(), kBadFile, "'model.vocab' is missing or no object");
  EXPECT_ERROR(document(with(kSmall, R"("added_tokens":[{"id":-2,"content":"<x>"}],)")).vocab_size(), kBadFile,
               "the id -2 of '<x>'");
  EXPECT_EQ(document(with(kSmall, R"("added_tokens":[{"id":9,"content":"<x>"}],)")).vocab_size(), 10);
  for (const char* id : {"-1", "9223372036854775807"}) {
    EXPECT_ERROR(document(bpe(cat(R"({"a":)", id, "}"), "[]")).vocab_size(), kBadFile, cat("'a' has the id ", id));
  }
  // Files from before the kind was written.
  EXPECT_EQ(document(with(R"({"vocab":{},"merges":[]})")).model(), TokenizerDocument::Model::kBpe);
  EXPECT_EQ(document(with(R"({"vocab":[["a",-1]]})")).model(), TokenizerDocument::Model::kUnigram);
  EXPECT_EQ(document(with(R"({"vocab":[["a",-1],["b",-2]]})")).vocab_size(), 2);
  EXPECT_EQ(document(with(R"({"vocab":{},"continuing_subword_prefix":"##"})")).model(),
            TokenizerDocument::Model::kWordPiece);
  EXPECT_EQ(document(with(R"({"vocab":{}})")).model(), TokenizerDocument::Model::kWordLevel);
}

TEST(BadTokenizer, Vocabulary) {
  EXPECT_ERROR(Tokenizer::from_json(bpe("{}", "3")), kBadFile, "'model.merges' is missing or no list");
  EXPECT_ERROR(Tokenizer::from_json(bpe("[]", "[]")), kBadFile, "'model.vocab' is missing or no object");
  EXPECT_ERROR(Tokenizer::from_json(bpe(R"({"a":"x"})", "[]")), kBadFile, "the id of 'a' is no whole number");
  EXPECT_ERROR(Tokenizer::from_json(bpe(R"({"a":0,"b":0})", "[]")), kBadFile, "the id 0 is given to both 'a' and 'b'");
  EXPECT_ERROR(Tokenizer::from_json(bpe(R"({"a":0,"a":1})", "[]")), kBadFile, "'a' is given twice");
  EXPECT_ERROR(Tokenizer::from_json(bpe(R"({"a":-1})", "[]")), kBadFile, "the id -1 of 'a' is negative");
  EXPECT_ERROR(Tokenizer::from_json(bpe(R"({"a":4000000000})", "[]")), kBadFile, "far beyond the number of pieces");
  EXPECT_ERROR(Tokenizer::from_json(bpe(R"({"a":60000000})", "[]")), kBadFile, "the id 60000000 of 'a' is far beyond");
}

TEST(BadTokenizer, Merges) {
  const std::string_view vocab = R"({"a":0,"b":1,"ab":2,"":3})";
  EXPECT_ERROR(Tokenizer::from_json(bpe(vocab, R"(["ab"])")), kBadFile, "merge 0: 'ab' is not two pieces");
  EXPECT_ERROR(Tokenizer::from_json(bpe(vocab, R"(["a b c"])")), kBadFile, "is not two pieces");
  EXPECT_ERROR(Tokenizer::from_json(bpe(vocab, R"([["a","b"],["a","x"]])")), kBadFile,
               "merge 1: 'x' is not in the vocabulary");
  EXPECT_ERROR(Tokenizer::from_json(bpe(vocab, R"([["b","a"]])")), kBadFile, "merge 0: 'ba' is not in the vocabulary");
  EXPECT_ERROR(Tokenizer::from_json(bpe(vocab, R"([["a",""]])")), kBadFile, "make 'a' again, which never ends");
  EXPECT_ERROR(Tokenizer::from_json(bpe(vocab, "[[1,2]]")), kBadFile, "merge 0 is not two pieces");
  EXPECT_ERROR(Tokenizer::from_json(with(R"({"type":"BPE","vocab":{},"merges":[],"unk_token":"?"})")), kBadFile,
               "'model.unk_token' '?' is not in the vocabulary");
}

TEST(BadTokenizer, AddedTokens) {
  EXPECT_ERROR(Tokenizer::from_json(with(kSmall, R"("added_tokens":[{"id":1,"content":"<x>"}],)")), kBadFile,
               "the added token '<x>' has the id 1 of 'b'");
  EXPECT_ERROR(Tokenizer::from_json(with(kSmall, R"("added_tokens":[{"id":99999999,"content":"<x>"}],)")), kBadFile,
               "the id 99999999 of '<x>' is far beyond the vocabulary of 2");
  EXPECT_ERROR(Tokenizer::from_json(with(kSmall, R"("added_tokens":[{"id":5}],)")), kBadFile, "content");
  EXPECT_ERROR(Tokenizer::from_json(with(kSmall, R"("added_tokens":3,)")), kBadFile, "expected");
}

TEST(BadTokenizer, Components) {
  const auto pre = [](std::string_view json) { return with(kSmall, cat(R"("pre_tokenizer":)", json, ",")); };
  EXPECT_ERROR(Tokenizer::from_json(pre(R"({"type":"Nothing"})")), kUnsupported, "no pre-tokenizer 'Nothing'");
  EXPECT_ERROR(Tokenizer::from_json(pre(R"({"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated"})")),
               kBadFile, "the regular expression '(a' is malformed");
  EXPECT_ERROR(Tokenizer::from_json(pre(R"({"type":"Split","pattern":{"Regex":"[a"},"behavior":"Isolated"})")),
               kBadFile, "has a '[' without a ']'");
  EXPECT_ERROR(Tokenizer::from_json(pre(R"({"type":"Split","pattern":{"Regex":"a"},"behavior":"Odd"})")), kBadFile,
               "there is no behavior 'Odd'");
  EXPECT_ERROR(Tokenizer::from_json(with(kSmall, R"("normalizer":{"type":"NFX"},)")), kUnsupported, "'NFX'");
  EXPECT_ERROR(Tokenizer::from_json(with(kSmall, R"("decoder":{"type":"X"},)")), kUnsupported, "no decoder 'X'");
  EXPECT_ERROR(Tokenizer::from_json(with(kSmall, R"("post_processor":{"type":"X"},)")), kUnsupported, "'X'");
  EXPECT_ERROR(
      Tokenizer::from_json(with(kSmall, R"("post_processor":{"type":"BertProcessing","cls":["a",0],"sep":["c",7]},)")),
      kBadFile, "the id 7 is not in the vocabulary of 2");
  EXPECT_ERROR(
      Tokenizer::from_json(with(kSmall, R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"},)")),
      kBadFile, "table of replacements");
  EXPECT_ERROR(Tokenizer::from_json(with(kSmall, R"("padding":{"strategy":{"Fixed":99999999999},"pad_id":0},)")),
               kBadFile, "'padding' asks for a length");
}

// XLM-RoBERTa, Pegasus and others give the pieces of their models other numbers, by rules that no file holds.
TEST(BadTokenizer, PiecesWithNumbersOfTheirOwn) {
  const TempFolder bpe, pegasus;
  std::ofstream(bpe.path() / "sentencepiece.bpe.model") << "\n\x05";
  EXPECT_ERROR(Tokenizer::load(bpe.path()), kUnsupported, "numbers of its own for these pieces");
  std::ofstream(pegasus.path() / "spiece.model") << "\n\x05";
  EXPECT_ERROR(Tokenizer::load(pegasus.path()), kBadFile, "no SentencePiece model");
  std::ofstream(pegasus.path() / "tokenizer_config.json") << R"({"tokenizer_class": "PegasusTokenizerFast"})";
  EXPECT_ERROR(Tokenizer::load(pegasus.path()), kUnsupported, "(PegasusTokenizerFast): the model has numbers");
}

TEST(BadTokenizer, OtherFiles) {
  EXPECT_ERROR(Tokenizer::from_sentencepiece("\n\x05"), kBadFile, "no SentencePiece model");
  EXPECT_ERROR(Tokenizer::from_sentencepiece(""), kBadFile, "holds no pieces");
  EXPECT_ERROR(Tokenizer::from_tiktoken("IQ== 0\n!!! 1\n", ""), kBadFile,
               "line 2 is not a token in base64 and its rank");
  EXPECT_ERROR(Tokenizer::from_tiktoken("IQ== 0\nIg== 0\n", ""), kBadFile, "the id 0 is given to both");
  EXPECT_ERROR(Tokenizer::from_tiktoken("", ""), kBadFile, "holds no tokens");

  GgufVocabulary gguf;
  gguf.model = "gpt2";
  EXPECT_ERROR(Tokenizer::from_gguf(gguf), kBadFile, "'tokenizer.ggml.tokens' is missing or empty");
  gguf.tokens = {"a", "b"};
  gguf.pre = "nobody";
  EXPECT_ERROR(Tokenizer::from_gguf(gguf), kUnsupported, "'tokenizer.ggml.pre' is 'nobody'");
  gguf.pre = "gpt-2";
  gguf.merges = {"ab"};
  EXPECT_ERROR(Tokenizer::from_gguf(gguf), kBadFile, "merge 0: 'ab' is not two pieces");
  gguf.merges.clear();
  gguf.bos_id = 7;
  EXPECT_ERROR(Tokenizer::from_gguf(gguf), kBadFile, "'tokenizer.ggml.bos_token_id' is 7, but there are 2 tokens");
  gguf.bos_id.reset();
  gguf.token_types = {1};
  EXPECT_ERROR(Tokenizer::from_gguf(gguf), kBadFile, "'tokenizer.ggml.token_type' has 1 entries for 2 tokens");
  gguf.token_types.clear();
  gguf.tokens = {"a", "\xFF"};
  EXPECT_ERROR(Tokenizer::from_gguf(gguf), kBadFile, "token 1 is not valid UTF-8");
  gguf.tokens = {"a"};
  gguf.model = "abacus";
  EXPECT_ERROR(Tokenizer::from_gguf(gguf), kUnsupported, "there is no tokenizer 'abacus'");
}

TEST(BadTokenizer, TextThatCannotBeEncoded) {
  const Tokenizer tokenizer = Tokenizer::from_json(with(R"({"type":"WordLevel","vocab":{"a":0}})"));
  EXPECT_ERROR(tokenizer.encode("b"), kInvalidArgument, "no token for 'b' and none for the unknown");
}

}  // namespace
}  // namespace wick
