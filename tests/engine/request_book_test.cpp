#include "engine/request_book.h"

#include <gtest/gtest.h>

#include "support/engine_requests.h"

namespace wick {
namespace {

Answer::Step step_of(int32_t token) {
  Answer::Step step;
  step.choice.token = token;
  step.text = std::to_string(token) + " ";
  step.is_shown = true;
  return step;
}

class RequestBookTest : public testing::Test {
 protected:
  RequestBookTest() { wanted_.prompt = {1, 2, 3}; }

  std::shared_ptr<OpenRequest> open(RequestId id, Heard& heard) { return book_.open(wanted_, id, listen(heard), {}); }
  static std::vector<int32_t> tokens_of(const Heard& heard) {
    const auto found = heard.tokens.find(0);
    return found == heard.tokens.end() ? std::vector<int32_t>() : found->second;
  }

  EngineRequest wanted_;
  RequestBook book_;
};

TEST_F(RequestBookTest, NewsWaitUntilTheyAreTold) {
  Heard heard;
  const auto request = open(1, heard);
  request->prompt_done = 3;
  book_.add_progress(request);
  book_.add_token(request, 0, step_of(7));
  book_.add_token(request, 0, step_of(8));
  book_.add_end(request, 0, "rest", {});
  book_.close(*request);
  EXPECT_TRUE(heard.tokens.empty());
  EXPECT_EQ(heard.prompt_done, 0);
  book_.tell_news();
  EXPECT_EQ(heard.prompt_done, 3);
  EXPECT_EQ(tokens_of(heard), (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(heard.text[0], "7 8 rest");
  EXPECT_TRUE(heard.is_over());
  book_.tell_news();
  EXPECT_EQ(tokens_of(heard).size(), 2u);  // once is enough
}

// Who joins hears what was told from the book, and what waits with the others.
TEST_F(RequestBookTest, WhoJoinsBetweenHearsEverythingOnce) {
  Heard first, second;
  const auto request = open(1, first);
  book_.add_token(request, 0, step_of(7));
  book_.tell_news();
  book_.add_token(request, 0, step_of(8));
  ASSERT_EQ(book_.join(wanted_, 2, listen(second)), request);
  EXPECT_EQ(tokens_of(second), std::vector<int32_t>{7});
  book_.add_end(request, 0, "", {});
  book_.tell_news();
  EXPECT_EQ(tokens_of(first), (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(tokens_of(second), (std::vector<int32_t>{7, 8}));
  EXPECT_TRUE(first.is_over() && second.is_over());
}

TEST_F(RequestBookTest, WhoLeavesHearsWhatWaitsFirst) {
  Heard first, second;
  const auto request = open(1, first);
  ASSERT_TRUE(book_.join(wanted_, 2, listen(second)));
  book_.add_token(request, 0, step_of(7));
  book_.leave(*request, 2, {});
  book_.add_token(request, 0, step_of(8));
  book_.tell_news();
  EXPECT_EQ(tokens_of(first), (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(tokens_of(second), std::vector<int32_t>{7});
}

TEST_F(RequestBookTest, ErrorsAreToldBehindTheTokensBeforeThem) {
  Heard heard;
  const auto request = open(1, heard);
  book_.add_token(request, 0, step_of(7));
  book_.add_error(request, Error(ErrorCode::kOutOfMemory, "no room"));
  book_.close(*request);
  book_.tell_news();
  EXPECT_EQ(tokens_of(heard), std::vector<int32_t>{7});
  EXPECT_EQ(heard.error, "no room");
}

}  // namespace
}  // namespace wick
