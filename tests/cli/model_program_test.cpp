// Runs `wick inspect` and `wick quantize` as a user does.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/process.h"
#include "formats/checkpoint.h"
#include "formats/gguf/gguf_writer.h"
#include "support/file_bytes.h"
#include "support/lora_files.h"
#include "support/packed_layouts.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

ProcessResult wick(const std::vector<std::string>& arguments) { return run_process(WICK_PROGRAM, arguments, {}); }

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

int64_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

void write_file(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

// A tiny model of random weights with a tokenizer of a few words.
class ModelProgram : public testing::Test {
 protected:
  ModelProgram() : model_((folder_.path() / "tiny").string()) {
    fs::create_directories(model_);
    write_tiny_model(tiny_model("qwen3"), model_);
    write_file(fs::path(model_) / "tokenizer.json",
               R"({"added_tokens": [{"id": 4, "content": "<|end|>", "special": true}],
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "model": {"type": "BPE",
      "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3}, "merges": [["a", "b"]]}})");
    write_file(fs::path(model_) / "tokenizer_config.json",
               R"({"eos_token": "<|end|>", "chat_template": "{% for m in messages %}\n{{ m.content }}{% endfor %}"})");
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  // Names in the folder.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator(folder_.path())) names.push_back(item.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  TempFolder folder_;
  std::string model_;
};

TEST_F(ModelProgram, InspectShowsAFolder) {
  const auto result = wick({"inspect", model_});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  for (const char* part : {"qwen3", "parameters", "BPE, byte-level", "{% for m in messages %}", "attention", "norms",
                           "F32", "bits/weight", "KV cache", "together"}) {
    EXPECT_TRUE(contains(result.output, part)) << part << " in\n" << result.output;
  }
  EXPECT_FALSE(contains(result.output, "\033")) << "escape codes in a pipe";
}

TEST_F(ModelProgram, InspectListsTensorsAndMetadata) {
  ASSERT_EQ(wick({"quantize", model_, path("m.gguf"), "--type", "f16"}).exit_code, 0);
  const auto result = wick({"inspect", path("m.gguf"), "--tensors", "--metadata"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  for (const char* part : {"token_embd.weight", "blk.1.ffn_down.weight", "general.architecture", "array of text",
                           "tokenizer.ggml.model", "gpt2"}) {
    EXPECT_TRUE(contains(result.output, part)) << part << " in\n" << result.output;
  }
}

TEST_F(ModelProgram, InspectJsonIsWhole) {
  const auto result = wick({"inspect", model_, "--json", "--context", "100"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto report = nlohmann::json::parse(result.output);
  for (const char* key : {"path", "format", "files", "model", "total", "types", "groups", "quantization_config",
                          "tokenizer", "chat_template", "memory", "problems", "metadata", "tensors"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  const auto& model = report.at("model");
  EXPECT_EQ(model.at("architecture"), "qwen3");
  EXPECT_EQ(report.at("tensors").size(), Checkpoint::open(model_).entries().size());
  EXPECT_EQ(report.at("memory").at("context"), 100);
  const int64_t per_token = 2 * 2 * model.at("layers").get<int64_t>() * model.at("kv_heads").get<int64_t>() *
                            model.at("head_dim").get<int64_t>();
  EXPECT_EQ(report.at("memory").at("kv_cache"), 100 * per_token);
  int64_t weights = 0;
  for (const auto& group : report.at("groups")) weights += group.at("parameters").get<int64_t>();
  EXPECT_EQ(report.at("total").at("parameters"), weights);
  EXPECT_EQ(report.at("tokenizer").at("size"), 5);
}

TEST_F(ModelProgram, InspectCountsWeightsOfGroups) {
  write_checkpoint(model_, R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1,
      "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": true}})",
                   {{"model.layers.0.mlp.up_proj.qweight", zeros({16, 8}, DType::kI32)},
                    {"model.layers.0.mlp.up_proj.qzeros", zeros({1, 1}, DType::kI32)},
                    {"model.layers.0.mlp.up_proj.scales", zeros({1, 8}, DType::kF16)}});
  const auto report = nlohmann::json::parse(wick({"inspect", model_, "--json"}).output);
  EXPECT_EQ(report.at("total").at("parameters"), 128 * 8);
  EXPECT_EQ(report.at("types").at(0).at("name"), "GPTQ 4 bit");
  EXPECT_EQ(report.at("quantization_config").at("group_size"), 128);
  EXPECT_TRUE(contains(wick({"inspect", model_}).output, "gptq, bits 4, group_size 128, desc_act yes"));
}

TEST_F(ModelProgram, InspectCountsWeightsInPieces) {
  LayoutRandom random(1);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [suffix, part] : pack_bnb4(8, 128, 64, true, true, random).parts) {
    tensors.emplace_back("model.layers.0.mlp.up_proj" + suffix, part);
  }
  write_checkpoint(model_, R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1,
      "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}})",
                   tensors);
  const auto report = nlohmann::json::parse(wick({"inspect", model_, "--json"}).output);
  EXPECT_EQ(report.at("total").at("parameters"), 128 * 8);
  EXPECT_EQ(report.at("types").size(), 1u);
  EXPECT_EQ(report.at("types").at(0).at("name"), "NF4");
}

TEST_F(ModelProgram, InspectWorksWithoutSettings) {
  fs::remove(fs::path(model_) / "config.json");
  fs::remove(fs::path(model_) / "tokenizer.json");
  const auto result = wick({"inspect", (fs::path(model_) / "model.safetensors").string()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(contains(result.output, "not known")) << result.output;
  EXPECT_TRUE(contains(result.output, "layers")) << result.output;
}

TEST_F(ModelProgram, InspectSaysWhatIsWrong) {
  write_file(path("short.gguf"), "GGUF\x03");
  write_file(path("page.gguf"), "<!DOCTYPE html><html></html>");
  write_file(path("cut.safetensors"),
             safetensors_bytes(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 8));
  write_file(path("tiny/tokenizer.json"), "{\"model\": 3}");
  fs::create_directories(path("empty"));
  const auto expect = [&](const std::string& name, std::string_view part) {
    const auto result = wick({"inspect", path(name)});
    EXPECT_EQ(result.exit_code, 1) << name;
    EXPECT_EQ(result.output, "") << name;
    EXPECT_EQ(lines(result.errors), 1) << result.errors;
    EXPECT_TRUE(result.errors.starts_with("wick: ") && contains(result.errors, name)) << result.errors;
    EXPECT_TRUE(contains(result.errors, part)) << result.errors;
  };
  expect("short.gguf", "needs 4 bytes");
  expect("page.gguf", "web page");
  expect("cut.safetensors", "end at byte 16");
  expect("empty", "holds no .safetensors or .gguf file");
  expect("missing.gguf", "there is no such file or folder");
  const auto beside = wick({"inspect", model_});  // the weights are fine
  EXPECT_EQ(beside.exit_code, 0) << beside.errors;
  EXPECT_TRUE(contains(beside.output, "not understood")) << beside.output;
}

TEST_F(ModelProgram, NamesFromFilesCannotWriteToTheTerminal) {
  const std::string header = "{\"a\\u001b[31mb\\u0085\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
  write_file(path("odd.safetensors"), safetensors_bytes(header, 4));
  const auto result = wick({"inspect", path("odd.safetensors"), "--tensors"});
  if (result.exit_code == 0) {
    EXPECT_FALSE(contains(result.output, "\033"));
    EXPECT_TRUE(contains(result.output, "a\\x1b[31mb\\xc2\\x85")) << result.output;
  }
}

TEST_F(ModelProgram, QuantizeMakesAWholeFile) {
  const auto result = wick({"quantize", model_, path("m.gguf"), "--type", "Q8_0"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors, "") << "no progress bar in a pipe";
  EXPECT_EQ(lines(result.output), 1) << result.output;
  EXPECT_EQ(files(), (std::vector<std::string>{"m.gguf", "tiny"}));
  const Checkpoint file = Checkpoint::open(path("m.gguf"));
  EXPECT_EQ(file.metadata().text("general.architecture"), "qwen3");
  EXPECT_EQ(file.metadata().text("general.name"), "tiny");
  EXPECT_EQ(file.metadata().integer("general.file_type"), 7);
  EXPECT_EQ(file.metadata().text("tokenizer.ggml.pre"), "gpt-2");
  EXPECT_EQ(file.metadata().integer("tokenizer.ggml.eos_token_id"), 4);
  EXPECT_TRUE(file.metadata().text("tokenizer.chat_template").starts_with("{% for"));
  ASSERT_NE(file.find("blk.0.ffn_up.weight"), nullptr);
  EXPECT_EQ(file.find("blk.0.ffn_up.weight")->dtype, DType::kQ8_0);
  EXPECT_EQ(file.find("blk.0.attn_norm.weight")->dtype, DType::kF32);

  // From GGUF it is the same, bit for bit.
  ASSERT_EQ(wick({"quantize", model_, path("f32.gguf"), "--type", "f32"}).exit_code, 0);
  ASSERT_EQ(wick({"quantize", path("f32.gguf"), path("again.gguf"), "--type", "q8_0"}).exit_code, 0);
  const Checkpoint again = Checkpoint::open(path("again.gguf"));
  ASSERT_EQ(again.files()[0]->bytes().size(), file.files()[0]->bytes().size());
  EXPECT_TRUE(
      std::equal(again.files()[0]->bytes().begin(), again.files()[0]->bytes().end(), file.files()[0]->bytes().begin()));
}

TEST_F(ModelProgram, QuantizeAsksBeforeItReplaces) {
  write_file(path("m.gguf"), "precious");
  const auto refused = wick({"quantize", model_, path("m.gguf"), "--type", "f16"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(contains(refused.errors, "--force")) << refused.errors;
  EXPECT_EQ(wick({"quantize", model_, path("m.gguf"), "--type", "f16", "--force"}).exit_code, 0);
  const auto itself = wick({"quantize", path("m.gguf"), path("m.gguf"), "--type", "q8_0", "--force"});
  EXPECT_EQ(itself.exit_code, 1);
  EXPECT_TRUE(contains(itself.errors, "is the model to be read")) << itself.errors;
  EXPECT_EQ(wick({"inspect", path("m.gguf")}).exit_code, 0);
}

TEST_F(ModelProgram, QuantizeLeavesNothingWhenItFails) {
  EXPECT_EQ(wick({"quantize", model_, path("no/such/folder/m.gguf"), "--type", "f16"}).exit_code, 1);
  EXPECT_TRUE(contains(wick({"quantize", model_, path("m.safetensors"), "--type", "f16"}).errors, "writes GGUF"));
  write_file(path("tiny/tokenizer.json"), R"({"model": {"type": "Unigram", "vocab": [["a", -1.5]]}})");
  const auto result = wick({"quantize", model_, path("m.gguf"), "--type", "f16"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "Unigram cannot be converted")) << result.errors;
  EXPECT_EQ(files(), std::vector<std::string>{"tiny"});
}

TEST_F(ModelProgram, QuantizeSaysThatThereIsNoTokenizer) {
  fs::remove(fs::path(model_) / "tokenizer.json");
  const auto result = wick({"quantize", model_, path("m.gguf"), "--type", "f16"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.errors, "holds no tokenizer")) << result.errors;
}

// An importance matrix in the older form.
std::string dat_bytes(const std::string& name, int32_t values) {
  std::string bytes;
  const auto add = [&](int32_t number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  add(1);
  add(static_cast<int32_t>(name.size()));
  bytes += name;
  add(2);
  add(values);
  for (int32_t i = 0; i < values; ++i) {
    const auto value = static_cast<float>(i % 7 + 1);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

TEST_F(ModelProgram, QuantizeWithAnImportanceMatrix) {
  const std::string tensor = "blk.0.ffn_up.weight";
  const int64_t columns = Checkpoint::open(model_).get("model.layers.0.mlp.up_proj.weight").dim(-1);
  write_file(path("old.dat"), dat_bytes(tensor, static_cast<int32_t>(columns)));
  const auto result = wick({"quantize", model_, path("m.gguf"), "--type", "q4_0", "--imatrix", path("old.dat")});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(contains(result.errors, "has nothing for")) << result.errors;

  // The newer form with the same means gives the same file.
  std::vector<float> sums;
  for (int64_t i = 0; i < columns; ++i) sums.push_back(static_cast<float>(i % 7 + 1) * 4);
  {
    GgufWriter writer(
        path("new.gguf"), Metadata(),
        {{cat(tensor, ".in_sum2"), DType::kF32, {1, columns}}, {cat(tensor, ".counts"), DType::kF32, {1, 1}}});
    writer.write(cat(tensor, ".in_sum2"), from_vector(sums, {1, columns}));
    writer.write(cat(tensor, ".counts"), from_vector(std::vector<float>{8}, {1, 1}));
    writer.finish();
  }
  ASSERT_EQ(wick({"quantize", model_, path("n.gguf"), "--type", "q4_0", "--imatrix", path("new.gguf")}).exit_code, 0);
  const Checkpoint a = Checkpoint::open(path("m.gguf")), b = Checkpoint::open(path("n.gguf"));
  const auto bytes = a.files()[0]->bytes();
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), b.files()[0]->bytes().begin(), b.files()[0]->bytes().end()));

  const auto refuse = [&](const std::string& matrix, std::string_view part) {
    write_file(path("bad.dat"), matrix);
    const auto bad = wick({"quantize", model_, path("x.gguf"), "--type", "q4_0", "--imatrix", path("bad.dat")});
    EXPECT_EQ(bad.exit_code, 1);
    EXPECT_TRUE(contains(bad.errors, part)) << bad.errors;
    EXPECT_FALSE(fs::exists(path("x.gguf")));
  };
  refuse(dat_bytes(tensor, static_cast<int32_t>(columns) + 1), tensor);
  refuse(dat_bytes("blk.99.ffn_up.weight", static_cast<int32_t>(columns)), "blk.99.ffn_up.weight");
  refuse(dat_bytes(tensor, 8).substr(0, 40), "the file has 40");
  refuse("", "needs 4 bytes");
}

TEST(ModelUsage, WrongUsageIsTwo) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"inspect"},
                                                {"inspect", "a", "b"},
                                                {"inspect", "a", "--context", "0"},
                                                {"inspect", "a", "--context", "many"},
                                                {"quantize"},
                                                {"quantize", "a", "--type", "q8_0"},
                                                {"quantize", "a", "b"},
                                                {"quantize", "a", "b", "--type", "int8"},
                                                {"quantize", "a", "b", "--type", "q4_k_x"}}) {
    const auto result = wick(words);
    EXPECT_EQ(result.exit_code, 2) << words.back();
    EXPECT_EQ(result.output, "");
    EXPECT_NE(result.errors, "");
  }
  const auto unknown = wick({"quantize", "a", "b", "--type", "q4_k_x"});
  EXPECT_TRUE(contains(unknown.errors, "there is no type 'q4_k_x' (did you mean q4_k_")) << unknown.errors;
  EXPECT_TRUE(contains(unknown.errors, "q6_k")) << unknown.errors;
}

TEST(ModelUsage, HelpGivesExamples) {
  for (const char* command : {"inspect", "quantize", "models", "verify", "perplexity", "bench"}) {
    const auto result = wick({command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(contains(result.output, "Examples:")) << result.output;
    EXPECT_TRUE(contains(result.output, cat("wick ", command, " "))) << result.output;
  }
}

TEST_F(ModelProgram, AdaptersAreUsedAndMerged) {
  std::string words;  // one for every token, so that all of them can be seen
  for (int id = 0; id < 40; ++id) words += cat(id ? ", " : "", "\"a", id, "\": ", id);
  write_file(fs::path(model_) / "tokenizer.json", R"({"added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
      "model": {"type": "WordLevel", "unk_token": "a0", "vocab": {)" +
                                                      words + "}}}");
  write_file(fs::path(model_) / "tokenizer_config.json",
             R"({"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"})");
  write_random_lora(Checkpoint::open(model_), path("lora"), 2, 7);
  const std::vector<std::string> asked = {"-p", "a1 a2 a3", "-n", "12", "--ignore-end", "--temperature", "0"};
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "run");
    arguments.insert(arguments.end(), asked.begin(), asked.end());
    return wick(arguments);
  };
  const auto bare = run({model_}), with = run({model_, "--lora", path("lora")});
  ASSERT_EQ(with.exit_code, 0) << with.errors;
  EXPECT_NE(with.output, bare.output);
  EXPECT_EQ(run({model_, "--lora", path("lora") + "=0"}).output, bare.output);
  const auto merged = wick({"merge", model_, path("merged"), "--lora", path("lora")});
  ASSERT_EQ(merged.exit_code, 0) << merged.errors;
  EXPECT_EQ(lines(merged.output), 1) << merged.output;
  EXPECT_EQ(run({path("merged")}).output, with.output);
  const auto again = wick({"merge", model_, path("merged"), "--lora", path("lora")});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_TRUE(contains(again.errors, "exists already")) << again.errors;
  EXPECT_TRUE(contains(run({model_, "--lora", path("lora") + "=much"}).errors, "'much' is not a scale"));
  const auto missing = run({model_, "--lora", path("nowhere")});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(lines(missing.errors), 1) << missing.errors;
}

}  // namespace
}  // namespace wick
