#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/api/chat/choice_reader.h"
#include "server/api/generation/answer_head.h"
#include "server/api/generation/answer_writer.h"
#include "server/api/responses/responses_request.h"

namespace wick {

// The response as it is before it has output, or when it gets none: "queued", "in_progress", "failed", "cancelled".
OrderedJson response_without_output(const AnswerHead& head, const ResponsesRequest& request, std::string_view status);

// What of an answer's making the response tells, and who keeps it.
struct ResponseSource {
  std::optional<SamplingParams> sampling;
  const Tokenizer* tokenizer = nullptr;          // for log-probabilities; lives longer
  std::function<void(const std::string&)> keep;  // hears the response, once it is whole; may be empty
  // Hears the events but the first and the last, of a response that is answered whole; may be empty.
  std::function<void(OrderedJson)> on_event;
};

// The answer of /v1/responses, whole or as OpenAI's events: response.created, response.output_text.delta, ...
class ResponsesWriter : public AnswerWriter {
 public:
  ResponsesWriter(std::shared_ptr<HttpExchange> exchange, AnswerHead head, const ResponsesRequest& request,
                  const ResponseFormat& format, Json tools, ResponseSource source = {});
  void on_token(int64_t choice, const RequestEvent& event) override;
  void on_end(int64_t prompt, int64_t choice, const RequestEvent& event) override;
  void finish() override;

 private:
  enum class Kind : uint8_t { kReasoning, kMessage, kCall };
  // One piece of the output, while it is written.
  struct Item {
    Kind kind;
    std::string id, call_id, name;
    std::string text;  // or arguments
    OrderedJson logprobs = OrderedJson::array();
  };

  void add(const ResponseDelta& delta);
  void add_text(Kind kind, std::string_view text);
  void open_item(Item item);
  void close_item();
  OrderedJson item_json(const Item& item, bool is_done) const;
  OrderedJson part_json(const Item& item, bool is_done) const;
  OrderedJson response_json(std::string_view status) const;
  std::string item_id(std::string_view prefix) const;
  void add_event(OrderedJson event);  // numbered
  void flush();

  AnswerHead head_;
  bool stream_;
  OrderedJson echo_;  // what of the request the response repeats
  Json tools_;
  ChoiceReader reader_;
  std::optional<Item> open_;
  OrderedJson output_ = OrderedJson::array();  // items that are done
  UsageCount usage_;
  bool is_complete_ = true;
  bool has_created_ = false;
  int64_t number_ = 0;
  ResponseSource source_;
  bool logprobs_;
  OrderedJson new_logprobs_ = OrderedJson::array();  // of tokens whose text has not come
  std::string events_;                               // to be sent
};

}  // namespace wick
