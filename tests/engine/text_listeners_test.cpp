#include "engine/text/text_listeners.h"

#include <gtest/gtest.h>

#include "support/engine_requests.h"

namespace wick {
namespace {

Generation::Step step_of(int32_t token) {
  Generation::Step step;
  step.sampled.token = token;
  step.text = std::to_string(token) + " ";
  step.is_shown = true;
  return step;
}

std::vector<int32_t> tokens_of(const Heard& heard) {
  const auto found = heard.tokens.find(0);
  return found == heard.tokens.end() ? std::vector<int32_t>() : found->second;
}

TEST(TextListenersTest, NewsWaitUntilTheyAreTold) {
  Heard heard;
  TextListeners listeners(true);
  listeners.add(1, listen(heard));
  listeners.add_progress(3, 3, nullptr);
  listeners.add_token(0, step_of(7));
  listeners.add_token(0, step_of(8));
  listeners.add_end(0, "rest", {});
  EXPECT_TRUE(heard.tokens.empty());
  EXPECT_EQ(heard.prompt_done, 0);
  listeners.notify();
  EXPECT_EQ(heard.prompt_done, 3);
  EXPECT_EQ(tokens_of(heard), (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(heard.text[0], "7 8 rest");
  EXPECT_TRUE(heard.is_over());
  listeners.notify();
  EXPECT_EQ(tokens_of(heard).size(), 2u);  // once is enough
}

// Who joins gets what was emitted before, and what waits with the others.
TEST(TextListenersTest, WhoJoinsBetweenHearsEverythingOnce) {
  Heard first, second;
  TextListeners listeners(true);
  listeners.add(1, listen(first));
  listeners.add_token(0, step_of(7));
  listeners.notify();
  listeners.add_token(0, step_of(8));
  listeners.add(2, listen(second));
  EXPECT_EQ(tokens_of(second), std::vector<int32_t>{7});
  listeners.add_end(0, "", {});
  listeners.notify();
  EXPECT_EQ(tokens_of(first), (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(tokens_of(second), (std::vector<int32_t>{7, 8}));
  EXPECT_TRUE(first.is_over() && second.is_over());
}

TEST(TextListenersTest, WhoLeavesHearsWhatWaitsFirst) {
  Heard first, second;
  TextListeners listeners(true);
  listeners.add(1, listen(first));
  EXPECT_FALSE(listeners.remove(1)) << "the only one";
  listeners.add(2, listen(second));
  listeners.add_token(0, step_of(7));
  EXPECT_TRUE(listeners.remove(2));
  listeners.add_token(0, step_of(8));
  listeners.notify();
  EXPECT_EQ(tokens_of(first), (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(tokens_of(second), std::vector<int32_t>{7});
}

TEST(TextListenersTest, ErrorsAreToldBehindTheTokensBeforeThem) {
  Heard heard;
  TextListeners listeners(false);
  listeners.add(1, listen(heard));
  listeners.add_token(0, step_of(7));
  listeners.add_error(Error(ErrorCode::kOutOfMemory, "no room"));
  listeners.notify();
  EXPECT_EQ(tokens_of(heard), std::vector<int32_t>{7});
  EXPECT_EQ(heard.error, "no room");
}

}  // namespace
}  // namespace wick
