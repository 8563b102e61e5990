// The endpoints that look into a model, against the library on the same model.
#include <gtest/gtest.h>

#include <cmath>

#include "base/base64.h"
#include "interp/head_scores.h"
#include "interp/patching.h"
#include "interp/probes/logit_lens.h"
#include "interp/probes/vocab_row.h"
#include "interp/run_with_cache.h"
#include "interp/sweep.h"
#include "interp/text_measures.h"
#include "interp/text_rows.h"
#include "support/comes_true.h"
#include "support/for_all_tests.h"
#include "support/inspect_server.h"
#include "support/needs_ember.h"

namespace wick {
namespace {

const std::vector<int32_t> kClean = {5, 300, 17, 44, 1001, 9, 812, 60, 61},
                           kOther = {5, 300, 17, 45, 1002, 9, 812, 60, 62};

OrderedJson about(const std::vector<int32_t>& tokens) { return {{"tokens", tokens}}; }

// The server writes six digits.
void expect_close(const OrderedJson& told, std::span<const float> expected, const std::string& what) {
  ASSERT_EQ(told.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double value = expected[i];
    EXPECT_NEAR(told[i].get<double>(), value, 1e-5 * std::max(1e-5, std::abs(value))) << what << " " << i;
  }
}
void expect_close(const OrderedJson& told, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(told.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(told[i].get<double>(), expected[i], 1e-5 * std::max(1e-5, std::abs(expected[i]))) << what << " " << i;
  }
}
std::span<const float> numbers(const Tensor& tensor) {
  return {tensor.data<float>(), static_cast<size_t>(tensor.numel())};
}

class InsideTest : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
  static ApiServer& server() {
    return for_all_tests([] { return std::make_unique<InspectServer>(); }).server;
  }
  static OrderedJson ask(const char* what, const OrderedJson& body) {
    return server().answer(cat("/v1/wick/", what), body.dump());
  }
};

TEST_F(InsideTest, TellsWhatThereIs) {
  const OrderedJson about = OrderedJson::parse(server().get("/v1/wick?model=ember").body);
  EXPECT_EQ(about["inspect"], true);
  EXPECT_EQ(about["steering"], OrderedJson::array({"push"}));
  EXPECT_EQ(
      about["probes"],
      OrderedJson::parse(R"([{"name": "kind", "point": "blocks.2.hook_resid_post", "labels": ["kind", "unkind"]}])"));
  EXPECT_EQ(about["autoencoders"],
            OrderedJson::parse(R"([{"name": "small", "point": "blocks.3.hook_resid_pre", "features": 96}])"));
  EXPECT_EQ(about["model"]["layers"], 8);
  EXPECT_EQ(about["model"]["heads"], 4);
  EXPECT_EQ(about["limits"]["tokens"], 512);
}

TEST_F(InsideTest, TheLensIsTheLibrarys) {
  OrderedJson body = about(kClean);
  body["top"] = 3;
  body["follow"] = {7, 8};
  body["positions"] = {0, -2, -1};
  body["edits"] = {{{"site", "blocks.2.hook_mlp_out"}, {"kind", "zero"}, {"positions", {-1}}}};
  const OrderedJson answer = ask("lens", body);
  LensOptions options;
  options.top = 3;
  options.follow = {7, 8};
  options.positions = {0, 7, 8};
  options.hooks.zero("blocks.2.hook_mlp_out", {{8}, {}});
  const LensMap map = logit_lens(ember_inside(), kClean, options);
  EXPECT_EQ(answer["points"].get<std::vector<std::string>>(), map.points);
  EXPECT_EQ(answer["positions"].get<std::vector<int64_t>>(), map.positions);
  std::vector<double> probabilities, entropies, kls, followed;
  std::vector<int64_t> ids, ranks;
  for (const LensCell& cell : map.cells) {
    for (const LensToken& token : cell.top) {
      ids.push_back(token.token);
      probabilities.push_back(token.probability);
      EXPECT_TRUE(answer["texts"].contains(cat(token.token)));
    }
    for (const LensToken& token : cell.follow) {
      followed.push_back(token.probability);
      ranks.push_back(token.rank);
    }
    entropies.push_back(cell.entropy);
    kls.push_back(cell.kl);
  }
  EXPECT_EQ(answer["ids"].get<std::vector<int64_t>>(), ids);
  EXPECT_EQ(answer["follow"]["ranks"].get<std::vector<int64_t>>(), ranks);
  expect_close(answer["probabilities"], probabilities, "probabilities");
  expect_close(answer["follow"]["probabilities"], followed, "followed");
  expect_close(answer["entropy"], entropies, "entropy");
  ASSERT_EQ(answer["kl"].size(), kls.size());
  for (size_t i = 0; i < kls.size(); ++i) EXPECT_NEAR(answer["kl"][i].get<double>(), kls[i], 1e-4);
}

TEST_F(InsideTest, AttentionIsPackedByRows) {
  OrderedJson body = about(kClean);
  body["layer"] = 3;
  body["heads"] = {2, 0};
  const OrderedJson answer = ask("attention", body);
  CaptureOptions options;
  options.points = {"blocks.3.attn.hook_pattern"};
  const Tensor pattern = run_with_cache(ember_inside(), kClean, options).cache.at(options.points[0]);
  std::string expected;
  for (const int64_t head : {2, 0}) {
    for (int64_t query = 0; query < 9; ++query) {
      for (int64_t key = 0; key <= query; ++key) {
        expected += static_cast<char>(std::lround(255 * pattern.data<float>()[(head * 9 + query) * 9 + key]));
      }
    }
  }
  EXPECT_EQ(decode_base64(answer["patterns"].get<std::string>()), expected);
  EXPECT_EQ(answer["heads"].get<std::vector<int>>(), (std::vector<int>{2, 0}));
}

TEST_F(InsideTest, NormsAndHeadScoresAreTheLibrarys) {
  const LanguageInterp model = ember_inside();
  expect_close(ask("norms", about(kClean))["norms"], numbers(residual_norms(model, kClean)), "norms");
  const OrderedJson heads = ask("heads", about(kClean));
  const HeadScores scores = head_scores(model, kClean);
  expect_close(heads["previous"], numbers(scores.previous), "previous");
  expect_close(heads["duplicate"], numbers(scores.duplicate), "duplicate");
  expect_close(heads["induction"], numbers(scores.induction), "induction");
}

TEST_F(InsideTest, ASweepStreamsTheLibrarysMap) {
  const LanguageInterp model = ember_inside();
  for (const char* by : {"position", "head"}) {
    const bool by_head = std::string_view(by) == "head";
    OrderedJson body = {{"clean", about(kClean)}, {"corrupted", about(kOther)}, {"by", by}};
    body["point"] = by_head ? "attn.hook_z" : "hook_resid_pre";
    body["metric"] = {{"kind", "logit_difference"}, {"token", 7}, {"other", 9}};
    const std::vector<ServerEvent> events = server().stream("/v1/wick/patch", body.dump());
    SweepCells cells;
    cells.by_head = by_head;
    cells.by_position = !by_head;
    const SweepMap map = patch_sweep(model, kClean, kOther, by_head ? HookPoint::kAttnZ : HookPoint::kResidPre, cells,
                                     Metric::logit_difference(7, 9));
    ASSERT_EQ(events.size(), map.layers.size() + 3);
    const OrderedJson begin = OrderedJson::parse(events.front().data);
    EXPECT_EQ(begin["type"], "begin");
    EXPECT_EQ(begin["layers"].get<std::vector<int>>(), map.layers);
    EXPECT_EQ(begin["positions"].get<std::vector<int64_t>>(), map.positions);
    EXPECT_EQ(begin["heads"].get<std::vector<int>>(), map.heads);
    EXPECT_NEAR(begin["clean"]["value"].get<double>(), map.clean, 1e-9);
    EXPECT_NEAR(begin["corrupted"]["value"].get<double>(), map.corrupted, 1e-9);
    const size_t columns = map.rows() * map.columns();
    for (size_t layer = 0; layer < map.layers.size(); ++layer) {
      const OrderedJson event = OrderedJson::parse(events[layer + 1].data);
      EXPECT_EQ(event["layer"], map.layers[layer]);
      const auto row = map.values.begin() + static_cast<int64_t>(layer * columns);
      expect_close(event["values"], std::vector<double>(row, row + static_cast<int64_t>(columns)), by);
    }
    EXPECT_EQ(events.back().data, "[DONE]");
  }
}

TEST_F(InsideTest, AProbeReadsWhatTheLibraryReads) {
  HookSpec hooks;
  hooks.scale("blocks.0.hook_mlp_out", 0.5f, {{3}, {}});
  const LinearProbe probe = kind_probe();
  OrderedJson body = about(kClean);
  body["probe"] = "kind";
  for (const bool is_edited : {false, true}) {
    if (is_edited) {
      body["edits"] = {{{"site", "blocks.0.hook_mlp_out"}, {"kind", "scale"}, {"factor", 0.5}, {"positions", {3}}}};
    }
    const OrderedJson answer = ask("probe", body);
    EXPECT_EQ(answer["labels"], OrderedJson::array({"kind", "unkind"}));
    const Tensor rows = token_rows(ember_inside(), kClean, probe.point, is_edited ? hooks : HookSpec());
    expect_close(answer["probabilities"], numbers(probe.probabilities(rows)), is_edited ? "edited" : "plain");
  }
}

TEST_F(InsideTest, FeaturesAreTheLibrarys) {
  const SparseAutoencoder sae = small_autoencoder();
  OrderedJson body = about(kClean);
  body["autoencoder"] = "small";
  body["top"] = 4;
  body["follow"] = {95, 0};
  const OrderedJson answer = ask("features", body);
  EXPECT_EQ(answer["features"], 96);
  const Tensor features = sae.encode(token_rows(ember_inside(), kClean, sae.hook_name()));
  ASSERT_EQ(answer["strongest"].size(), kClean.size());
  std::vector<float> followed;
  for (size_t row = 0; row < kClean.size(); ++row) {
    std::vector<int64_t> ids;
    std::vector<float> values;
    for (const SaeFeature& feature : SparseAutoencoder::strongest(features, static_cast<int64_t>(row), 4)) {
      ids.push_back(feature.feature);
      values.push_back(feature.value);
    }
    EXPECT_EQ(answer["strongest"][row]["ids"].get<std::vector<int64_t>>(), ids) << row;
    expect_close(answer["strongest"][row]["values"], values, cat("row ", row));
    for (const size_t feature : {95, 0}) followed.push_back(features.data<float>()[row * 96 + feature]);
  }
  expect_close(answer["follow"]["values"], followed, "followed");
}

TEST_F(InsideTest, ALensTellsHowFarItIs) {
  OrderedJson body = about(kClean);
  const OrderedJson plain = ask("lens", body);
  body["stream"] = true;
  const std::vector<ServerEvent> events = server().stream("/v1/wick/lens", body.dump());
  ASSERT_GT(events.size(), 3u);
  EXPECT_EQ(events.back().data, "[DONE]");
  OrderedJson lens = OrderedJson::parse(events[events.size() - 2].data);
  EXPECT_EQ(lens["type"], "lens");
  lens.erase("type");
  EXPECT_EQ(lens, plain);
  int64_t before = -1;
  for (size_t i = 0; i + 2 < events.size(); ++i) {
    const OrderedJson event = OrderedJson::parse(events[i].data);
    EXPECT_EQ(event["type"], "progress");
    EXPECT_EQ(event["total"], 9 * kClean.size());
    EXPECT_GT(event["done"].get<int64_t>(), before);
    before = event["done"].get<int64_t>();
  }
  EXPECT_EQ(before, 8 * static_cast<int64_t>(kClean.size())) << "the last layer is still to come";
  // What is wrong with the request is told before the first event.
  body["positions"] = {99};
  EXPECT_EQ(server().post("/v1/wick/lens", body.dump()).status, 400);
}

TEST_F(InsideTest, ASweepWithoutMetricTakesTheLikeliestAnswers) {
  const LanguageInterp model = ember_inside();
  const OrderedJson body = {{"clean", about(kClean)}, {"corrupted", about(kOther)}, {"layers", {0}}};
  const OrderedJson begin = OrderedJson::parse(server().stream("/v1/wick/patch", body.dump()).front().data);
  const int32_t token = VocabRow(last_logits(model, kClean)).best(1)[0],
                other = VocabRow(last_logits(model, kOther)).best(1)[0];
  EXPECT_EQ(begin["metric"]["token"]["id"], token);
  EXPECT_EQ(begin["metric"]["other"]["id"], other);
  EXPECT_EQ(begin["metric"]["kind"], token == other ? "kl" : "logit_difference");
}

TEST_F(InsideTest, ARunIsWhatAnAnswerWithTheSameEditsIs) {
  const OrderedJson edits = {{{"site", "blocks.0.hook_mlp_out"}, {"kind", "zero"}}};
  OrderedJson body = about(kClean);
  body["edits"] = edits;
  body["max_tokens"] = 6;
  body["top"] = 4;
  const OrderedJson answer = ask("run", body);
  OrderedJson completion = {{"prompt", kClean}, {"temperature", 0}, {"max_tokens", 6}};
  EXPECT_EQ(answer["plain"]["text"], server().answer("/v1/completions", completion.dump())["choices"][0]["text"]);
  completion["wick"] = {{"edits", edits}};
  EXPECT_EQ(answer["edited"]["text"], server().answer("/v1/completions", completion.dump())["choices"][0]["text"]);
  HookSpec spec;
  spec.zero("blocks.0.hook_mlp_out");
  const LanguageInterp model = ember_inside();
  const std::vector<float> plain = last_logits(model, kClean), edited = last_logits(model, kClean, spec);
  const VocabRow row(edited);
  ASSERT_EQ(answer["edited"]["next"].size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const int32_t token = row.best(4)[i];
    EXPECT_EQ(answer["edited"]["next"][i]["id"], token);
    EXPECT_NEAR(answer["edited"]["next"][i]["probability"].get<double>(), row.probability(token), 1e-5);
  }
  EXPECT_NEAR(answer["kl"].get<double>(), kl_divergence(VocabRow(plain), row), 1e-4);
}

TEST_F(InsideTest, PatchingEverythingGivesTheSourcesAnswer) {
  OrderedJson body = about(kClean);
  body["max_tokens"] = 0;
  body["source"] = about(kOther);
  body["edits"] = {{{"site", "blocks.0.hook_resid_pre"}, {"kind", "patch"}}};
  const OrderedJson patched = ask("run", body);
  OrderedJson other = about(kOther);
  other["max_tokens"] = 0;
  EXPECT_EQ(patched["edited"]["next"], ask("run", other)["plain"]["next"]);
  EXPECT_NE(patched["edited"]["next"], patched["plain"]["next"]);
  // What is seen of the patched run is what is seen of the source's.
  for (const char* what : {"lens", "norms", "heads", "attention"}) {
    OrderedJson seen = body;
    seen.erase("max_tokens");
    OrderedJson shown = ask(what, seen), expected = ask(what, about(kOther));
    EXPECT_NE(shown, ask(what, about(kClean))) << what;
    for (OrderedJson* each : {&shown, &expected}) {
      each->erase("tokens");
      each->erase("pieces");
    }
    EXPECT_EQ(shown, expected) << what;
  }
  // Of one position that is the same in both, nothing changes.
  body["edits"] = {{{"site", "blocks.0.hook_resid_pre"}, {"kind", "patch"}, {"positions", {0}}}};
  EXPECT_EQ(ask("run", body)["kl"], 0);
}

TEST_F(InsideTest, WhatMakesNoSenseIsTold) {
  const auto problem = [&](const char* what, const OrderedJson& body) {
    const HttpAnswer answer = server().post(cat("/v1/wick/", what), body.dump());
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.body;
  };
  const auto expect = [&](const char* what, OrderedJson body, const char* words) {
    EXPECT_NE(problem(what, body).find(words), std::string::npos) << what << body;
  };
  expect("lens", OrderedJson::object(), "one of prompt, tokens and messages");
  expect("lens", {{"prompt", "a"}, {"tokens", {1}}}, "one of prompt, tokens and messages");
  expect("lens", {{"tokens", OrderedJson::array()}}, "no tokens");
  expect("lens", {{"tokens", {4096}}}, "no token of the model");
  expect("lens", {{"tokens", {-1}}}, "tokens[0] is -1, allowed");
  expect("lens", {{"tokens", std::vector<int>(513, 5)}}, "takes at least 513 tokens, allowed are 512");
  expect("lens", {{"tokens", {1, 2}}, {"positions", {2}}}, "positions[0] is 2");
  expect("lens", {{"tokens", {1, 2}}, {"follow", {999999}}}, "999999");
  expect("lens", {{"tokens", {1, 2}}, {"top", 0}}, "top is 0");
  expect("attention", {{"tokens", {1, 2}}, {"layer", 8}}, "8");
  expect("attention", {{"tokens", {1, 2}}, {"heads", {4}}}, "4");
  expect("run", {{"tokens", {1, 2}}, {"max_tokens", 100000}}, "max_tokens");
  expect("run", {{"tokens", {1, 2}}, {"source", about({1})}}, "same length");
  expect("lens", {{"tokens", {1, 2}}, {"source", about({1})}}, "same length");
  expect("norms", {{"tokens", {1}}, {"edits", {{{"site", "hook_embed"}, {"kind", "patch"}}}}}, "with a source");
  expect("run", {{"tokens", {1}}, {"edits", {{{"site", "hook_embed"}, {"kind", "patch"}}}}}, "with a source");
  expect("run", {{"tokens", {1}}, {"edits", {{{"site", "blocks.0.attn.hook_z"}, {"kind", "zero"}, {"heads", {77}}}}}},
         "head 77");
  expect("patch", {{"clean", about({1, 2})}, {"corrupted", about({1})}}, "same length");
  expect("patch", {{"clean", about({1})}}, "corrupted is missing");
  expect("patch", {{"clean", about({1})}, {"corrupted", about({2})}, {"metric", {{"position", 1}}}}, "1");
  expect("patch", {{"clean", about({1})}, {"corrupted", about({2})}, {"metric", {{"token", 5000}}}}, "5000");
  expect("patch", {{"clean", about({1})}, {"corrupted", about({2})}, {"layers", {8}}}, "8");
  expect("patch", {{"clean", about({1})}, {"corrupted", about({2})}, {"layers", std::vector<int>(20001)}}, "cells");
  expect("patch", {{"clean", about({1})}, {"corrupted", about({2})}, {"by", "head"}}, "has no heads");
  expect("probe", {{"tokens", {1}}, {"probe", "../kind"}}, "no probe '../kind'; known are: 'kind'");
  expect("probe", {{"tokens", {1}}}, "probe is missing");
  expect("features", {{"tokens", {1}}, {"autoencoder", "x"}}, "no autoencoder 'x'; known are: 'small'");
  expect("features", {{"tokens", {1}}, {"autoencoder", "small"}, {"follow", {96}}}, "follow[0] is 96");
  expect("features", {{"tokens", {1}}, {"autoencoder", "small"}, {"follow", std::vector<int>(17)}}, "allowed are 16");
  EXPECT_EQ(server().post("/v1/wick/lens", "{").status, 400);
  EXPECT_EQ(server().post("/v1/wick/lens", R"({"prompt": "a", "model": "none"})").status, 404);
}

TEST_F(InsideTest, AFullQueueIsTold) {
  InspectOptions options;
  options.max_waiting = 0;
  InspectServer busy(options);
  const HttpAnswer answer = busy.server.post("/v1/wick/norms", R"({"prompt": "a"})");
  EXPECT_EQ(answer.status, 429);
  EXPECT_TRUE(answer.has_field("retry-after"));
}

TEST_F(InsideTest, AClientThatGoesEndsItsSweep) {
  InspectOptions options;
  options.threads = 1;
  InspectServer one(options);
  std::vector<int32_t> clean, other;
  for (int32_t i = 0; i < 500; ++i) {
    clean.push_back(5 + i % 1000);
    other.push_back(6 + i % 1000);
  }
  const OrderedJson body = {{"clean", about(clean)}, {"corrupted", about(other)}};
  {
    HttpClient open = one.server.begin_stream("/v1/wick/patch", body.dump());
    ASSERT_TRUE(comes_true([&] { return one.server.host().loaded("ember") != nullptr; }));
  }  // gone
  // The only thread is free again long before the sweep's 4000 runs could be done.
  EXPECT_EQ(one.server.post("/v1/wick/norms", R"({"prompt": "a"})").status, 200);
}

}  // namespace
}  // namespace wick
