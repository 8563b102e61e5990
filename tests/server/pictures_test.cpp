// Pictures in requests of the chat API and the Responses API.
#include <gtest/gtest.h>

#include "base/base64.h"
#include "media/image/png_writer.h"
#include "support/api_server.h"
#include "vision/seeing_text_models.h"

namespace wick {
namespace {

class PicturesInRequests : public testing::Test {
 protected:
  void SetUp() override {
    WICK_NEEDS_FIXTURE("qwen3_vl");
    write_seeing_model("qwen3_vl", kQwenProcessor, folder_.path());
    EngineOptions engine;
    engine.kv_bytes = int64_t{16} << 20;
    server_ = std::make_unique<ApiServer>(std::vector<ModelEntry>{{"eyes", folder_.path(), {}, engine}});
  }

  static std::string url_of(uint32_t seed, int width = 96, int height = 64) {
    return cat("data:image/png;base64,", encode_base64(png_bytes(some_picture(width, height, seed)->picture)));
  }
  static OrderedJson image(const std::string& url) { return {{"type", "image_url"}, {"image_url", {{"url", url}}}}; }
  static std::string chat(std::vector<OrderedJson> content, const std::string& role = "user") {
    content.push_back({{"type", "text"}, {"text", "a5 a6"}});
    const OrderedJson body = {{"model", "eyes"},
                              {"messages", {{{"role", role}, {"content", std::move(content)}}}},
                              {"max_tokens", 6},
                              {"ignore_eos", true},
                              {"temperature", 0}};
    return body.dump();
  }
  std::string refused(const std::string& body) const {
    const HttpAnswer answer = server_->post("/v1/chat/completions", body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.body;
  }

  TempFolder folder_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(PicturesInRequests, AreSeen) {
  const OrderedJson first = server_->answer("/v1/chat/completions", chat({image(url_of(1))}));
  const OrderedJson again = server_->answer("/v1/chat/completions", chat({image(url_of(1))}));
  const OrderedJson other = server_->answer("/v1/chat/completions", chat({image(url_of(2))}));
  // 6 rows of the picture between two tokens, two words, and one of the template.
  EXPECT_EQ(first["usage"]["prompt_tokens"], 11);
  EXPECT_EQ(first["choices"][0]["message"]["content"], again["choices"][0]["message"]["content"]);
  EXPECT_NE(first["choices"][0]["message"]["content"], other["choices"][0]["message"]["content"]);
  const OrderedJson both = server_->answer("/v1/chat/completions", chat({image(url_of(1)), image(url_of(2))}));
  EXPECT_EQ(both["usage"]["prompt_tokens"], 19);
}

TEST_F(PicturesInRequests, AreSeenByTheResponsesApi) {
  const OrderedJson body = {
      {"model", "eyes"},
      {"max_output_tokens", 6},
      {"input",
       {{{"role", "user"},
         {"content",
          {{{"type", "input_image"}, {"image_url", url_of(1)}}, {{"type", "input_text"}, {"text", "a5"}}}}}}}};
  const OrderedJson answer = server_->answer("/v1/responses", body.dump());
  EXPECT_EQ(answer["usage"]["input_tokens"], 10);
}

TEST_F(PicturesInRequests, ThatHurtAreRefused) {
  EXPECT_NE(refused(chat({image("data:image/png;base64,AAAA")})).find("messages[0].content[0]"), std::string::npos);
  EXPECT_NE(refused(chat({image("file:///etc/passwd")})).find("the server fetches none"), std::string::npos);
  EXPECT_NE(refused(chat({image(url_of(1))}, "system")).find("those of role"), std::string::npos);
  std::vector<OrderedJson> many;
  for (uint32_t i = 0; i < 33; ++i) many.push_back(image(url_of(i, 64, 64)));
  EXPECT_NE(refused(chat(many)).find("may show 32 pictures"), std::string::npos);
  // A header that claims more pixels than a request may bring.
  std::string huge = png_bytes(some_picture(64, 64, 1)->picture);
  huge[16] = huge[20] = '\x00';
  huge[17] = huge[21] = '\x01';
  EXPECT_EQ(
      server_->post("/v1/chat/completions", chat({image(cat("data:image/png;base64,", encode_base64(huge)))})).status,
      400);
  EXPECT_EQ(server_->answer("/v1/chat/completions", chat({image(url_of(1))}))["usage"]["prompt_tokens"], 11);
}

}  // namespace
}  // namespace wick
