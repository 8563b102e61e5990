#pragma once

#include <memory>
#include <vector>

#include "server/api/chat/choice_reader.h"
#include "server/api/completions/completion_response.h"
#include "server/api/generation/answer_head.h"
#include "server/api/generation/answer_writer.h"
#include "tokenizer/tokenizer.h"

namespace wick {

struct CompletionAnswerOptions {
  AnswerHead head;
  std::vector<std::string> echo;      // per prompt: what stands before each of its answers; empty: nothing
  std::vector<int32_t> first_tokens;  // per prompt: its first, of which on_prompt() does not tell
  int64_t prompts = 1, choices = 1;
  bool stream = false, logprobs = false, include_usage = false;
  const Tokenizer* tokenizer = nullptr;  // lives longer
  InspectEnd inspect_end;                // may be empty
};

// The answer of /v1/completions, whole or as server-sent events.
class CompletionWriter : public AnswerWriter {
 public:
  CompletionWriter(std::shared_ptr<HttpExchange> exchange, CompletionAnswerOptions options);
  void on_prompt(int64_t prompt, const std::vector<SampledToken>& tokens) override;
  void on_token(int64_t choice, const RequestEvent& event) override;
  void on_end(int64_t prompt, int64_t choice, const RequestEvent& event) override;
  void finish() override;

 private:
  struct State {
    CompletionChoice choice;  // what has not been sent
    int64_t offset = 0;       // characters of the tokens so far
  };
  void send_chunk(State& state);
  Completion empty_completion() const;

  CompletionAnswerOptions options_;
  std::vector<State> states_;
  UsageCount usage_;
  std::optional<OrderedJson> wick_;
};

}  // namespace wick
