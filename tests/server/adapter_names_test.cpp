// Adapters as models of their own: "model:adapter".
#include <gtest/gtest.h>

#include "support/api_server.h"
#include "support/engine_requests.h"
#include "support/lora_files.h"
#include "support/temp_folder.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

std::string body(const std::string& model) {
  return cat(R"({"model": ")", model,
             R"(", "prompt": [5, 9, 17, 3, 44, 8, 90, 2], "max_tokens": 10, "temperature": 0, "ignore_eos": true})");
}

TEST(AdapterNames, ChooseTheAdapter) {
  const TempFolder temp;
  write_tiny_text_model("llama", temp.path() / "model");
  ModelEntry entry{"tiny", temp.path() / "model", {}, {}};
  entry.engine.context = 128;
  entry.engine.kv_bytes = 4 << 20;
  std::vector<std::string> expected;
  for (const std::string name : {"", "first", "second"}) {
    LoadOptions options;
    if (!name.empty()) {
      write_random_lora(Checkpoint::open(temp.path() / "model"), temp.path() / name, 3, 100 * (1 + expected.size()));
      options.loras = {{temp.path() / name}};
      entry.load.loras.push_back({temp.path() / name, 1, name});
    }
    EngineRequest request;
    request.prompt = {5, 9, 17, 3, 44, 8, 90, 2};
    request.params.max_new_tokens = 10;
    request.params.ignore_end = true;
    request.params.sampling.temperature = 0;
    expected.push_back(alone(TextModel::load(temp.path() / "model", options), request).text);
  }
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_NE(expected[1], expected[2]);
  ApiServer server(std::vector<ModelEntry>{entry});
  for (int round = 0; round < 2; ++round) {
    size_t i = 0;
    for (const std::string name : {"tiny", "tiny:first", "tiny:second"}) {
      const OrderedJson answer = server.answer("/v1/completions", body(name));
      EXPECT_EQ(answer["choices"][0]["text"], expected[i++]) << name;
      EXPECT_EQ(answer["model"], name);
    }
  }
  EXPECT_NE(server.get("/v1/models").body.find("tiny:second"), std::string::npos);
  EXPECT_EQ(server.post("/v1/completions", body("tiny:third")).status, 404);
}

// Adapters that come and go by vLLM's endpoints.
TEST(AdapterNames, ComeAndGoWhileTheServerRuns) {
  const TempFolder temp;
  write_tiny_text_model("llama", temp.path() / "model");
  std::vector<std::string> expected;
  for (const std::string name : {"first", "second"}) {
    write_random_lora(Checkpoint::open(temp.path() / "model"), temp.path() / "adapters" / name, 3,
                      100 * (1 + expected.size()));
    LoadOptions options;
    options.loras = {{temp.path() / "adapters" / name}};
    EngineRequest request;
    request.prompt = {5, 9, 17, 3, 44, 8, 90, 2};
    request.params.max_new_tokens = 10;
    request.params.ignore_end = true;
    request.params.sampling.temperature = 0;
    expected.push_back(alone(TextModel::load(temp.path() / "model", options), request).text);
  }
  ModelEntry entry{"tiny", temp.path() / "model", {}, {}};
  entry.engine.context = 128;
  entry.engine.kv_bytes = 4 << 20;
  ApiServer server(std::vector<ModelEntry>{entry}, {}, nullptr, nullptr, nullptr, nullptr, nullptr,
                   temp.path() / "adapters");
  const auto load = [&](const std::string& name, const std::string& path) {
    return server.post("/v1/load_lora_adapter", cat(R"({"lora_name": ")", name, R"(", "lora_path": ")", path, "\"}"));
  };
  const auto unload = [&](const std::string& name) {
    return server.post("/v1/unload_lora_adapter", cat(R"({"lora_name": ")", name, "\"}"));
  };
  const auto text = [&](const std::string& model) {
    return server.answer("/v1/completions", body(model))["choices"][0]["text"].get<std::string>();
  };
  const std::string plain = text("tiny");
  EXPECT_EQ(server.post("/v1/completions", body("tiny:mine")).status, 404);
  EXPECT_EQ(load("mine", "first").status, 200);
  EXPECT_EQ(text("tiny:mine"), expected[0]);
  EXPECT_EQ(load("mine", "second").status, 400);  // the name is taken
  EXPECT_EQ(unload("tiny:mine").status, 200);
  EXPECT_EQ(unload("mine").status, 404);
  EXPECT_EQ(server.post("/v1/completions", body("tiny:mine")).status, 404);
  // Another adapter of the same name: what was computed with the first is not taken for it.
  EXPECT_EQ(load("mine", (temp.path() / "adapters" / "second").string()).status, 200);
  EXPECT_EQ(text("tiny:mine"), expected[1]);
  EXPECT_NE(server.get("/v1/models").body.find("tiny:mine"), std::string::npos);
  EXPECT_EQ(text("tiny"), plain);
  for (const std::string path : {"../model", "/etc", "", "absent"}) EXPECT_EQ(load("other", path).status, 400) << path;
  EXPECT_EQ(load("", "first").status, 400);
  ApiServer closed(std::vector<ModelEntry>{entry});
  EXPECT_EQ(closed.post("/v1/load_lora_adapter", R"({"lora_name": "a", "lora_path": "first"})").status, 403);
}

}  // namespace
}  // namespace wick
