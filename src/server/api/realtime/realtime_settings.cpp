#include "server/api/realtime/realtime_settings.h"

#include "base/utf8.h"

namespace wick {
namespace {

// The parts of a session as they are sent.
struct FormatPart {
  std::string type = "audio/pcm";
  int rate = 24000;
  static const Fields<FormatPart>& fields() {
    static const Fields<FormatPart> fields = Fields<FormatPart>("RealtimeFormat", BodyUse::kRequest)
                                                 .add("type", &FormatPart::type, "16 bits, little endian, mono.")
                                                 .words({"audio/pcm"})
                                                 .add("rate", &FormatPart::rate, "Samples per second.")
                                                 .range(8000, 48000);
    return fields;
  }
};

struct TranscriptionPart {
  std::optional<std::string> model, language, prompt;
  static const Fields<TranscriptionPart>& fields() {
    using R = TranscriptionPart;
    static const Fields<R> fields = Fields<R>("RealtimeTranscription", BodyUse::kRequest)
                                        .add("model", &R::model, "Who listens.")
                                        .add("language", &R::language, "Of the speech; empty: the model finds out.")
                                        .add("prompt", &R::prompt, "Words that are likely to be said.");
    return fields;
  }
};

struct InputPart {
  std::optional<FormatPart> format;
  std::optional<TranscriptionPart> transcription;
  static const Fields<InputPart>& fields() {
    using R = InputPart;
    static const Fields<R> fields = Fields<R>("RealtimeInput", BodyUse::kRequest)
                                        .add("format", &R::format, "")
                                        .add("transcription", &R::transcription, "")
                                        .refuse("noise_reduction", "sound is taken as it comes");
    return fields;
  }
};

struct AudioPart {
  std::optional<InputPart> input;
  static const Fields<AudioPart>& fields() {
    static const Fields<AudioPart> fields =
        Fields<AudioPart>("RealtimeAudio", BodyUse::kRequest).add("input", &AudioPart::input, "");
    return fields;
  }
};

struct SessionPart {
  std::optional<std::string> type, model, instructions, input_audio_format;
  std::optional<float> temperature;
  std::optional<bool> ignore_eos;
  std::optional<TranscriptionPart> input_audio_transcription;
  std::optional<AudioPart> audio;
  static const Fields<SessionPart>& fields() {
    using R = SessionPart;
    static const Fields<R> fields =
        Fields<R>("RealtimeSession", BodyUse::kRequest)
            .add("type", &R::type, "transcription: it only listens.")
            .words({"realtime", "transcription"})
            .add("model", &R::model, "Who answers.")
            .add("instructions", &R::instructions, "The system message of the answering model.")
            .add("temperature", &R::temperature, "")
            .range(0, 2)
            .add("ignore_eos", &R::ignore_eos, "Go on behind tokens that end the text.")
            .add("input_audio_format", &R::input_audio_format, "16 bits, little endian, mono, 24 kHz.")
            .words({"pcm16"})
            .add("input_audio_transcription", &R::input_audio_transcription, "")
            .add("audio", &R::audio, "")
            .refuse("input_audio_noise_reduction", "sound is taken as it comes");
    return fields;
  }
};

void take(const TranscriptionPart& part, RealtimeSettings& settings) {
  settings.speech_model = part.model.value_or(settings.speech_model);
  settings.language = part.language.value_or(settings.language);
  settings.prompt = part.prompt.value_or(settings.prompt);
}

// Null is not the same as left out here: it means that the client says when.
void take_turn_detection(const Json& json, const std::string& place, RealtimeSettings& settings) {
  const Json* turns = json.is_object() ? json.find("turn_detection") : nullptr;
  if (!turns) return;
  if (turns->is_null()) {
    settings.turn_detection.reset();
    return;
  }
  TurnDetection changed = settings.turn_detection.value_or(TurnDetection());
  TurnDetection::fields().read(*turns, cat(place, ".turn_detection"), changed);
  settings.turn_detection = changed;
}

// A number or "inf".
void take_most_tokens(const Json& json, const std::string& place, std::string_view name, RealtimeSettings& settings) {
  const Json* most = json.find(name);
  if (!most || most->is_null()) return;
  const std::string at = cat(place, ".", name);
  settings.max_output_tokens.reset();
  if (most->is_text() && most->as_text() == "inf") return;
  if (!most->is_int()) throw wrong_kind(at, *most, "a whole number or 'inf'");
  check_range(at, most->as_number(), {.low = 1});
  settings.max_output_tokens = most->as_int();
}

void check_possible(const Json& json, const std::string& place) {
  for (const char* name : {"modalities", "output_modalities"}) {
    const Json* list = json.find(name);
    if (!list || list->is_null()) continue;
    const std::string at = cat(place, ".", name);
    std::vector<std::string> words;
    FieldKind<std::vector<std::string>>::read(*list, at, {.words = {"text", "audio"}}, words);
    if (std::find(words.begin(), words.end(), "text") == words.end()) {
      throw RequestError(at, cat(at, " has no 'text', and answers are text"), "unsupported_value");
    }
  }
  const Json* tools = json.find("tools");
  if (tools && !tools->is_null() && !(tools->is_array() && tools->as_array().empty())) {
    throw RequestError(cat(place, ".tools"), cat(place, ".tools are not supported in realtime sessions"),
                       "unsupported_parameter");
  }
}

}  // namespace

const Fields<TurnDetection>& TurnDetection::fields() {
  using R = TurnDetection;
  static const Fields<R> fields =
      Fields<R>("RealtimeTurnDetection", BodyUse::kRequest)
          .add("type", &R::type, "A turn ends with a pause.")
          .words({"server_vad"})
          .add("create_response", &R::create_response, "Answer each turn.")
          .add("interrupt_response", &R::interrupt_response, "Speech ends an answer.")
          .add("threshold", &R::threshold, "How sure it must be that somebody speaks.")
          .range(0.01, 1)
          .add("silence_duration_ms", &R::silence_duration_ms, "The pause that ends a turn.")
          .range(100, 60'000)
          .add("prefix_padding_ms", &R::prefix_padding_ms,
               "How much of a pause belongs to a turn, before and behind it.")
          .range(0, 60'000);
  return fields;
}

void RealtimeSettings::update(const Json& session) {
  const std::string place = "session";
  SessionPart part;
  SessionPart::fields().read(session, place, part);
  check_possible(session, place);
  RealtimeSettings changed = *this;
  changed.type = part.type.value_or(type);
  changed.model = part.model.value_or(model);
  changed.instructions = part.instructions.value_or(instructions);
  if (part.temperature) changed.temperature = part.temperature;
  changed.ignore_eos = part.ignore_eos.value_or(ignore_eos);
  take_most_tokens(session, place, "max_response_output_tokens", changed);
  take_most_tokens(session, place, "max_output_tokens", changed);
  if (part.input_audio_format) changed.sample_rate = 24000;
  if (part.input_audio_transcription) take(*part.input_audio_transcription, changed);
  take_turn_detection(session, place, changed);
  if (part.audio && part.audio->input) {
    const InputPart& input = *part.audio->input;
    if (input.format) changed.sample_rate = input.format->rate;
    if (input.transcription) take(*input.transcription, changed);
    take_turn_detection(session.at("audio").at("input"), "session.audio.input", changed);
  }
  *this = std::move(changed);
}

void RealtimeSettings::update_response(const Json& response) {
  struct Part {
    std::optional<std::string> instructions;
    std::optional<float> temperature;
    std::optional<bool> ignore_eos;
  };
  static const Fields<Part> fields = Fields<Part>("RealtimeResponse", BodyUse::kRequest)
                                         .add("instructions", &Part::instructions, "Instead of the session's.")
                                         .add("temperature", &Part::temperature, "")
                                         .range(0, 2)
                                         .add("ignore_eos", &Part::ignore_eos, "")
                                         .refuse("input", "the conversation is what is answered");
  Part part;
  fields.read(response, "response", part);
  check_possible(response, "response");
  instructions = part.instructions.value_or(instructions);
  if (part.temperature) temperature = part.temperature;
  ignore_eos = part.ignore_eos.value_or(ignore_eos);
  take_most_tokens(response, "response", "max_output_tokens", *this);
}

bool RealtimeSettings::hears_like(const RealtimeSettings& other) const {
  return sample_rate == other.sample_rate && speech_model == other.speech_model && language == other.language &&
         prompt == other.prompt && turn_detection.has_value() == other.turn_detection.has_value() &&
         pauses() == other.pauses();
}

PauseOptions RealtimeSettings::pauses() const {
  if (!turn_detection) return {};
  return {turn_detection->threshold, turn_detection->silence_duration_ms, turn_detection->prefix_padding_ms};
}

OrderedJson RealtimeSettings::json(const std::string& id) const {
  OrderedJson turns;
  if (turn_detection) turns = TurnDetection::fields().write(*turn_detection);
  OrderedJson input = {{"format", {{"type", "audio/pcm"}, {"rate", sample_rate}}},
                       {"transcription", {{"model", speech_model}, {"language", language}, {"prompt", prompt}}},
                       {"turn_detection", std::move(turns)}};
  return {{"id", id},
          {"object", "realtime.session"},
          {"type", type},
          {"model", model},
          {"output_modalities", {"text"}},
          {"instructions", instructions},
          {"max_output_tokens", max_output_tokens ? OrderedJson(*max_output_tokens) : OrderedJson("inf")},
          {"temperature", temperature ? OrderedJson(*temperature) : OrderedJson()},
          {"audio", {{"input", std::move(input)}}}};
}

}  // namespace wick
