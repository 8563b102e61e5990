#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/api/chat/choice_reader.h"
#include "server/api/generation/answer_writer.h"
#include "server/api/generation/token_logprobs.h"

namespace wick {

struct OllamaAnswerOptions {
  std::string model;
  bool is_chat = true;  // else the answer of /api/generate
  bool stream = true, logprobs = false;
  ResponseFormat format;
  Json tools;                            // the list given to the template; null when there are none
  EngineClock::time_point asked, begun;  // the request came; the model was there
  const Tokenizer* tokenizer = nullptr;  // lives longer
};

// The answer of Ollama's API: one object, or a line for each part.
class OllamaWriter : public AnswerWriter {
 public:
  OllamaWriter(std::shared_ptr<HttpExchange> exchange, OllamaAnswerOptions options);
  void on_token(int64_t choice, const RequestEvent& event) override;
  void on_end(int64_t prompt, int64_t choice, const RequestEvent& event) override;
  void finish() override;

 protected:
  HttpResponse stream_head() const override;
  std::string error_event(const std::string& error) const override;

 private:
  struct Part {
    std::string text, thinking;
    OrderedJson calls = OrderedJson::array(), logprobs = OrderedJson::array();
    bool empty() const { return text.empty() && thinking.empty() && calls.empty(); }
  };
  void take(const RequestEvent& event);
  OrderedJson line();  // with what has come since the last one

  OllamaAnswerOptions options_;
  ChoiceReader reader_;
  Part part_;
  size_t calls_ = 0;  // that are whole
  OrderedJson end_;   // what the last line says besides
};

// The last line's counters and times.
OrderedJson ollama_end(const GenerateResult& result, EngineClock::time_point asked, EngineClock::time_point begun,
                       EngineClock::time_point now);
// With nanoseconds.
std::string ollama_time(std::chrono::system_clock::time_point time = std::chrono::system_clock::now());
// {"error": "..."}
HttpResponse ollama_error(HttpResponse error);

}  // namespace wick
