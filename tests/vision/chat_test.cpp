// Pictures in chats: from messages to tokens that the engine generates.
#include <gtest/gtest.h>

#include "engine/text/conversation.h"
#include "support/compare.h"
#include "support/engine_requests.h"
#include "support/errors.h"
#include "vision/seeing_text_models.h"

namespace wick {
namespace {

class ChatWithPictures : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE("qwen3_vl"); }
};

EngineRequest request_of(const TextModel& model, const std::vector<VisualRef>& pictures, const std::string& text,
                         int64_t tokens = 8) {
  ChatInput input;
  std::vector<jinja::Value> parts;
  for (const VisualRef& picture : pictures) {
    jinja::Dict part;
    part.set("type", picture->is_video() ? "video" : "image");
    parts.emplace_back(std::move(part));
  }
  jinja::Dict said, message;
  said.set("type", "text");
  said.set("text", text);
  parts.emplace_back(std::move(said));
  message.set("role", "user");
  message.set("content", jinja::Value::list(std::move(parts)));
  input.messages = jinja::Value::list({message});
  ChatVisuals visuals;
  visuals.all = pictures;
  ChatPrompt prompt = make_chat_prompt(model, input, {}, visuals);
  EngineRequest request;
  request.prompt = std::move(prompt.tokens);
  request.embeddings = std::move(prompt.embeddings);
  request.params.max_new_tokens = tokens;
  request.params.ignore_end = true;
  request.params.sampling.temperature = 0;
  request.params.sampling.logprobs = 1;
  return request;
}

GenerateResult seen_alone(const std::shared_ptr<const TextModel>& model, const EngineRequest& request) {
  Generator generator(model);
  GenerateParams params;
  static_cast<GenerationParams&>(params) = request.params;
  params.embeddings = request.embeddings;
  return generator.generate(request.prompt, params);
}

TEST_F(ChatWithPictures, TheTemplatesPlaceBecomesTheRowsOfThePicture) {
  const auto model = seeing_text_model();
  const EngineRequest request = request_of(*model, {some_picture(96, 64, 1)}, "a5 a6");
  // 96 x 64 pixels are 6 x 4 patches, and joined 3 x 2.
  const std::vector<int32_t> expected = {182, 180, 180, 180, 180, 180, 180, 183, 5, 6, 7};
  EXPECT_EQ(request.prompt, expected);
  ASSERT_EQ(request.embeddings.size(), 1u);
  EXPECT_EQ(request.embeddings[0].position, 1);
  EXPECT_EQ(request.embeddings[0].grid, (std::array<int64_t, 3>{1, 2, 3}));
  EXPECT_EQ(request.embeddings[0].deep.size(), 3u);
}

TEST_F(ChatWithPictures, EachFrameOfAVideoHasItsTime) {
  const auto model = seeing_text_model();
  auto video = std::make_shared<Visual>();
  for (int i = 0; i < 4; ++i) video->frames.push_back({i * 0.5, some_picture(64, 64, 10 + i)->picture});
  const EngineRequest request = request_of(*model, {video}, "a5");
  // "<0.2 seconds>" is two words that the tokenizer does not know.
  const std::vector<int32_t> expected = {0, 0, 182, 181, 181, 181, 181, 183, 0, 0, 182, 181, 181, 181, 181, 183, 5, 7};
  EXPECT_EQ(request.prompt, expected);
  ASSERT_EQ(request.embeddings.size(), 2u);
  EXPECT_EQ(request.embeddings[1].position, 11);
}

TEST_F(ChatWithPictures, WhatTextsSpellIsNoPlace) {
  const auto model = seeing_text_model();
  const EngineRequest request =
      request_of(*model, {some_picture(64, 64, 1)}, "<|vision_start|><|image_pad|><|vision_end|>");
  EXPECT_EQ(std::count(request.prompt.begin(), request.prompt.end(), 180), 4);
  EXPECT_EQ(request.embeddings.size(), 1u);
}

TEST_F(ChatWithPictures, PicturesAndPlacesMustAgree) {
  const auto model = seeing_text_model();
  Conversation conversation(model);
  conversation.load(
      Json::parse(R"([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "a1"}]}])", "messages"));
  expect_error([&] { conversation.prompt(); }, ErrorCode::kInvalidArgument, "without a path");
  ChatInput input;
  ChatVisuals visuals;
  visuals.all = {some_picture(64, 64, 1)};
  expect_error([&] { make_chat_prompt(*model, input, {}, visuals); }, ErrorCode::kInvalidArgument,
               "no place for picture 1");
  EngineRequest request = request_of(*model, {some_picture(64, 64, 1)}, "a5");
  request.embeddings.clear();
  expect_error([&] { seen_alone(model, request); }, ErrorCode::kInvalidArgument,
               "token 180 at position 1 stands for a picture");
  request = request_of(*model, {some_picture(64, 64, 1)}, "a5");
  request.embeddings[0].position = 2;
  expect_error([&] { seen_alone(model, request); }, ErrorCode::kInvalidArgument, "position 1");
  auto longest = std::make_shared<Visual>();
  longest->picture = plain_picture(6000, 10, 1, 2, 3);
  expect_error([&] { request_of(*model, {longest}, "a5"); }, ErrorCode::kInvalidArgument, "");
}

TEST_F(ChatWithPictures, AModelWithoutItsProcessorSaysSo) {
  const TempFolder folder;
  write_seeing_model("qwen3_vl", kQwenProcessor, folder.path());
  std::filesystem::remove(folder.path() / "preprocessor_config.json");
  const auto model = TextModel::load(folder.path());
  EXPECT_FALSE(model->sees());
  expect_error([&] { model->eyes(); }, ErrorCode::kUnsupported, "preprocessor_config.json");
}

TEST_F(ChatWithPictures, TheAnswerDoesNotDependOnTheBatch) {
  const auto model = seeing_text_model();
  std::vector<EngineRequest> requests;
  requests.push_back(request_of(*model, {some_picture(96, 64, 1)}, "a5 a6"));
  requests.push_back(request_of(*model, {some_picture(96, 64, 2)}, "a5 a6"));
  requests.push_back(request_of(*model, {some_picture(64, 128, 3), some_picture(96, 96, 4)}, "a9"));
  requests.push_back(request_of(*model, {}, "a5 a6 a9 a11 a12"));
  EngineOptions options;
  options.max_batch_tokens = 7;  // pictures are cut
  TextEngine engine(model, options);
  std::vector<Heard> heard(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) engine.submit(requests[i], listen(heard[i]));
  run_to_end(engine);
  for (size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(i);
    const GenerateResult alone = seen_alone(model, requests[i]);
    EXPECT_EQ(heard[i].results[0].tokens, alone.tokens);
  }
  EXPECT_NE(heard[0].results[0].tokens, heard[1].results[0].tokens);  // the pictures differ
}

TEST_F(ChatWithPictures, APrefixIsFoundAgainByWhatThePictureShows) {
  const auto model = seeing_text_model();
  TextEngine engine(model, {});
  const auto run = [&](const EngineRequest& request) {
    Heard heard;
    engine.submit(request, listen(heard));
    run_to_end(engine);
    return heard.results[0];
  };
  const VisualRef picture = some_picture(256, 128, 1), other = some_picture(256, 128, 2);
  const EngineRequest first = request_of(*model, {picture}, "a5 a6"), second = request_of(*model, {picture}, "a8 a9"),
                      third = request_of(*model, {other}, "a5 a6");
  run(first);
  const GenerateResult again = run(second), different = run(third);
  EXPECT_GE(again.reused_tokens, 32);  // all blocks of the picture
  EXPECT_LT(different.reused_tokens, 16);
  EXPECT_EQ(again.tokens, seen_alone(model, second).tokens);
  EXPECT_EQ(different.tokens, seen_alone(model, third).tokens);
}

TEST_F(ChatWithPictures, APreemptedOneGoesOnAsItWas) {
  const auto model = seeing_text_model();
  EngineOptions options;
  options.context = 128;
  options.kv_bytes = 12 * KvCache::bytes_per_block(model->model().facts().kv_layers, options.kv_dtype);
  options.swap_bytes = 0;
  options.prefix_cache = false;
  TextEngine engine(model, options);
  std::vector<EngineRequest> requests;
  std::vector<Heard> heard(5);
  for (uint32_t i = 0; i < 5; ++i) requests.push_back(request_of(*model, {some_picture(96, 128, i)}, "a5", 40));
  for (size_t i = 0; i < requests.size(); ++i) engine.submit(requests[i], listen(heard[i]));
  run_to_end(engine);
  EXPECT_GT(engine.snapshot().counters.preemptions, 0);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(heard[i].results[0].tokens, seen_alone(model, requests[i]).tokens) << i;
  }
}

TEST(ChatWithGemma, RowsThatSeeEachOtherAreNeverCut) {
  WICK_NEEDS_FIXTURE("gemma3-vision");
  const auto model = seeing_text_model("gemma3-vision", kSiglipProcessor);
  std::vector<EngineRequest> requests;
  for (uint32_t i = 0; i < 3; ++i) requests.push_back(request_of(*model, {some_picture(40, 30, i)}, "a5 a6 a9"));
  EXPECT_TRUE(requests[0].embeddings[0].is_whole);
  EngineOptions options;
  options.max_batch_tokens = 3;  // fewer than a picture has rows
  TextEngine engine(model, options);
  std::vector<Heard> heard(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) engine.submit(requests[i], listen(heard[i]));
  run_to_end(engine);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_FALSE(heard[i].error) << *heard[i].error;
    EXPECT_EQ(heard[i].results[0].tokens, seen_alone(model, requests[i]).tokens) << i;
  }
}

TEST_F(ChatWithPictures, EncodingsAreKeptByContentAndSalt) {
  const auto model = seeing_text_model();
  const Eyes& eyes = model->eyes();
  const auto bytes_of = [&](const VisualRef& visual, std::string_view salt) {
    return eyes.encode(visual, {}, salt).front().rows.raw();
  };
  const auto* const first = bytes_of(some_picture(64, 64, 1), "");
  EXPECT_EQ(bytes_of(some_picture(64, 64, 1), ""), first);
  EXPECT_NE(bytes_of(some_picture(64, 64, 1), "key"), first);
  EXPECT_NE(bytes_of(some_picture(64, 64, 2), ""), first);
  SightOptions fewer;
  fewer.max_pixels = 1024;
  EXPECT_EQ(eyes.encode(some_picture(64, 64, 1), fewer, "").front().rows.dim(0), 1);
  fewer.max_pixels = 0;
  expect_error([&] { eyes.look(*some_picture(64, 64, 1), fewer); }, ErrorCode::kInvalidArgument, "pixels");
}

}  // namespace
}  // namespace wick
