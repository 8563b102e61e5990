#include "server/model_host.h"

#include <gtest/gtest.h>

#include <future>

#include "server/api/generation/request_defaults.h"
#include "support/comes_true.h"
#include "support/engine_requests.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

struct Answered {
  ModelHost::EngineRef engine;
  std::string error;
};

// Asks for a model and waits for the word.
Answered use(ModelHost& host, const std::string& name, const KeepWish& wish = {}) {
  std::promise<Answered> promise;
  const auto ready = [&](ModelHost::EngineRef engine, const Error* error) {
    promise.set_value({std::move(engine), error ? error->what() : ""});
  };
  host.use(name, ready, wish);
  return promise.get_future().get();
}

ModelState state_of(const ModelHost& host, size_t index) { return host.list()[index].state; }

class ModelHostTest : public testing::Test {
 protected:
  ModelHostTest() {
    for (const char* name : {"one", "two", "three"}) write_tiny_text_model("qwen3", folder_.path() / name);
  }
  ModelEntry entry(const std::string& name, int64_t kv_bytes) const {
    ModelEntry entry{name, folder_.path() / name, {}, {}};
    entry.engine.context = 128;
    entry.engine.kv_bytes = kv_bytes;
    return entry;
  }

  TempFolder folder_;
};

TEST_F(ModelHostTest, LoadsWhenAskedAndAnswers) {
  ModelHost host({entry("one", 1 << 20), entry("two", 1 << 20)});
  EXPECT_EQ(host.default_model(), "one");
  EXPECT_EQ(state_of(host, 0), ModelState::kUnloaded);
  const Answered one = use(host, "one");
  ASSERT_TRUE(one.engine) << one.error;
  EXPECT_EQ(state_of(host, 0), ModelState::kReady);
  EXPECT_EQ(state_of(host, 1), ModelState::kUnloaded);
  EXPECT_EQ(host.list()[0].context, 128);
  EXPECT_GT(host.list()[0].bytes, 1 << 19);
  EXPECT_EQ(use(host, "one").engine, one.engine);
  EXPECT_EQ(host.loaded("two"), nullptr);

  EngineRequest request;
  request.prompt = some_tokens(20, 1);
  request.params.sampling.temperature = 0;
  request.params.max_new_tokens = 12;
  std::promise<std::vector<int32_t>> tokens;
  one.engine->submit(request, [&](const RequestEvent& event) {
    if (event.kind == RequestEvent::Kind::kEnd) tokens.set_value(event.result->tokens);
  });
  EXPECT_EQ(tokens.get_future().get(), alone(tiny_text_model("qwen3"), request).tokens);
  EXPECT_TRUE(host.drain(10));
}

TEST_F(ModelHostTest, TheOneUsedLongestAgoMakesRoom) {
  // A cache of 400 kB and weights of about 200 kB each: two fit, three do not.
  ModelHost host({entry("one", 400000), entry("two", 400000), entry("three", 400000)}, 1400000);
  use(host, "one");
  use(host, "two");
  use(host, "one");
  ASSERT_EQ(use(host, "three").error, "");
  EXPECT_EQ(state_of(host, 0), ModelState::kReady);
  EXPECT_EQ(state_of(host, 1), ModelState::kUnloaded);
  EXPECT_EQ(state_of(host, 2), ModelState::kReady);
  // One that somebody holds stays, however long ago it was used.
  const Answered held = use(host, "one");
  use(host, "three");
  ASSERT_EQ(use(host, "two").error, "");
  EXPECT_EQ(state_of(host, 0), ModelState::kReady);
  EXPECT_EQ(state_of(host, 2), ModelState::kUnloaded);
  const Answered held_too = use(host, "two");
  EXPECT_NE(use(host, "three").error.find("'three' needs"), std::string::npos);
  EXPECT_EQ(state_of(host, 2), ModelState::kFailed);
}

// An engine may still be held for a moment after the answer that it gave.
TEST_F(ModelHostTest, OneThatIsBeingLetGoMakesRoom) {
  ModelHost host({entry("one", 400000), entry("two", 400000)}, 700000);
  for (int i = 0; i < 20; ++i) {
    Answered held = use(host, i % 2 ? "two" : "one");
    ASSERT_EQ(held.error, "");
    std::promise<std::string> error;
    host.use(i % 2 ? "one" : "two", [&](const ModelHost::EngineRef&, const Error* problem) {
      error.set_value(problem ? problem->what() : "");
    });
    std::this_thread::yield();
    held.engine.reset();
    EXPECT_EQ(error.get_future().get(), "");
  }
}

TEST_F(ModelHostTest, WhatNobodyUsesIsUnloaded) {
  ModelHost host({entry("one", 1 << 20), entry("two", 1 << 20)}, 0, 0.15);
  const auto is_loaded = [&](size_t index) { return state_of(host, index) == ModelState::kReady; };
  ASSERT_EQ(use(host, "one").error, "");
  Answered held = use(host, "two", {"tom", 60});
  EXPECT_TRUE(is_loaded(0) && host.list()[0].expires);
  EXPECT_TRUE(comes_true([&] { return !is_loaded(0); }));
  EXPECT_TRUE(is_loaded(1));
  // One client's word is not another's, and who holds it keeps it.
  use(host, "two", {"ann", 0});
  host.let_go("two", "ann");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(is_loaded(1));
  host.let_go("two", "tom");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(is_loaded(1));
  held.engine.reset();
  EXPECT_TRUE(comes_true([&] { return !is_loaded(1); }));
  EXPECT_EQ(use(host, "two", {"tom", -1}).error, "");  // is loaded again
  EXPECT_FALSE(host.list()[1].expires);
  EXPECT_ERROR(host.let_go("four", "tom"), kInvalidArgument, "there is no model 'four'");
}

TEST_F(ModelHostTest, OneAtWorkIsNotUnloaded) {
  ModelHost host({entry("one", 1 << 20)});
  Answered one = use(host, "one", {"tom", 0});
  EngineRequest request;
  request.prompt = some_tokens(20, 1);
  request.params.ignore_end = true;
  request.params.max_new_tokens = 100;
  std::promise<StopReason> reason;
  one.engine->submit(request, [&](const RequestEvent& event) {
    if (event.kind == RequestEvent::Kind::kEnd) reason.set_value(event.result->reason);
  });
  one.engine.reset();
  EXPECT_EQ(reason.get_future().get(), StopReason::kLength);
  EXPECT_TRUE(comes_true([&] { return state_of(host, 0) == ModelState::kUnloaded; }));
}

TEST_F(ModelHostTest, PresetsAreNamesOfTheirModel) {
  ModelEntry with = entry("one", 1 << 20);
  RequestDefaults defaults;
  defaults.temperature = 0.25F;
  with.presets.push_back({"brief", std::make_shared<const RequestDefaults>(defaults)});
  ModelHost host({with, entry("two", 1 << 20)});
  EXPECT_EQ(use(host, "brief").engine, use(host, "one").engine);
  EXPECT_EQ(host.adapter_of("brief"), "");
  EXPECT_EQ(host.defaults_of("brief")->temperature, 0.25F);
  EXPECT_FALSE(host.defaults_of("one"));
  EXPECT_EQ(host.list()[1].name, "brief");
  EXPECT_EQ(host.list()[1].state, ModelState::kReady);
  EXPECT_ERROR(ModelHost({with, entry("brief", 1)}), kInvalidArgument, "two models are called 'brief'");
}

TEST_F(ModelHostTest, WhatCannotBeLoadedSaysWhy) {
  ModelHost host({entry("one", 1 << 20), entry("missing", 1 << 20)});
  EXPECT_EQ(use(host, "four").error, "there is no model 'four' here; there is 'one', 'missing'");
  const std::string error = use(host, "missing").error;
  EXPECT_NE(error.find("missing"), std::string::npos) << error;
  EXPECT_EQ(host.list()[1].error, error);
  write_tiny_text_model("qwen3", folder_.path() / "missing");
  EXPECT_EQ(use(host, "missing").error, "");  // tried again
  EXPECT_EQ(host.list()[1].error, "");
}

// What a model file becomes while it is overwritten in place, and then is again.
TEST_F(ModelHostTest, AFileThatIsCutShortFailsItsModelUntilItIsWhole) {
  const auto file = folder_.path() / "one" / "model.safetensors", copy = folder_.path() / "copy";
  std::filesystem::copy_file(file, copy);
  ModelHost host({entry("one", 1 << 20), entry("two", 1 << 20)});
  EngineRequest request;
  request.prompt = some_tokens(20, 1);
  request.params.sampling.temperature = 0;
  request.params.max_new_tokens = 12;
  const auto answer = [&](const ModelHost::EngineRef& engine) {
    std::promise<std::string> said;
    engine->submit(request, [&](const RequestEvent& event) {
      if (event.kind == RequestEvent::Kind::kEnd) {
        std::string tokens;
        for (const int32_t token : event.result->tokens) tokens += cat(token, " ");
        said.set_value(tokens);
      }
      if (event.kind == RequestEvent::Kind::kError) said.set_value(event.error->what());
    });
    return said.get_future().get();
  };
  Answered one = use(host, "one");
  const std::string whole = answer(one.engine), other = answer(use(host, "two").engine);
  EXPECT_EQ(other, whole);
  std::filesystem::resize_file(file, 4096);
  const std::string cut = answer(one.engine);
  EXPECT_NE(cut.find("model.safetensors: "), std::string::npos) << cut;
  EXPECT_NE(cut.find(" and has 4096: it was changed while it was in use"), std::string::npos) << cut;
  EXPECT_EQ(answer(use(host, "two").engine), other);
  const std::string broken = use(host, "one").error;
  EXPECT_NE(broken.find("model.safetensors"), std::string::npos) << broken;
  EXPECT_EQ(state_of(host, 0), ModelState::kFailed);
  std::filesystem::copy_file(copy, file, std::filesystem::copy_options::overwrite_existing);
  const Answered again = use(host, "one");
  ASSERT_TRUE(again.engine) << again.error;
  EXPECT_NE(again.engine, one.engine);
  EXPECT_EQ(answer(again.engine), whole);
}

TEST_F(ModelHostTest, NamesAreUniqueAndThereIsAtLeastOne) {
  EXPECT_ERROR(ModelHost({}), kInvalidArgument, "a server needs a model");
  const auto twice = [&] { ModelHost({entry("one", 1), entry("one", 1)}); };
  EXPECT_ERROR(twice(), kInvalidArgument, "two models are called 'one'");
}

TEST_F(ModelHostTest, EndingCancelsWhatRuns) {
  std::promise<StopReason> reason;
  std::weak_ptr<TextEngine> engine;
  {
    ModelHost host({entry("one", 1 << 20)});
    const Answered one = use(host, "one");
    engine = one.engine;
    EngineRequest request;
    request.prompt = some_tokens(20, 1);
    request.params.ignore_end = true;
    request.params.max_new_tokens = 100;
    // The listener holds the engine that holds the listener.
    one.engine->submit(request, [&reason, engine = one.engine](const RequestEvent& event) {
      if (event.kind == RequestEvent::Kind::kEnd) reason.set_value(event.result->reason);
    });
  }
  const StopReason how = reason.get_future().get();
  EXPECT_TRUE(how == StopReason::kCancelled || how == StopReason::kLength);
  EXPECT_TRUE(engine.expired()) << "nobody frees it";
}

}  // namespace
}  // namespace wick
