#include "server/api/audio/speech_request.h"

#include "base/utf8.h"
#include "server/api/request_error.h"

namespace wick {
namespace {

constexpr size_t kMostInput = 16384, kMostInstructions = 4096;  // bytes; of the input OpenAI takes 4096 letters

}  // namespace

const Fields<SpeechRequest>& SpeechRequest::fields() {
  using R = SpeechRequest;
  static const Fields<R> fields =
      Fields<R>("SpeechRequest", BodyUse::kRequest)
          .add("model", &R::model, "A model that speaks; the first one when it is left out.")
          .add("input", &R::input, "What to say.")
          .required()
          .add("voice", &R::voice, "A voice by name (see /v1/audio/voices), or as described, by the model's kind.")
          .add("instructions", &R::instructions, "How to speak, with models that take it.")
          .add("language", &R::language, "What is spoken, e.g. english; found out when it is left out.")
          .add("response_format", &R::response_format, "What is answered: pcm is 16 bits, mono, without a header.")
          .words({"wav", "pcm", "mp3", "flac", "opus", "aac"})
          .add("stream_format", &R::stream_format, "Sound as it comes, or events with pieces of it in base64.")
          .words({"audio", "sse"})
          .add("speed", &R::speed, "The voice's own speed is the only one.")
          .range(1, 1)
          .add("temperature", &R::temperature, "0: the likeliest sounds; the model's own when it is left out.")
          .range(0, 2)
          .add("seed", &R::seed, "The same seed, the same speech.");
  return fields;
}

SpeechRequest SpeechRequest::parse(const Json& body) {
  SpeechRequest wanted = fields().read(body);
  if (wanted.input.find_first_not_of(" \n\t\r") == std::string::npos) {
    throw RequestError("input", "input is empty: there is nothing to say");
  }
  const auto check = [](const char* name, const std::string& text, size_t most) {
    if (text.size() > most) throw RequestError(name, cat(name, " has ", text.size(), " bytes, the most are ", most));
  };
  check("input", wanted.input, kMostInput);
  check("instructions", wanted.instructions, kMostInstructions);
  check("voice", wanted.voice, kMostInstructions);
  return wanted;
}

SpeakOptions SpeechRequest::options(const VoiceFacts& facts) const {
  SpeakOptions options;
  options.description = instructions;
  if (facts.designs) {
    if (options.description.empty()) options.description = voice;
  } else {
    options.voice = voice;
  }
  options.language = language;
  options.seed = static_cast<uint64_t>(seed);
  options.temperature = temperature;
  return options;
}

const Fields<SpeechEvent>& SpeechEvent::fields() {
  using E = SpeechEvent;
  static const Fields<E> fields = Fields<E>("SpeechEvent", BodyUse::kResponse)
                                      .add("type", &E::type, "speech.audio.delta or speech.audio.done.")
                                      .add("audio", &E::audio, "A piece of the sound in base64.")
                                      .add("seconds", &E::seconds, "How long the sound is.");
  return fields;
}

const Fields<VoiceAnswer>& VoiceAnswer::fields() {
  using V = VoiceAnswer;
  static const Fields<V> fields = Fields<V>("Voice", BodyUse::kResponse)
                                      .add("id", &V::id, "What requests call it.")
                                      .add("model", &V::model, "The model that has it.");
  return fields;
}

const Fields<VoiceListAnswer>& VoiceListAnswer::fields() {
  using L = VoiceListAnswer;
  static const Fields<L> fields = Fields<L>("VoiceList", BodyUse::kResponse)
                                      .add("object", &L::object, "Always list.")
                                      .add("data", &L::data, "The voices by name of all models that speak.");
  return fields;
}

}  // namespace wick
