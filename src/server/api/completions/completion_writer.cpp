#include "server/api/completions/completion_writer.h"

#include <utility>

#include "server/api/json_copy.h"

namespace wick {

CompletionWriter::CompletionWriter(std::shared_ptr<HttpExchange> exchange, CompletionAnswerOptions options)
    : AnswerWriter(std::move(exchange)), options_(std::move(options)) {
  for (int64_t i = 0; i < options_.prompts * options_.choices; ++i) {
    State& state = states_.emplace_back();
    state.choice.index = i;
    if (!options_.echo.empty()) state.choice.text = options_.echo[static_cast<size_t>(i / options_.choices)];
    if (options_.logprobs) state.choice.logprobs.emplace();
  }
}

void CompletionWriter::on_prompt(int64_t prompt, const std::vector<SampledToken>& tokens) {
  if (!options_.logprobs) return;
  for (int64_t i = prompt * options_.choices; i < (prompt + 1) * options_.choices; ++i) {
    State& state = states_[static_cast<size_t>(i)];
    const SampledToken first{.token = options_.first_tokens[static_cast<size_t>(prompt)]};
    state.choice.logprobs->add(first, *options_.tokenizer, state.offset, true);
    for (const SampledToken& token : tokens) state.choice.logprobs->add(token, *options_.tokenizer, state.offset);
  }
}

void CompletionWriter::on_token(int64_t choice, const RequestEvent& event) {
  State& state = states_[static_cast<size_t>(choice)];
  state.choice.text += event.text;
  if (options_.logprobs && event.token) {
    state.choice.logprobs->add(*event.token, *options_.tokenizer, state.offset);
  }
  if (options_.stream && !state.choice.text.empty()) send_chunk(state);
}

void CompletionWriter::on_end(int64_t prompt, int64_t choice, const RequestEvent& event) {
  State& state = states_[static_cast<size_t>(choice)];
  state.choice.text += event.text;
  state.choice.finish_reason = finish_reason(*event.result, false);
  usage_.add(prompt, *event.result);
  if (options_.inspect_end) wick_ = options_.inspect_end(event.result->tokens);
  if (options_.stream) send_chunk(state);
}

Completion CompletionWriter::empty_completion() const {
  Completion completion;
  completion.id = options_.head.id;
  completion.created = options_.head.created;
  completion.model = options_.head.model;
  completion.system_fingerprint = options_.head.fingerprint;
  return completion;
}

void CompletionWriter::send_chunk(State& state) {
  CompletionChoice next;
  next.index = state.choice.index;
  if (options_.logprobs) next.logprobs.emplace();
  Completion chunk = empty_completion();
  chunk.choices.push_back(std::exchange(state.choice, std::move(next)));
  OrderedJson json = Completion::fields().write(chunk);
  if (options_.include_usage) json["usage"] = nullptr;  // as OpenAI's API has it before the last chunk
  send_events(cat("data: ", to_text(json), "\n\n"));
}

void CompletionWriter::finish() {
  Completion completion = empty_completion();
  if (options_.stream) {
    std::string events;
    if (wick_) {
      completion.wick = std::move(wick_);
      events = cat("data: ", to_text(Completion::fields().write(completion)), "\n\n");
      completion.wick.reset();
    }
    if (options_.include_usage) {
      completion.usage = usage_.usage();
      events += cat("data: ", to_text(Completion::fields().write(completion)), "\n\n");
    }
    send_events(events + "data: [DONE]\n\n");
    exchange().finish();
    return;
  }
  for (State& state : states_) completion.choices.push_back(std::move(state.choice));
  completion.usage = usage_.usage();
  completion.wick = std::move(wick_);
  HttpResponse response;
  response.body = to_text(Completion::fields().write(completion));
  exchange().send(std::move(response));
}

}  // namespace wick
