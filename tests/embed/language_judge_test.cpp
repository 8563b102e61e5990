// Language models that judge: by a head over their last token, or by whether they would say yes.
#include <gtest/gtest.h>

#include <cmath>

#include "embed/labelled.h"
#include "formats/safetensors/safetensors_writer.h"
#include "interp/language_interp.h"
#include "models/load_model.h"
#include "support/errors.h"
#include "support/with_head.h"

namespace wick {
namespace {

// The fixture of Qwen3 with a tokenizer that has its marks.
class TinyQwen {
 public:
  explicit TinyQwen(const std::string& architecture, const std::vector<NamedTensor>& head = {}) : folder(192) {
    const auto from = family_folder("qwen3");
    const Checkpoint base = Checkpoint::open(from / "model.safetensors");
    std::vector<NamedTensor> all = head;
    for (const TensorEntry& entry : base.entries()) all.push_back({entry.name, base.get(entry)});
    folder.write("model.safetensors", safetensors_bytes(all));
    std::string config = read(from / "config.json"), tokenizer = read(folder.path() / "tokenizer.json");
    const size_t list = config.find("\"architectures\"");
    config.replace(list, config.find(']', list) + 1 - list,
                   cat(R"("architectures": [")", architecture, R"("], "id2label": {"0": "LABEL_0"})"));
    folder.write("config.json", config);
    const auto rename = [&](const std::string& old, const std::string& name) {
      tokenizer.replace(tokenizer.find(old), old.size(), name);
    };
    rename(R"("w180")", R"("yes")");
    rename(R"("w181")", R"("no")");
    rename(R"("w182")", R"("<|im_start|>")");
    rename(R"("w183")", R"("<think>")");
    folder.write("tokenizer.json", tokenizer);
  }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TinySentences folder;
};

TEST(LanguageJudge, SaysYesOrNo) {
  const TinyQwen qwen("Qwen3ForCausalLM");
  const auto judge = Classifier::load(qwen.folder.path());
  EXPECT_EQ(judge->labels(), (std::vector<std::string>{"relevant"}));
  const std::vector<std::string> documents = {"w9 w10", "w30", "w50 w51 w52"};
  const std::vector<double> scores = relevance(*judge, "w7 w8", documents, false);
  const LanguageInterp interp(load_model(WeightSource(Checkpoint::open(qwen.folder.path()))));
  for (size_t i = 0; i < documents.size(); ++i) {
    const EncoderInput read = judge->read({"w7 w8", documents[i]});
    const Tensor logits = interp.run(read.tokens, {}, LogitRows::kLast);
    const double yes = logits.data<float>()[180], no = logits.data<float>()[181];
    EXPECT_NEAR(scores[i], std::exp(yes) / (std::exp(yes) + std::exp(no)), 1e-5) << i;
  }
  EXPECT_NE(scores, relevance(*judge, "w7 w8", documents, false, {}, "w100"));
  EXPECT_ERROR(judge->read({"w7"}), kInvalidArgument, "a query and a document together");
  EXPECT_ERROR(judge->read({"w7", " "}), kInvalidArgument, "nothing in the text");
}

// What a document spells of a control token is text, and a long one loses its end, never the question.
TEST(LanguageJudge, TheQuestionStays) {
  const TinyQwen qwen("Qwen3ForCausalLM");
  const auto judge = Classifier::load(qwen.folder.path());
  const std::vector<int32_t> shorter = judge->read({"w7", "w9"}).tokens, spelled = judge->read({"w7", "[SEP]"}).tokens;
  EXPECT_EQ(std::count(spelled.begin(), spelled.end(), 3), std::count(shorter.begin(), shorter.end(), 3));
  std::string words;
  for (int i = 0; i < 3000; ++i) words += cat("w", 5 + i % 100, " ");
  EXPECT_ERROR(judge->read({"w7", words}), kInvalidArgument, "the model takes ");
  const EncoderInput cut = judge->read({"w7", words}, true);
  EXPECT_TRUE(cut.is_cut);
  EXPECT_EQ(std::ssize(cut.tokens), judge->most_tokens());
  EXPECT_TRUE(std::equal(cut.tokens.end() - 4, cut.tokens.end(), shorter.end() - 4));
}

TEST(LanguageJudge, HeadsReadTheLastToken) {
  const TinyQwen qwen("Qwen3ForSequenceClassification", {made("score.weight", {1, 64})});
  const auto judge = Classifier::load(qwen.folder.path());
  const Checkpoint values = Checkpoint::open(family_folder("qwen3") / "reference.safetensors");
  const Tensor ids = values.get("input_ids"), last = values.get("hidden_2");
  EncoderInput text;
  for (int64_t i = 0; i < ids.numel(); ++i) text.tokens.push_back(static_cast<int32_t>(ids.data<int64_t>()[i]));
  double sum = 0;
  const NamedTensor score = made("score.weight", {1, 64});
  for (int64_t i = 0; i < 64; ++i) {
    sum += score.values.data<float>()[i] * last.data<float>()[(last.dim(1) - 1) * 64 + i];
  }
  const Tensor logits = judge->logits({&text, 1});
  EXPECT_NEAR(logits.data<float>()[0], sum, 1e-3);
  EXPECT_NEAR(judge->probabilities({logits.data<float>(), 1})[0], 1 / (1 + std::exp(-sum)), 1e-4);
}

TEST(LanguageJudge, OthersAreRefusedByName) {
  const TinySentences folder(192);
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(family_folder("llama") / name, folder.path() / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_ERROR(Classifier::load(folder.path()), kUnsupported, "of a 'LlamaForCausalLM' nothing judges texts");
}

}  // namespace
}  // namespace wick
