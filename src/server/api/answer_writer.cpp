#include "server/api/answer_writer.h"

#include "base/text.h"

namespace wick {

HttpResponse event_stream_head() {
  HttpResponse head;
  head.content_type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  return head;
}

void AnswerWriter::send_events(std::string events) {
  if (has_begun_) {
    exchange_->write(std::move(events));
    return;
  }
  has_begun_ = true;
  HttpResponse head = event_stream_head();
  head.body = std::move(events);
  exchange_->begin(std::move(head));
}

void AnswerWriter::fail(HttpResponse error) {
  if (!has_begun_) {
    exchange_->send(std::move(error));
    return;
  }
  while (error.body.ends_with('\n')) error.body.pop_back();
  exchange_->write(cat("data: ", error.body, "\n\n"));
  exchange_->finish();
}

}  // namespace wick
