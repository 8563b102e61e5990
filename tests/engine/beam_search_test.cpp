// Beam search, and texts of models with an encoder, against plain ones that compute everything anew at each step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/engine_requests.h"
#include "support/errors.h"
#include "support/tiny_seq2seq.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

constexpr int32_t kStart = 2, kEnd = 2, kFrench = 7;
constexpr size_t kVocabulary = TinySeq2Seq::kVocabulary;

// A tiny model with an encoder, and a tokenizer of words "a0", "a1", ...
struct Tiny {
  explicit Tiny(const std::string& family = "bart", const std::string& settings = "", float ends = 0)
      : plain(family, settings) {
    if (ends != 0) plain.prefer(kEnd, ends);
    const TempFolder folder;
    plain.write_with_tokenizer(folder.path());
    model = TextModel::load(folder.path());
  }
  // Log-probabilities of what follows.
  std::vector<double> next(const std::vector<int32_t>& source, std::vector<int32_t> lead,
                           const std::vector<int32_t>& text) const {
    lead.insert(lead.end(), text.begin(), text.end());
    std::vector<double> row = plain.logits(source, lead).back();
    double total = 0;
    for (const double logit : row) total += std::exp(logit);
    for (double& logit : row) logit -= std::log(total);
    return row;
  }

  TinySeq2Seq plain;
  std::shared_ptr<const TextModel> model;
};

struct Found {
  std::vector<int32_t> tokens;  // with the end
  double sum = 0, score = 0;
};

// The search as it is defined, one text after the other.
std::vector<Found> plain_search(const Tiny& tiny, const std::vector<int32_t>& source, const BeamParams& params,
                                int64_t most, const std::vector<int32_t>& lead = {kStart}) {
  const auto count = static_cast<size_t>(params.count);
  const auto score = [&](double sum, size_t length) {
    return sum / std::pow(static_cast<double>(length + lead.size() - 1), static_cast<double>(params.length_penalty));
  };
  std::vector<Found> beams(1), over;
  const auto add = [&](Found found) {
    found.score = score(found.sum, found.tokens.size());
    over.push_back(std::move(found));
    std::stable_sort(over.begin(), over.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
    if (over.size() > count) over.pop_back();
  };
  for (int64_t step = 0; step < most; ++step) {
    std::vector<Found> all;
    for (const Found& beam : beams) {
      std::vector<double> next = tiny.next(source, lead, beam.tokens);
      std::vector<int32_t> seen = lead;
      seen.insert(seen.end(), beam.tokens.begin(), beam.tokens.end());
      const auto run = static_cast<size_t>(params.no_repeat_ngram);
      for (size_t token = 0; token < kVocabulary && run > 0; ++token) {
        std::vector<int32_t> longer = seen;
        longer.push_back(static_cast<int32_t>(token));
        for (size_t i = 0; longer.size() >= run && i + run < longer.size(); ++i) {
          if (std::equal(longer.end() - static_cast<ptrdiff_t>(run), longer.end(),
                         longer.begin() + static_cast<ptrdiff_t>(i))) {
            next[token] = -INFINITY;
          }
        }
      }
      for (size_t token = 0; token < kVocabulary; ++token) {
        Found longer = beam;
        longer.tokens.push_back(static_cast<int32_t>(token));
        longer.sum += next[token];
        all.push_back(std::move(longer));
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.sum > b.sum; });
    beams.clear();
    for (size_t rank = 0; beams.size() < count && rank < 2 * count && std::isfinite(all[rank].sum); ++rank) {
      if (all[rank].tokens.back() != kEnd) {
        beams.push_back(all[rank]);
      } else if (rank < count) {
        add(all[rank]);
      }
    }
    const auto length = static_cast<size_t>(step) + 1;
    const bool may_gain = params.early_stopping == EarlyStopping::kNever && params.length_penalty > 0;
    const double best = score(beams.front().sum, may_gain ? static_cast<size_t>(most) : length);
    if (over.size() == count && (params.early_stopping == EarlyStopping::kYes || over.back().score >= best))
      return over;
  }
  for (const Found& beam : beams) add(beam);
  return over;
}

EngineRequest request_for(std::vector<int32_t> source, int64_t most) {
  EngineRequest request;
  request.prompt = std::move(source);
  request.params.max_new_tokens = most;
  request.params.sampling.temperature = 0;
  return request;
}

std::vector<int32_t> without_end(std::vector<int32_t> tokens) {
  if (!tokens.empty() && tokens.back() == kEnd) tokens.pop_back();
  return tokens;
}

EngineOptions small_engine(int64_t context = 18) {
  EngineOptions options;
  options.context = context;
  options.kv_dtype = DType::kF32;
  return options;
}

TEST(EncoderDecoderText, GreedyIsThePlainOne) {
  const Tiny tiny;
  const std::vector<int32_t> source = some_tokens(9, 4, kVocabulary);
  std::vector<int32_t> expected;
  while (expected.size() < 12) {
    const std::vector<double> next = tiny.next(source, {kStart}, expected);
    const auto best = static_cast<int32_t>(std::max_element(next.begin(), next.end()) - next.begin());
    if (best == kEnd) break;
    expected.push_back(best);
  }
  const GenerateResult result = alone(tiny.model, request_for(source, 12), 0, DType::kF32);
  EXPECT_EQ(result.tokens, expected);
  EXPECT_EQ(result.prompt_tokens, 9);
  EXPECT_EQ(tiny.model->recommended().temperature, 0);
}

// What several requests ask for is what each gets alone: sources are not mixed up, nor taken for equal prompts.
TEST(EncoderDecoderText, RequestsKeepTheirSources) {
  const Tiny tiny("m2m_100", R"(, "forced_bos_token_id": 9)");
  TextEngine engine(tiny.model, small_engine());
  std::vector<Heard> heard(7);
  std::vector<EngineRequest> requests;
  for (size_t i = 0; i < heard.size(); ++i) {
    EngineRequest request = request_for(some_tokens(3 + i % 4, static_cast<uint32_t>(i % 5), kVocabulary), 10);
    if (i % 2) request.params.beams.count = 3;
    if (i == 6) request.params.sampling.temperature = 1;
    requests.push_back(request);
    ASSERT_TRUE(engine.submit(request, listen(heard[i])));
  }
  run_to_end(engine);
  std::vector<std::vector<int32_t>> different;
  for (size_t i = 0; i < heard.size(); ++i) {
    ASSERT_FALSE(heard[i].error) << *heard[i].error;
    Generator generator(tiny.model, {.context = 18, .kv_dtype = DType::kF32, .beams = 3});
    GenerateParams params;
    static_cast<GenerationParams&>(params) = requests[i].params;
    const GenerateResult own = generator.generate(requests[i].prompt, params);
    EXPECT_EQ(heard[i].results[0].tokens, own.tokens) << i;
    EXPECT_EQ(heard[i].tokens[0], own.tokens) << i;
    EXPECT_EQ(heard[i].text[0], own.text) << i;
    if (std::find(different.begin(), different.end(), own.tokens) == different.end()) different.push_back(own.tokens);
  }
  EXPECT_GT(different.size(), 2u);
}

TEST(EncoderDecoderText, TextsBeginWithALanguage) {
  const Tiny tiny("m2m_100", R"(, "forced_bos_token_id": 9)");
  EXPECT_EQ(tiny.model->start_tokens(), (std::vector<int32_t>{kStart, 9}));
  EXPECT_EQ(tiny.model->start_tokens("<fr>"), (std::vector<int32_t>{kStart, kFrench}));
  EXPECT_ERROR(tiny.model->start_tokens("a3"), kInvalidArgument, "no control token 'a3'");
  const std::vector<int32_t> source = some_tokens(5, 1, kVocabulary);
  TextEngine engine(tiny.model, small_engine());
  EngineRequest request = request_for(source, 8);
  request.begins_with = "<fr>";
  request.params.beams.count = 2;
  Heard heard;
  ASSERT_TRUE(engine.submit(request, listen(heard)));
  run_to_end(engine);
  const std::vector<Found> expected = plain_search(tiny, source, request.params.beams, 8, {kStart, kFrench});
  EXPECT_EQ(heard.results[0].tokens, without_end(expected[0].tokens));
}

TEST(BeamSearch, IsThePlainOne) {
  const Tiny tiny("bart", "", 4);
  size_t ended = 0;
  const auto expect_plain = [&](const BeamParams& params, int64_t most, uint32_t seed) {
    SCOPED_TRACE(cat(params.count, " beams, penalty ", params.length_penalty, ", seed ", seed));
    const std::vector<int32_t> source = some_tokens(4 + seed, seed, kVocabulary);
    EngineRequest request = request_for(source, most);
    request.params.beams = params;
    request.choices = params.count;
    TextEngine engine(tiny.model, small_engine());
    Heard heard;
    ASSERT_TRUE(engine.submit(request, listen(heard)));
    run_to_end(engine);
    const std::vector<Found> expected = plain_search(tiny, source, params, most);
    ASSERT_EQ(std::ssize(heard.results), params.count);
    for (int64_t i = 0; i < params.count; ++i) {
      const Found& found = expected[static_cast<size_t>(i)];
      EXPECT_EQ(heard.results[i].tokens, without_end(found.tokens)) << i;
      const bool is_end = found.tokens.back() == kEnd;
      EXPECT_EQ(heard.results[i].reason, is_end ? StopReason::kEndOfText : StopReason::kLength) << i;
      ended += is_end;
    }
  };
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    for (const int64_t count : {2, 5}) expect_plain({count}, 9, seed);
    expect_plain({3, 0}, 9, seed);
    expect_plain({3, 2.5f}, 9, seed);
    expect_plain({3, -1, EarlyStopping::kYes}, 9, seed);
    expect_plain({4, 1, EarlyStopping::kNever}, 7, seed);
    expect_plain({3, 1, EarlyStopping::kNo, 1}, 9, seed);
    expect_plain({3, 1, EarlyStopping::kNo, 2}, 12, seed);
  }
  EXPECT_GT(ended, 5u);
}

// With as many beams as there are tokens, the best of all texts of two tokens is found.
TEST(BeamSearch, FindsTheBestOfAll) {
  const Tiny tiny;
  const std::vector<int32_t> source = some_tokens(6, 8, kVocabulary);
  const std::vector<double> first = tiny.next(source, {kStart}, {});
  std::vector<int32_t> best = {kEnd};
  double most = first[kEnd];
  for (int32_t a = 0; a < static_cast<int32_t>(kVocabulary); ++a) {
    if (a == kEnd) continue;
    const std::vector<double> second = tiny.next(source, {kStart}, {a});
    for (int32_t b = 0; b < static_cast<int32_t>(kVocabulary); ++b) {
      const double sum = first[static_cast<size_t>(a)] + second[static_cast<size_t>(b)];
      if (sum <= most) continue;
      most = sum;
      best = {a, b};
    }
  }
  EngineRequest request = request_for(source, 2);
  request.params.beams = {static_cast<int64_t>(kVocabulary), 0};
  TextEngine engine(tiny.model, small_engine());
  Heard heard;
  ASSERT_TRUE(engine.submit(request, listen(heard)));
  run_to_end(engine);
  EXPECT_EQ(heard.results[0].tokens, without_end(best));
}

// Models without an encoder search, too, and share the prompt with others.
TEST(BeamSearch, ContinuesPrompts) {
  const auto model = tiny_text_model("llama");
  EngineOptions options = small_engine(64);
  TextEngine engine(model, options);
  EngineRequest request = request_for(some_tokens(20, 3), 8);
  request.params.ignore_end = true;
  Heard greedy, searched, again;
  ASSERT_TRUE(engine.submit(request, listen(greedy)));
  request.params.beams.count = 4;
  ASSERT_TRUE(engine.submit(request, listen(searched)));
  run_to_end(engine);
  ASSERT_TRUE(engine.submit(request, listen(again)));
  run_to_end(engine);
  EXPECT_EQ(greedy.results[0].tokens.size(), 8u);
  EXPECT_EQ(searched.results[0].tokens.size(), 8u);
  EXPECT_EQ(again.results[0].tokens, searched.results[0].tokens);
}

// In memory for a part of them, beams are preempted, and found all the same.
TEST(BeamSearch, SurvivesPreemption) {
  const Tiny tiny;
  EngineOptions options = small_engine(18);
  options.prefix_cache = false;
  options.kv_bytes = 8 * KvCache::bytes_per_block(tiny.model->model().facts().kv_layers, DType::kF32);
  TextEngine narrow_engine(tiny.model, options), engine(tiny.model, small_engine());
  std::vector<Heard> narrow_heard(4), heard(4);
  for (size_t i = 0; i < 4; ++i) {
    EngineRequest request = request_for(some_tokens(5, static_cast<uint32_t>(i), kVocabulary), 17);
    request.params.ignore_end = true;
    request.params.beams.count = 3;
    ASSERT_TRUE(narrow_engine.submit(request, listen(narrow_heard[i])));
    ASSERT_TRUE(engine.submit(request, listen(heard[i])));
  }
  run_to_end(narrow_engine);
  run_to_end(engine);
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_FALSE(narrow_heard[i].error) << *narrow_heard[i].error;
    EXPECT_EQ(narrow_heard[i].results[0].tokens.size(), 17u);
    EXPECT_EQ(narrow_heard[i].results[0].tokens, heard[i].results[0].tokens) << i;
  }
}

TEST(BeamSearch, StopsAtTextsAndLimits) {
  const Tiny tiny;
  const std::vector<int32_t> source = some_tokens(6, 8, kVocabulary);
  const auto run = [&](const std::function<void(EngineRequest&)>& change) {
    EngineRequest request = request_for(source, 9);
    request.params.ignore_end = true;
    request.params.beams.count = 3;
    change(request);
    TextEngine engine(tiny.model, small_engine());
    Heard heard;
    EXPECT_TRUE(engine.submit(request, listen(heard)));
    run_to_end(engine);
    return heard.results[0];
  };
  const GenerateResult whole = run([](EngineRequest&) {});
  ASSERT_EQ(whole.tokens.size(), 9u);
  EXPECT_EQ(whole.reason, StopReason::kLength);
  const std::string word = tiny.model->tokenizer().decode(std::vector<int>{whole.tokens[4]});
  const GenerateResult cut = run([&](EngineRequest& request) { request.params.stop = {word}; });
  EXPECT_EQ(cut.reason, StopReason::kStopString);
  EXPECT_LT(cut.text.size(), whole.text.size());
  EXPECT_EQ(cut.text, whole.text.substr(0, whole.text.find(word)));
  EXPECT_EQ(run([](EngineRequest& request) { request.params.max_new_tokens = 0; }).tokens.size(), 0u);
  const GenerateResult full = run([](EngineRequest& request) { request.params.max_new_tokens = -1; });
  EXPECT_EQ(full.reason, StopReason::kContextFull);
  EXPECT_EQ(full.tokens.size(), 18u);
}

TEST(BeamSearch, WhatItCannotDoIsRefused) {
  const Tiny tiny;
  TextEngine engine(tiny.model, small_engine());
  Heard heard;
  const auto expect_bad = [&](const std::function<void(EngineRequest&)>& change, const char* what) {
    EngineRequest request = request_for(some_tokens(6, 8, kVocabulary), 9);
    request.params.beams.count = 3;
    change(request);
    EXPECT_ERROR(engine.submit(request, listen(heard)), kInvalidArgument, what);
  };
  expect_bad([](EngineRequest& r) { r.params.beams.count = 0; }, "0 beams are asked for");
  expect_bad([](EngineRequest& r) { r.params.beams.count = 65; }, "65 beams are asked for, expected 1 to 64");
  expect_bad([](EngineRequest& r) { r.choices = 4; }, "3 beams give 1 to 3");
  expect_bad([](EngineRequest& r) { r.params.sampling.temperature = 0.5f; }, "the temperature is 0.5, expected 0");
  expect_bad([](EngineRequest& r) { r.params.sampling.repetition_penalty = 1.5f; }, "no penalties but");
  expect_bad([](EngineRequest& r) { r.params.grammar = Grammar::json_object(JsonLayout::kOneLine); }, "a grammar");
  expect_bad([](EngineRequest& r) { r.params.beams.length_penalty = NAN; }, "length_penalty");
  expect_bad([](EngineRequest& r) { r.prompt = some_tokens(21, 1, kVocabulary); }, "the prompt has 21 tokens");
  expect_bad([](EngineRequest& r) { r.prompt.clear(); }, "the prompt is empty");
  expect_bad([](EngineRequest& r) { r.begins_with = "a4"; }, "no control token 'a4'");
  expect_bad([](EngineRequest& r) { r.prompt_logprobs = 0; }, "reads with an encoder");
  EXPECT_FALSE(heard.error);
}

}  // namespace
}  // namespace wick
