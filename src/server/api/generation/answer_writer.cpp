#include "server/api/generation/answer_writer.h"

#include "base/text.h"

namespace wick {

HttpResponse event_stream_head() {
  HttpResponse head;
  head.content_type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  return head;
}

HttpResponse AnswerWriter::stream_head() const { return event_stream_head(); }

std::string AnswerWriter::error_event(const std::string& error) const { return cat("data: ", error, "\n\n"); }

void AnswerWriter::send_events(std::string events) {
  if (has_begun_) {
    exchange_->write(std::move(events));
    return;
  }
  has_begun_ = true;
  HttpResponse head = stream_head();
  head.body = std::move(events);
  exchange_->begin(std::move(head));
}

void AnswerWriter::fail(HttpResponse error) {
  if (!has_begun_) {
    exchange_->send(std::move(error));
    return;
  }
  while (error.body.ends_with('\n')) error.body.pop_back();
  exchange_->write(error_event(error.body));
  exchange_->finish();
}

}  // namespace wick
