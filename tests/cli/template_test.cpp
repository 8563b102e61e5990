// wick template, as a user runs it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "formats/gguf/gguf_writer.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

ProcessResult wick_template(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "template");
  return run_process(WICK_PROGRAM, arguments, {});
}

class TemplateCommand : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
    return (folder_.path() / name).string();
  }

  TempFolder folder_;
  std::string messages_ = write("chat.json", R"([{"role": "user", "content": "Grüezi"}])");
};

TEST_F(TemplateCommand, ShowsExactlyWhatTheModelSees) {
  const auto result = wick_template({"chatml", "--messages", messages_});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, "<|im_start|>user\nGrüezi<|im_end|>\n<|im_start|>assistant\n");
  const auto closed = wick_template({"chatml", "--messages", messages_, "--no-generation-prompt"});
  EXPECT_EQ(closed.output, "<|im_start|>user\nGrüezi<|im_end|>\n");
}

TEST_F(TemplateCommand, ReadsFilesAndFolders) {
  const std::string source = "{{ bos_token }}{{ messages[0].content }}{{ thinking }}{{ tools|tojson if tools }}";
  const std::string file = write("own.jinja", source);
  EXPECT_EQ(wick_template({file, "--messages", messages_, "--set", "thinking=false"}).output, "GrüeziFalse");
  write("chat_template.jinja", source);
  write("tokenizer_config.json", R"({"bos_token": "<s>"})");
  const std::string tools = write("tools.json", R"([{"name": "f"}])");
  EXPECT_EQ(wick_template({folder_.path().string(), "--messages", messages_, "--tools", tools}).output,
            "<s>Grüezi[{\"name\": \"f\"}]");
}

TEST_F(TemplateCommand, ReadsGguf) {
  Metadata metadata;
  metadata.set_text("tokenizer.chat_template", "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}");
  metadata.set_texts("tokenizer.ggml.tokens", {"a", "<s>", "</s>"});
  metadata.set_u32("tokenizer.ggml.bos_token_id", 1);
  metadata.set_u32("tokenizer.ggml.eos_token_id", 99);  // beyond the vocabulary
  const auto path = folder_.path() / "model.gguf";
  const std::byte data{1};
  GgufWriter writer(path, metadata, {{"a", DType::kI8, {1}}});
  writer.write("a", std::span(&data, 1));
  writer.finish();
  const auto result = wick_template({path.string(), "--messages", messages_});
  EXPECT_EQ(result.output, "<s>Grüezi") << result.errors;
}

TEST_F(TemplateCommand, JsonHoldsTextAndTemplate) {
  const std::string file = write("own.jinja", "[{{ messages|length }}]");
  const auto result = wick_template({file, "--messages", messages_, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto report = nlohmann::json::parse(result.output);
  EXPECT_EQ(report.at("text"), "[1]");
  EXPECT_EQ(report.at("template"), "[{{ messages|length }}]");
  EXPECT_EQ(report.at("generation_prompt"), true);
}

TEST_F(TemplateCommand, SaysWhatIsWrong) {
  const std::string bad = write("bad.jinja", "a\n{% for %}");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"nope", "--messages", messages_}, "there is no built-in template 'nope'"},
      {{bad, "--messages", messages_}, "bad.jinja, line 2: "},
      {{"chatml", "--messages", "/no/such/file"}, "/no/such/file"},
      {{folder_.path().string(), "--messages", messages_}, "there is no chat template; the built-in ones are chatml"},
      {{"chatml", "--messages", write("text.json", "\"x\"")}, "is text, expected a list"},
      {{"chatml", "--messages", messages_, "--set", "x"}, "--set takes NAME=VALUE"},
  };
  for (const auto& [arguments, message] : cases) {
    const auto result = wick_template(arguments);
    EXPECT_EQ(result.exit_code, 1) << message;
    EXPECT_NE(result.errors.find(message), std::string::npos) << result.errors;
  }
  EXPECT_EQ(wick_template({"chatml"}).exit_code, 2);
}

}  // namespace
}  // namespace wick
