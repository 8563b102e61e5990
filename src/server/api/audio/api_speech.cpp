// Text to speech over HTTP.
#include "base/base64.h"
#include "media/sound_encoder.h"
#include "media/wav_writer.h"
#include "server/api/api.h"
#include "server/api/audio/speech_request.h"
#include "server/api/generation/caller_share.h"
#include "server/api/json_copy.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

constexpr size_t kMostSamples = 24000;     // in one piece of an answer
constexpr double kTokensPerSecond = 12.5;  // of what a key may spend
constexpr char kComment[] = "synthetic speech";

// One text on its way: lives on a thread of the VoiceHost.
class Speaking {
 public:
  Speaking(std::shared_ptr<const SpeechRequest> wanted, Caller caller, std::shared_ptr<HttpExchange> exchange)
      : wanted_(std::move(wanted)), caller_(std::move(caller)), exchange_(std::move(exchange)) {}

  void run(VoiceHost& host, const std::string& model) {
    try {
      const auto voice = host.use(model);
      SpeakOptions options = wanted_->options(voice->facts());
      options.client = {caller_.name, caller_.limits.weight};
      const int rate = voice->facts().sample_rate;
      if (wanted_->response_format != "pcm") {
        encoder_ = make_sound_encoder(wanted_->response_format, rate, kComment);
      }
      const auto speech = speak(*voice, options);
      int64_t samples = 0;
      while (!exchange_->is_closed()) {
        const std::vector<float> part = speech->read(kMostSamples);
        if (part.empty()) break;
        if (samples == 0) begin(rate);
        samples += std::ssize(part);
        send(encoder_ ? encoder_->push(part) : pcm16_bytes(part));
      }
      const double seconds = static_cast<double>(samples) / rate;
      spend_tokens(caller_, static_cast<int64_t>(seconds * kTokensPerSecond));
      if (exchange_->is_closed()) return;
      if (samples == 0) begin(rate);
      if (encoder_) send(encoder_->finish());
      if (is_events()) exchange_->write(event({"speech.audio.done", {}, seconds}));
      exchange_->finish();
    } catch (...) {
      fail(std::current_exception());
    }
  }

 private:
  // What is wrong with a text or a voice is the client's mistake.
  std::unique_ptr<Speech> speak(const SpeechSynthesizer& voice, const SpeakOptions& options) const {
    try {
      return voice.speak(wanted_->input, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      throw RequestError({}, error.what(), "invalid_value");
    }
  }
  bool is_events() const { return wanted_->stream_format == "sse"; }
  static std::string event(const SpeechEvent& event) {
    return cat("data: ", to_text(SpeechEvent::fields().write(event)), "\n\n");
  }
  void begin(int rate) {
    HttpResponse head;
    head.content_type = is_events() ? "text/event-stream" : cat("audio/L16;rate=", rate);
    for (const SoundFormat& format : sound_formats()) {
      if (!is_events() && format.name == wanted_->response_format) head.content_type = format.content_type;
    }
    head.headers.emplace_back("Cache-Control", "no-cache");
    has_begun_ = true;
    exchange_->begin(std::move(head));
  }
  void send(const std::string& bytes) {
    if (bytes.empty()) return;
    if (!is_events()) return exchange_->write(bytes);
    SpeechEvent delta{"speech.audio.delta"};
    delta.audio = encode_base64(bytes);
    exchange_->write(event(delta));
  }
  void fail(const std::exception_ptr& error) {
    HttpResponse response = api_error_response(error);
    if (!has_begun_) return exchange_->send(std::move(response));
    // Of sound that has begun there is no more; a stream of events can say why.
    if (is_events()) exchange_->write(cat("data: ", response.body.substr(0, response.body.find('\n')), "\n\n"));
    exchange_->finish();
  }

  std::shared_ptr<const SpeechRequest> wanted_;
  Caller caller_;
  std::shared_ptr<HttpExchange> exchange_;
  std::unique_ptr<SoundEncoder> encoder_;  // null: samples alone
  bool has_begun_ = false;
};

}  // namespace

void Api::speech(const HttpRequest& request, const Exchange& exchange) {
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  if (!voices_ || voices_->names().empty()) {
    throw RequestError({}, "this server has no model that speaks: it was started without --voice-model",
                       "model_not_found", 404);
  }
  const auto wanted = keep_with_room(SpeechRequest::parse(json_body(request)), request);
  const std::string model = wanted->model.empty() ? voices_->default_model() : wanted->model;
  if (!voices_->has(model)) throw RequestError("model", voices_->unknown(model), "model_not_found", 404);
  if (auto refusal = out_of_tokens(request.caller)) return exchange->send(std::move(*refusal));
  const auto job = std::make_shared<Speaking>(wanted, request.caller, exchange);
  if (!voices_->run(request.caller.name, [job, host = voices_.get(), model] { job->run(*host, model); })) {
    HttpResponse busy = error_response(429, "Too many texts wait to be spoken; come back later.", {}, {}, "queue_full");
    busy.headers.emplace_back("Retry-After", "5");
    exchange->send(std::move(busy));
  }
}

void Api::voices(const HttpRequest& request, const Exchange& exchange) {
  if (!voices_ || voices_->names().empty())
    return exchange->send({.body = to_text(VoiceListAnswer::fields().write({})) + "\n"});
  const auto list = [host = voices_.get(), exchange] {
    VoiceListAnswer answer;
    HttpResponse response;
    try {
      for (const std::string& model : host->names()) {
        for (const std::string& name : host->use(model)->facts().voices) answer.data.push_back({name, model});
      }
      response.body = to_text(VoiceListAnswer::fields().write(answer)) + "\n";
    } catch (...) {
      response = api_error_response(std::current_exception());
    }
    exchange->send(std::move(response));
  };
  if (!voices_->run(request.caller.name, list)) {
    exchange->send(error_response(429, "Too many requests wait; come back later.", {}, {}, "queue_full"));
  }
}

}  // namespace wick
