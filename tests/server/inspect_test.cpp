// Captures, steering and edits of requests, against the library; who may ask for them, and for how much.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "engine/text/generator.h"
#include "interp/run_with_cache.h"
#include "interp/steering.h"
#include "support/api_server.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/for_all_tests.h"
#include "support/inspect_server.h"
#include "support/needs_ember.h"
#include "support/temp_folder.h"
#include "support/tiny_text_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr char kCompletions[] = "/v1/completions", kChat[] = "/v1/chat/completions";
const std::vector<int32_t> kPrompt = {5, 300, 17, 44, 1001, 9, 812, 60, 61, 62, 7, 8, 99, 100, 5, 300, 17, 44, 1001, 9};

OrderedJson ask(int64_t most = 8) {
  return {{"prompt", kPrompt}, {"temperature", 0}, {"max_tokens", most}, {"ignore_eos", true}};
}
std::string with(OrderedJson body, OrderedJson wick) {
  body["wick"] = std::move(wick);
  return body.dump();
}
OrderedJson error_of(const HttpAnswer& answer) { return OrderedJson::parse(answer.body).at("error"); }

// What the library captures of the prompt and the answer, whose last token is never read.
ActivationCache captured_by_library(const std::vector<std::string>& points, std::vector<int32_t> tokens,
                                    const HookSpec& edits = {}) {
  tokens.pop_back();
  CaptureOptions options;
  options.points = points;
  options.logits = LogitRows::kNone;
  const LanguageInterp model = ember_inside();
  const InterpText text{tokens, &edits};
  return run_with_cache(model, std::span(&text, 1), options).cache;
}

struct Fetched {
  ActivationCache cache;
  std::vector<int32_t> tokens;
};
Fetched fetch(const ApiServer& server, const OrderedJson& answer) {
  const OrderedJson& capture = answer.at("wick").at("capture");
  const HttpAnswer file = server.get(capture.at("url").get<std::string>());
  EXPECT_EQ(file.status, 200) << file.body;
  const TempFolder folder;
  const auto path = folder.path() / "capture.safetensors";
  std::ofstream(path, std::ios::binary) << file.body;
  Fetched fetched{ActivationCache::load(path), {}};
  std::istringstream ids(Checkpoint::open(path).metadata().text("wick.tokens.0"));
  for (int32_t id; ids >> id;) fetched.tokens.push_back(id);
  for (const auto& [name, shape] : capture.at("tensors").items()) {
    const Tensor tensor = fetched.cache.at(name);
    std::vector<int64_t> dims;
    for (int d = 0; d < tensor.rank(); ++d) dims.push_back(tensor.dim(d));
    EXPECT_EQ(dims, shape.get<std::vector<int64_t>>()) << name;
  }
  // Tensors of the mapped file outlive the folder.
  return fetched;
}

class InspectTest : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
  static ApiServer& server() {
    return for_all_tests([] { return std::make_unique<InspectServer>(); }).server;
  }
};

TEST_F(InspectTest, WithoutTheFlagItIsAnErrorThatNamesIt) {
  const ApiServer closed;
  const HttpAnswer answer = closed.post(kCompletions, with(ask(), {{"capture", {"hook_embed"}}}));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(error_of(answer).at("type"), "permission_error");
  EXPECT_EQ(error_of(answer).at("code"), "inspect_disabled");
  EXPECT_NE(error_of(answer).at("message").get<std::string>().find("--inspect"), std::string::npos);
  for (const char* path : {"lens", "attention", "norms", "heads", "patch", "run", "probe", "features"}) {
    EXPECT_EQ(closed.post(cat("/v1/wick/", path), R"({"prompt": "a"})").status, 403) << path;
  }
  EXPECT_EQ(closed.get("/v1/wick/captures/x").status, 403);
  EXPECT_EQ(OrderedJson::parse(closed.get("/v1/wick").body).at("inspect"), false);
  EXPECT_EQ(closed.post("/v1/responses", R"({"input": "a", "wick": {}})").status, 400);
}

TEST_F(InspectTest, CapturesAreTheLibrarysAlsoBesideOthersAndBehindThePrefixCache) {
  const std::string plain = server().answer(kCompletions, ask().dump())["choices"][0]["text"];
  const std::vector<std::string> points = {"blocks.*.hook_resid_post", "blocks.1.attn.hook_pattern",
                                           "blocks.0.attn.hook_z", "ln_final.hook_normalized",
                                           "blocks.1.hook_resid_post"};
  std::vector<std::thread> others;
  std::vector<std::string> heard(3);
  for (std::string& text : heard) {
    others.emplace_back([&text] { text = server().answer(kCompletions, ask().dump())["choices"][0]["text"]; });
  }
  const OrderedJson answer = server().answer(kCompletions, with(ask(), {{"capture", points}}));
  for (std::thread& other : others) other.join();
  for (const std::string& text : heard) EXPECT_EQ(text, plain);
  EXPECT_EQ(answer["choices"][0]["text"], plain);  // watching changes nothing
  EXPECT_EQ(answer["wick"]["capture"]["missing"].size(), 0u);

  const Fetched fetched = fetch(server(), answer);
  ASSERT_EQ(fetched.tokens.size(), kPrompt.size() + 8);
  const ActivationCache expected = captured_by_library(points, fetched.tokens);
  EXPECT_EQ(fetched.cache.positions(), expected.positions());
  ASSERT_EQ(fetched.cache.names(), expected.names());
  int64_t bytes = 0;
  for (const std::string& name : expected.names()) {
    expect_identical(fetched.cache.at(name), expected.at(name), name);
    bytes += bytes_of(DType::kF32, expected.at(name).numel());
  }
  EXPECT_EQ(answer["wick"]["capture"]["bytes"], bytes);
}

TEST_F(InspectTest, SelectedPositionsAreRowsOfTheWhole) {
  const std::vector<std::string> points = {"blocks.2.hook_resid_pre", "blocks.0.attn.hook_pattern"};
  const Fetched fetched =
      fetch(server(), server().answer(kCompletions, with(ask(), {{"capture", points}, {"positions", {0, -1, 22}}})));
  EXPECT_EQ(fetched.cache.positions(), (std::vector<int64_t>{0, 19, 22}));
  const ActivationCache all = captured_by_library(points, fetched.tokens);
  const Tensor rows = fetched.cache.at(points[0]), whole = all.at(points[0]);
  for (const auto& [row, position] : {std::pair{0, 0}, {1, 19}, {2, 22}}) {
    expect_identical(rows.with_layout(rows.layout().narrow(0, row, 1)),
                     whole.with_layout(whole.layout().narrow(0, position, 1)), cat("row ", row));
  }
  EXPECT_EQ(fetched.cache.at(points[1]).dim(1), 3);
}

TEST_F(InspectTest, StreamsTellOfTheCaptureToo) {
  OrderedJson body = {{"messages", {{{"role", "user"}, {"content", "Hello!"}}}}, {"temperature", 0}, {"stream", true}};
  body["stream_options"] = {{"include_usage", true}};
  OrderedJson told;
  bool done = false;
  for (const ServerEvent& event :
       server().stream(kChat, with(body, {{"capture", {"hook_embed", "blocks.0.mlp.hook_expert_weights"}}}))) {
    done = event.data == "[DONE]";
    if (done) continue;
    const OrderedJson chunk = OrderedJson::parse(event.data);
    if (chunk.contains("wick")) told = chunk;
  }
  EXPECT_TRUE(done);
  ASSERT_TRUE(told.contains("wick"));
  EXPECT_EQ(told["choices"].size(), 0u);
  // Ember has no experts.
  EXPECT_EQ(told["wick"]["capture"]["missing"], OrderedJson::array({"blocks.0.mlp.hook_expert_weights"}));
  EXPECT_EQ(fetch(server(), told).cache.names(), std::vector<std::string>{"hook_embed"});
}

std::string steered_by_library(SteeringVector vector, float strength) {
  GenerateParams params;
  params.max_new_tokens = 16;
  params.ignore_end = true;
  params.sampling.temperature = 0;
  vector.apply(params.hooks, strength);
  return Generator(TextModel::ember(), {.context = 512}).generate(kPrompt, params).text;
}

TEST_F(InspectTest, SteeringIsTheLibrarysAndLeavesNothingBehind) {
  const OrderedJson before = server().answer(kCompletions, ask(16).dump());
  const auto steered = [&](OrderedJson steer) {
    const OrderedJson answer = server().answer(kCompletions, with(ask(16), {{"steer", {std::move(steer)}}}));
    EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    return answer["choices"][0]["text"].get<std::string>();
  };
  const std::string named = steered({{"vector", "push"}, {"strength", 1}});
  EXPECT_NE(named, before["choices"][0]["text"].get<std::string>());
  EXPECT_EQ(named, steered_by_library(push_vector(), 1));
  // The same vector in the request itself, and at another layer.
  const std::vector<float> values = push_vector().vector.to_vector<float>();
  EXPECT_EQ(steered({{"point", push_vector().point}, {"values", values}}), named);
  SteeringVector moved = push_vector();
  moved.point = "blocks.6.hook_resid_post";
  EXPECT_EQ(steered({{"vector", "push"}, {"layer", 6}, {"strength", -0.5}}), steered_by_library(moved, -0.5f));
  const OrderedJson after = server().answer(kCompletions, ask(16).dump());
  EXPECT_EQ(after["choices"], before["choices"]);
}

TEST_F(InspectTest, EditsAreTheLibrarys) {
  const OrderedJson edits = OrderedJson::parse(R"([
      {"site": "blocks.1.attn.hook_z", "kind": "zero", "heads": [0, 2]},
      {"site": "blocks.0.hook_mlp_out", "kind": "scale", "factor": 0.25, "positions": [3, -1, 21]},
      {"site": "blocks.*.attn.hook_attn_scores", "kind": "knockout", "keys": [2]}])");
  const OrderedJson answer =
      server().answer(kCompletions, with(ask(), {{"edits", edits}, {"capture", {"blocks.2.hook_resid_post"}}}));
  const Fetched fetched = fetch(server(), answer);
  HookSpec spec;
  spec.zero("blocks.1.attn.hook_z", {{}, {0, 2}});
  spec.scale("blocks.0.hook_mlp_out", 0.25f, {{3, 19, 21}, {}});
  std::vector<std::pair<int64_t, int64_t>> edges;
  for (int64_t query = 3; query < 28; ++query) edges.emplace_back(query, 2);
  spec.knockout(HookSite::kEveryLayer, edges);
  const ActivationCache expected = captured_by_library({"blocks.2.hook_resid_post"}, fetched.tokens, spec);
  expect_identical(fetched.cache.at("blocks.2.hook_resid_post"), expected.at("blocks.2.hook_resid_post"), "edited");
}

TEST_F(InspectTest, AnEditThatFailsInThePassFailsAlone) {
  const std::string plain = server().answer(kCompletions, ask(24).dump())["choices"][0]["text"];
  // These can only be found out where the values are.
  const OrderedJson heads = {{"edits", {{{"site", "blocks.1.attn.hook_z"}, {"kind", "zero"}, {"heads", {99}}}}}};
  const OrderedJson sizes = {
      {"edits",
       {{{"site", "blocks.1.hook_mlp_out"}, {"kind", "replace"}, {"values", {1, 2, 3}}, {"positions", {23}}}}}};
  std::vector<std::thread> others;
  std::vector<std::string> heard(4);
  for (std::string& text : heard) {
    others.emplace_back([&text] { text = server().answer(kCompletions, ask(24).dump())["choices"][0]["text"]; });
  }
  const HttpAnswer first = server().post(kCompletions, with(ask(24), heads));
  const HttpAnswer second = server().post(kCompletions, with(ask(24), sizes));
  for (std::thread& other : others) other.join();
  EXPECT_EQ(first.status, 400);
  EXPECT_NE(first.body.find("head 99 is asked for"), std::string::npos) << first.body;
  EXPECT_EQ(second.status, 400);
  EXPECT_NE(second.body.find("the value has 3"), std::string::npos) << second.body;
  for (const std::string& text : heard) EXPECT_EQ(text, plain);
}

TEST_F(InspectTest, FeaturesAreTheLibrarys) {
  const SparseAutoencoder sae = small_autoencoder();
  const std::string point = "blocks.3.hook_resid_pre";
  const OrderedJson changes = OrderedJson::parse(R"([
      {"autoencoder": "small", "features": [3, 90, 3], "kind": "ablate"},
      {"autoencoder": "small", "features": [7, 8], "kind": "steer", "strength": -2.5, "positions": [4, -1, 22]}])");
  const OrderedJson answer = server().answer(kCompletions, with(ask(), {{"features", changes}, {"capture", {point}}}));
  const Fetched fetched = fetch(server(), answer);
  HookSpec spec;
  sae.ablate(spec, {3, 90});
  for (const int64_t feature : {7, 8}) sae.steer(spec, feature, -2.5f, {4, 19, 22});
  const ActivationCache expected = captured_by_library({point}, fetched.tokens, spec);
  expect_identical(fetched.cache.at(point), expected.at(point), "changed");
  const ActivationCache plain = captured_by_library({point}, fetched.tokens);
  EXPECT_NE(fetched.cache.at(point).to_vector<float>(), plain.at(point).to_vector<float>());
}

TEST(InsideShelfTest, ReadsWhatTheFoldersHold) {
  const TempFolder folder;
  push_vector().save(folder.path() / "push.safetensors");
  std::ofstream(folder.path() / "notes.txt") << "nothing";
  const InsideShelf shelf({folder.path(), {}, {}});
  EXPECT_EQ(shelf.steering().size(), 1u);
  expect_identical(shelf.steering().at("push").vector, push_vector().vector, "push");
  EXPECT_TRUE(shelf.probes().empty());
  EXPECT_TRUE(shelf.autoencoders().empty());
}

TEST(InsideShelfTest, AProbeWithoutAPointIsRefused) {
  const TempFolder folder;
  LinearProbe probe = kind_probe();
  probe.point.clear();
  probe.save(folder.path() / "lost.safetensors");
  EXPECT_ERROR(InsideShelf({{}, folder.path(), {}}), kBadFile,
               "lost.safetensors: the probe does not say at which point");
}

TEST(InsideShelfTest, FilesOfAnotherKindAreRefusedByName) {
  const TempFolder folder;
  push_vector().save(folder.path() / "push.safetensors");
  EXPECT_ERROR(InsideShelf({{}, folder.path(), {}}), kBadFile, "push.safetensors");
  EXPECT_ERROR(InsideShelf({folder.path() / "none", {}, {}}), kIo, "cannot be read");
}

// Attention and MLP of phi run side by side, so that its layers have no middle; those of llama have.
TEST(InspectPoints, AChangeAtAPointThatTheModelLacksIsRefused) {
  const TempFolder folder;
  std::vector<ModelEntry> models;
  for (const char* family : {"phi", "llama"}) {
    write_tiny_text_model(family, folder.path() / family);
    EngineOptions engine;
    engine.context = 64;
    engine.kv_bytes = 1 << 20;
    models.push_back({family, folder.path() / family, {}, engine});
  }
  const ApiServer server(models, {}, nullptr, nullptr, std::make_unique<Inspector>(InspectOptions()));
  const std::vector<int32_t> prompt = {1, 5, 9, 77};
  const auto hidden = static_cast<size_t>(tiny_text_model("phi")->model().facts().hidden);
  const std::vector<OrderedJson> changes = {
      {{"edits", {{{"site", "blocks.1.hook_resid_mid"}, {"kind", "zero"}}}}},
      {{"edits", {{{"site", "blocks.1.hook_resid_mid"}, {"kind", "scale"}, {"factor", 0.5}, {"positions", {-1}}}}}},
      {{"steer", {{{"point", "blocks.1.hook_resid_mid"}, {"values", std::vector<float>(hidden, 1.f)}}}}},
  };
  const std::string sentence = "this phi has no 'blocks.1.hook_resid_mid'";
  for (const OrderedJson& change : changes) {
    for (const bool is_stream : {false, true}) {
      OrderedJson body = {{"model", "phi"}, {"prompt", prompt}, {"max_tokens", 4}, {"stream", is_stream}};
      const HttpAnswer answer = server.post(kCompletions, with(body, change));
      EXPECT_EQ(answer.status, 400) << answer.body;
      EXPECT_EQ(error_of(answer)["message"], sentence);
    }
    for (const char* path : {"lens", "attention", "norms", "heads", "run"}) {
      OrderedJson body = change;
      body["model"] = "phi";
      body["tokens"] = prompt;
      const HttpAnswer answer = server.post(cat("/v1/wick/", path), body.dump());
      EXPECT_EQ(answer.status, 400) << path << answer.body;
      EXPECT_EQ(error_of(answer)["message"], sentence) << path;
    }
  }
  // Where there is one, it is changed as the library changes it.
  const auto logits = [&](const char* family, OrderedJson edits) {
    const OrderedJson body = {{"model", family}, {"tokens", prompt}, {"edits", std::move(edits)}, {"max_tokens", 0}};
    return server.answer("/v1/wick/run", body.dump());
  };
  EXPECT_GT(logits("llama", changes[0]["edits"])["kl"], 0);
  EXPECT_GT(logits("phi", {{{"site", "blocks.1.hook_mlp_out"}, {"kind", "zero"}}})["kl"], 0);
  // Every layer that has it, if any does; the last points are met in every pass.
  EXPECT_GT(logits("llama", {{{"site", "blocks.*.hook_resid_mid"}, {"kind", "zero"}}})["kl"], 0);
  EXPECT_GT(logits("llama", {{{"site", "hook_logits"}, {"kind", "zero"}}})["kl"], 0);
  EXPECT_GT(logits("llama", {{{"site", "ln_final.hook_normalized"}, {"kind", "zero"}}})["kl"], 0);
  const OrderedJson none = {{"model", "phi"}, {"prompt", prompt}};
  const OrderedJson every = {{"edits", {{{"site", "blocks.*.hook_resid_mid"}, {"kind", "zero"}}}}};
  EXPECT_EQ(error_of(server.post(kCompletions, with(none, every)))["message"],
            "this phi has no 'blocks.*.hook_resid_mid'");
}

TEST_F(InspectTest, WhatMakesNoSenseIsToldByField) {
  const auto problem = [&](const char* wick, int n = 1) {
    OrderedJson body = ask();
    body["n"] = n;
    const HttpAnswer answer = server().post(kCompletions, with(body, OrderedJson::parse(wick)));
    EXPECT_EQ(answer.status, 400) << wick << answer.body;
    return cat(error_of(answer)["param"].get<std::string>(), ": ", error_of(answer)["message"].get<std::string>());
  };
  const auto expect = [&](const char* wick, const char* param, const char* words) {
    const std::string told = problem(wick);
    EXPECT_TRUE(told.starts_with(cat(param, ":"))) << told;
    EXPECT_NE(told.find(words), std::string::npos) << told;
  };
  expect(R"({"capture": ["blocks.0.hook_resid_past"]})", "wick.capture[0]", "did you mean");
  expect(R"({"capture": ["blocks.99.hook_resid_post"]})", "wick.capture[0]", "99");
  expect(R"({"capture": ["blocks.99999999999999999999.hook_resid_post"]})", "wick.capture[0]", "is no hook");
  expect(R"({"capture": ["anything"]})", "wick.capture[0]", "no hook point");
  expect(R"({"capture": "hook_embed"})", "wick.capture", "a list");
  expect(R"({"capture": ["hook_embed"], "positions": [28]})", "wick.positions", "28");
  expect(R"({"capture": ["hook_embed"], "positions": [-21]})", "wick.positions", "-21");
  expect(R"({"capture": ["hook_embed"], "positions": [-9000000000000000000]})", "wick.positions", "20 tokens");
  expect(R"({"steer": [{"strength": 2}]})", "wick.steer[0]", "either vector or point");
  expect(R"({"steer": [{"vector": "../push"}]})", "wick.steer[0].vector", "known are: 'push'");
  expect(R"({"steer": [{"vector": "push", "layer": 77}]})", "wick.steer[0].layer", "77");
  expect(R"({"steer": [{"point": "blocks.0.hook_resid_post", "values": [1, 2]}]})", "wick.steer[0]", "2 values");
  expect(R"({"steer": [{"point": "blocks.*.hook_resid_post", "values": [1]}]})", "wick.steer[0].point", "every layer");
  expect(R"({"steer": [{"point": "hook_embed", "values": [1e300]}]})", "wick.steer[0].values[0]", "too large");
  expect(R"({"steer": [{"vector": "push", "strength": 1e9}]})", "wick.steer[0].strength", "allowed");
  expect(R"({"features": [{"autoencoder": "big", "features": [1], "kind": "ablate"}]})", "wick.features[0].autoencoder",
         "known are: 'small'");
  expect(R"({"features": [{"autoencoder": "small", "features": [96], "kind": "steer"}]})", "wick.features[0].features",
         "feature 96 is asked for, there are 96");
  expect(R"({"features": [{"autoencoder": "small", "features": [], "kind": "steer"}]})", "wick.features[0].features",
         "allowed are 1 to 64");
  expect(R"({"features": [{"autoencoder": "small", "features": [1], "kind": "melt"}]})", "wick.features[0].kind",
         "melt");
  OrderedJson ablations = OrderedJson::array();
  for (int i = 0; i < 5; ++i) {
    ablations.push_back({{"autoencoder", "small"}, {"features", {i}}, {"kind", "ablate"}});
  }
  expect(OrderedJson({{"features", ablations}}).dump().c_str(), "wick.features", "allowed are 4");
  expect(R"({"edits": [{"site": "hook_embed"}]})", "wick.edits[0].kind", "missing");
  expect(R"({"edits": [{"site": "hook_embed", "kind": "melt"}]})", "wick.edits[0].kind", "melt");
  expect(R"({"edits": [{"site": "hook_embed", "kind": "scale"}]})", "wick.edits[0].factor", "missing");
  expect(R"({"edits": [{"site": "hook_embed", "kind": "add"}]})", "wick.edits[0].values", "missing");
  expect(R"({"edits": [{"site": "hook_embed", "kind": "knockout"}]})", "wick.edits[0].site", "hook_attn_scores");
  expect(R"({"edits": [{"site": "blocks.0.attn.hook_attn_scores", "kind": "knockout", "heads": [99]}]})",
         "wick.edits[0]", "99");
  expect(R"({"edits": [{"site": "hook_embed", "kind": "patch"}]})", "wick.edits[0].kind", "/v1/wick/ with a source");
  const std::string many = problem(R"({"capture": ["hook_embed"]})", 2);
  EXPECT_NE(many.find("one answer"), std::string::npos) << many;
  OrderedJson edits = OrderedJson::array();
  for (int i = 0; i < 257; ++i) edits.push_back({{"site", "hook_embed"}, {"kind", "zero"}});
  EXPECT_EQ(server().post(kCompletions, with(ask(), {{"edits", edits}})).status, 400);
}

TEST_F(InspectTest, CapturesAreBoundedAndEndTheRequestAlone) {
  InspectOptions options;
  options.captures.bytes_each = 100'000;
  InspectServer small(options);
  const HttpAnswer answer = small.server.post(kCompletions, with(ask(), {{"capture", {"blocks.*.hook_resid_post"}}}));
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("more than 100000 bytes"), std::string::npos) << answer.body;
  const OrderedJson fits =
      small.server.answer(kCompletions, with(ask(), {{"capture", {"blocks.*.hook_resid_post"}}, {"positions", {-1}}}));
  EXPECT_GT(fits["wick"]["capture"]["bytes"], 0);
}

TEST_F(InspectTest, ACaptureBelongsToItsKey) {
  HttpServerOptions http;
  http.keys = std::make_shared<ApiKeys>(ApiKeys::parse("tom: aaa\nann: bbb", "keys"));
  InspectServer guarded({}, std::move(http));
  const HttpClient::Fields tom = {{"Authorization", "Bearer aaa"}}, ann = {{"Authorization", "Bearer bbb"}};
  const HttpAnswer answer = guarded.server.post(kCompletions, with(ask(1), {{"capture", {"hook_embed"}}}), tom);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::string url = OrderedJson::parse(answer.body)["wick"]["capture"]["url"];
  EXPECT_EQ(guarded.server.client().get(url).status, 401);
  EXPECT_EQ(guarded.server.client().get(url, ann).status, 404);
  EXPECT_EQ(guarded.server.client().request("DELETE", url, {}, ann).status, 404);
  EXPECT_EQ(guarded.server.client().get(url, tom).status, 200);
  EXPECT_EQ(guarded.server.client().request("DELETE", url, {}, tom).status, 200);
  EXPECT_EQ(guarded.server.client().get(url, tom).status, 404);
}

std::shared_ptr<CaptureLog> log_of(int64_t rows) {
  const auto log =
      std::make_shared<CaptureLog>(std::vector<std::string>{"hook_embed"}, std::vector<int64_t>(), 1 << 20);
  HookSpec spec;
  log->watch(spec);
  std::vector<int64_t> positions(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) positions[static_cast<size_t>(i)] = i;
  SequenceHooks{&spec}.run(HookPoint::kEmbed, -1, zeros({rows, 25}), positions);
  return log;
}

TEST(CaptureStoreTest, OldOnesGoByTimeByBytesAndByNumber) {
  CaptureStore store({.bytes = 1000, .bytes_each = 1000, .captures = 3, .kept = std::chrono::seconds(60)});
  const CaptureStore::Clock::time_point start;
  const auto later = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  store.put("a", "me", {log_of(2), {}}, start);  // 200 bytes
  EXPECT_TRUE(store.find("a", "me", later(59)));
  EXPECT_FALSE(store.find("a", "you", later(59)));
  EXPECT_FALSE(store.find("a", "me", later(60)));
  EXPECT_EQ(store.bytes(), 0);
  for (const char* id : {"b", "c", "d"}) store.put(id, "me", {log_of(2), {}}, start);
  store.put("e", "me", {log_of(2), {}}, start);
  EXPECT_FALSE(store.find("b", "me", start));  // four are too many
  store.put("f", "me", {log_of(8), {}}, start);
  EXPECT_EQ(store.bytes(), 1000);
  EXPECT_FALSE(store.find("d", "me", start));
  EXPECT_TRUE(store.find("e", "me", start));
  EXPECT_TRUE(store.remove("e", "me"));
  EXPECT_FALSE(store.remove("e", "me"));
  EXPECT_EQ(store.bytes(), 800);
}

}  // namespace
}  // namespace wick
