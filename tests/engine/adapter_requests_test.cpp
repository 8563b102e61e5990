// Requests with adapters of their own, in one engine.
#include <gtest/gtest.h>

#include "support/engine_requests.h"
#include "support/errors.h"
#include "support/lora_files.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

class AdapterRequests : public testing::Test {
 protected:
  AdapterRequests() {
    write_tiny_text_model("llama", temp_.path() / "model");
    LoadOptions options;
    for (const std::string name : {"first", "second", "third"}) {
      write_random_lora(Checkpoint::open(temp_.path() / "model"), temp_.path() / name, 3,
                        100 * (1 + options.loras.size()));
      options.loras.push_back({temp_.path() / name, 1, name});
    }
    model_ = TextModel::load(temp_.path() / "model", options);
  }

  static EngineRequest request(std::optional<std::vector<int64_t>> adapters, uint32_t seed = 1) {
    EngineRequest wanted;
    wanted.prompt = some_tokens(40, seed);
    wanted.params.max_new_tokens = 12;
    wanted.params.ignore_end = true;
    wanted.params.sampling.temperature = 0;
    wanted.adapters = std::move(adapters);
    return wanted;
  }
  std::vector<int32_t> alone(const EngineRequest& wanted) const {
    TextEngine engine(model_, {});
    Heard heard;
    engine.submit(wanted, listen(heard));
    run_to_end(engine);
    return heard.tokens[0];
  }

  TempFolder temp_;
  std::shared_ptr<const TextModel> model_;
};

// One prompt with every adapter, at once and again: neither batches nor the prefix cache mix them up.
TEST_F(AdapterRequests, AreAnsweredAsAlone) {
  const std::vector<std::optional<std::vector<int64_t>>> kinds = {std::nullopt, {{0}}, {{1}}, {{2}}, {{0, 2}}, {{}}};
  std::vector<std::vector<int32_t>> expected;
  for (const auto& kind : kinds) expected.push_back(alone(request(kind)));
  EXPECT_EQ(expected[0], expected[5]);
  for (size_t i = 1; i < 5; ++i) EXPECT_NE(expected[i], expected[0]) << i;
  EXPECT_NE(expected[1], expected[2]);
  TextEngine engine(model_, {});
  for (int round = 0; round < 2; ++round) {
    std::vector<Heard> heard(kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i) engine.submit(request(kinds[i]), listen(heard[i]));
    run_to_end(engine);
    for (size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(heard[i].tokens[0], expected[i]) << "kind " << i;
    if (round == 0) continue;
    for (size_t i = 0; i < kinds.size(); ++i) EXPECT_GT(heard[i].results[0].reused_tokens, 0) << "kind " << i;
  }
}

TEST_F(AdapterRequests, UnknownNumbersAreRefused) {
  TextEngine engine(model_, {});
  Heard heard;
  EXPECT_ERROR(engine.submit(request({{3}}), listen(heard)), kInvalidArgument, "there is no adapter 3");
}

}  // namespace
}  // namespace wick
