#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/api/chat/choice_reader.h"
#include "server/api/generation/answer_writer.h"

namespace wick {

struct MessageAnswerOptions {
  std::string id, model;
  bool stream = false, one_call = false;
  int64_t prompt_tokens = 0;
  ResponseFormat format;
  Json tools;  // the list given to the template; null when there are none
};

// The answer of Anthropic's API: a message, or its events: message_start, content_block_start, content_block_delta, ...
class MessagesWriter : public AnswerWriter {
 public:
  MessagesWriter(std::shared_ptr<HttpExchange> exchange, MessageAnswerOptions options);
  void on_token(int64_t choice, const RequestEvent& event) override;
  void on_end(int64_t prompt, int64_t choice, const RequestEvent& event) override;
  void finish() override;

 protected:
  std::string error_event(const std::string& error) const override;

 private:
  enum class Kind : uint8_t { kThinking, kText, kCall };
  struct Block {
    Kind kind;
    ToolCall call;     // kCall
    std::string text;  // else
  };
  void add(const ResponseDelta& delta);
  void add_text(Kind kind, std::string_view text);
  void open_block(Block block);
  void close_block();
  OrderedJson message_json() const;
  void add_event(OrderedJson event);
  void flush();

  MessageAnswerOptions options_;
  ChoiceReader reader_;
  std::optional<Block> open_;
  OrderedJson content_ = OrderedJson::array();  // blocks that are done
  OrderedJson stop_reason_, stop_sequence_;
  OrderedJson usage_;
  bool has_started_ = false;
  std::string events_;  // to be sent
};

// {"type": "error", "error": {"type", "message"}}
HttpResponse messages_error(HttpResponse error);

}  // namespace wick
