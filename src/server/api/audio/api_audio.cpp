// Speech to text over HTTP.
#include "server/api/api.h"
#include "server/api/audio/transcription_answer.h"
#include "server/api/audio/transcription_request.h"
#include "server/api/json_copy.h"
#include "server/http/error_response.h"
#include "speech/subtitles.h"

namespace wick {
namespace {

constexpr double kLongestSeconds = 4 * 3600;

// One recording on its way: lives on a thread of the SpeechHost.
class Transcription {
 public:
  Transcription(std::shared_ptr<const std::string> body, TranscriptionRequest wanted, SpeechTask task,
                std::shared_ptr<HttpExchange> exchange)
      : body_(std::move(body)), wanted_(std::move(wanted)), task_(task), exchange_(std::move(exchange)) {}

  void run(SpeechHost& host, const std::string& model) {
    try {
      const auto recognizer = host.use(model);
      const auto sound = open();
      const Recognition heard = recognizer->recognize(*sound, wanted_.options(task_),
                                                      [this](const RecognizeEvent& event) { return tell(event); });
      if (wanted_.stream) {
        finish_stream(heard);
      } else {
        exchange_->send(whole(heard));
      }
    } catch (...) {
      fail(std::current_exception());
    }
  }

 private:
  std::unique_ptr<AudioReader> open() const {
    AudioOptions options;
    options.longest_seconds = kLongestSeconds;
    options.is_cancelled = [exchange = exchange_] { return exchange->is_closed(); };
    try {
      return open_audio_in_memory(wanted_.file_name, std::as_bytes(std::span(wanted_.file)), body_, options);
    } catch (const Error& error) {
      throw RequestError("file", error.what(), "invalid_file");
    }
  }

  HttpResponse whole(const Recognition& heard) const {
    HttpResponse response;
    const std::string& format = wanted_.response_format;
    if (format == "verbose_json") {
      response.body =
          to_text(VerboseTranscriptAnswer::fields().write(verbose_transcript(heard, task_, wanted_.wants_words()))) +
          "\n";
    } else if (format == "json") {
      response.body = to_text(TranscriptAnswer::fields().write({heard.text, audio_usage(heard)})) + "\n";
    } else {
      response.content_type = format == "vtt" ? "text/vtt; charset=utf-8" : "text/plain; charset=utf-8";
      response.body = transcript_text(heard, format);
    }
    return response;
  }

  void send_event(const TranscriptEvent& event) {
    std::string line = cat("data: ", to_text(TranscriptEvent::fields().write(event)), "\n\n");
    if (!has_begun_) {
      HttpResponse head;
      head.content_type = "text/event-stream";
      head.headers.emplace_back("Cache-Control", "no-cache");
      head.body = std::move(line);
      exchange_->begin(std::move(head));
      has_begun_ = true;
    } else {
      exchange_->write(std::move(line));
    }
  }
  bool tell(const RecognizeEvent& event) {
    if (wanted_.stream && !event.text.empty()) {
      TranscriptEvent delta{"transcript.text.delta"};
      delta.delta = std::string(event.text);
      send_event(delta);
    }
    if (wanted_.stream && event.segment && wanted_.response_format == "verbose_json") {
      const TranscriptSegment segment = transcript_segment(*event.segment, segments_++);
      TranscriptEvent done{"transcript.text.segment"};
      done.text = segment.text;
      done.id = segment.id;
      done.start = segment.start;
      done.end = segment.end;
      send_event(done);
    }
    return !exchange_->is_closed();
  }
  void finish_stream(const Recognition& heard) {
    TranscriptEvent done{"transcript.text.done"};
    done.text = heard.text;
    done.usage = audio_usage(heard);
    send_event(done);
    exchange_->finish();
  }
  void fail(const std::exception_ptr& error) {
    HttpResponse response = api_error_response(error);
    if (!has_begun_) return exchange_->send(std::move(response));
    exchange_->write(cat("data: ", response.body.substr(0, response.body.find('\n')), "\n\n"));
    exchange_->finish();
  }

  std::shared_ptr<const std::string> body_;
  TranscriptionRequest wanted_;
  SpeechTask task_;
  std::shared_ptr<HttpExchange> exchange_;
  bool has_begun_ = false;
  int64_t segments_ = 0;
};

}  // namespace

void Api::transcriptions(const HttpRequest& request, const Exchange& exchange) {
  listen(request, exchange, SpeechTask::kTranscribe);
}

void Api::translations(const HttpRequest& request, const Exchange& exchange) {
  listen(request, exchange, SpeechTask::kTranslate);
}

void Api::listen(const HttpRequest& request, const Exchange& exchange, SpeechTask task) {
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  if (!speech_ || speech_->names().empty()) {
    throw RequestError({}, "this server has no model for speech", "model_not_found", 404);
  }
  const std::shared_ptr<const std::string> body = keep_with_room(std::string(request.body), request);
  TranscriptionRequest wanted = TranscriptionRequest::parse(request, *body);
  const std::string model = wanted.model.empty() ? speech_->default_model() : wanted.model;
  if (!speech_->has(model)) throw RequestError("model", speech_->unknown(model), "model_not_found", 404);
  const auto job = std::make_shared<Transcription>(body, std::move(wanted), task, exchange);
  if (!speech_->run(request.caller.name, [job, speech = speech_.get(), model] { job->run(*speech, model); })) {
    HttpResponse busy =
        error_response(429, "Too many recordings wait for transcription; come back later.", {}, {}, "queue_full");
    busy.headers.emplace_back("Retry-After", "5");
    exchange->send(std::move(busy));
  }
}

}  // namespace wick
