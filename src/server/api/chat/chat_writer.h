#pragma once

#include <memory>
#include <vector>

#include "server/api/chat/chat_response.h"
#include "server/api/chat/choice_reader.h"
#include "server/api/generation/answer_head.h"
#include "server/api/generation/answer_writer.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// How the answer to a chat request is to be written.
struct ChatAnswerOptions {
  AnswerHead head;
  ResponseFormat format;
  Json tools;  // the list given to the template; null when there are none
  int64_t choices = 1;
  bool one_call = false, logprobs = false, include_usage = false;
  const Tokenizer* tokenizer = nullptr;  // lives longer
  InspectEnd inspect_end;                // may be empty
};

// The whole answer at once.
class ChatWhole : public AnswerWriter {
 public:
  ChatWhole(std::shared_ptr<HttpExchange> exchange, ChatAnswerOptions options);
  void on_token(int64_t choice, const RequestEvent& event) override;
  void on_end(int64_t prompt, int64_t choice, const RequestEvent& event) override;
  void finish() override;

 private:
  ChatAnswerOptions options_;
  std::vector<ChoiceReader> readers_;
  std::vector<ChatChoice> choices_;
  UsageCount usage_;
  std::optional<OrderedJson> wick_;
};

// While it is written, as server-sent events.
class ChatStream : public AnswerWriter {
 public:
  ChatStream(std::shared_ptr<HttpExchange> exchange, ChatAnswerOptions options);
  void on_token(int64_t choice, const RequestEvent& event) override;
  void on_end(int64_t prompt, int64_t choice, const RequestEvent& event) override;
  void finish() override;

 private:
  struct Choice {
    ChoiceReader reader;
    std::string logprobs;  // JSON of those whose text has not been sent, with commas between them
    bool has_begun = false;
  };
  void begin_choice(std::string& events, size_t index);
  // `delta`: JSON; `reason`: empty until the end.
  void append_chunk(std::string& events, size_t index, std::string_view delta, std::string_view reason);

  ChatAnswerOptions options_;
  std::string before_choice_, behind_choice_;  // of a chunk
  std::vector<Choice> choices_;
  UsageCount usage_;
  Timings timings_;
};

// {"content": "...", ...}
std::string delta_json(const ResponseDelta& delta);

}  // namespace wick
