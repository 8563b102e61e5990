#include "server/api/audio/transcription_request.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "server/api/json_copy.h"
#include "server/api/request_error.h"
#include "server/http/multipart.h"
#include "server/http/valid_text.h"

namespace wick {
namespace {

// What a form says as text, as the kind that it looks like.
OrderedJson value_of(const std::string& name, std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (name == "temperature" || name == "seed") {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number)) {
      const auto whole = static_cast<int64_t>(std::clamp(number, -9e15, 9e15));
      return static_cast<double>(whole) == number ? OrderedJson(whole) : OrderedJson(number);
    }
  }
  return valid_text(text);
}

}  // namespace

const Fields<TranscriptionRequest>& TranscriptionRequest::fields() {
  using R = TranscriptionRequest;
  static const Fields<R> fields =
      Fields<R>("TranscriptionRequest", BodyUse::kRequest)
          .add("model", &R::model, "A speech model; the first one when it is left out.")
          .add("language", &R::language, "What is spoken, e.g. en; the model finds out when it is left out.")
          .add("prompt", &R::prompt, "Names and rare words that are likely to be said.")
          .add("response_format", &R::response_format, "What is answered.")
          .words({"json", "text", "srt", "verbose_json", "vtt"})
          .add("temperature", &R::temperature, "0: the likeliest words.")
          .range(0, 1)
          .add("seed", &R::seed, "For temperatures above 0: the same seed, the same text.")
          .add("stream", &R::stream, "Send the text as events while it is generated.")
          .add("timestamp_granularities", &R::timestamp_granularities, "With verbose_json: segment, word or both.")
          .words({"segment", "word"});
  return fields;
}

TranscriptionRequest TranscriptionRequest::parse(const HttpRequest& request, std::string_view body) {
  const std::string boundary = multipart_boundary(request.header("content-type").value_or(""));
  if (boundary.empty()) {
    throw RequestError({}, "the body is to be a form (multipart/form-data) with the sound as its file",
                       "invalid_content_type", 415);
  }
  std::vector<FormPart> parts;
  try {
    parts = parse_multipart(body, boundary);
  } catch (const Error& error) {
    throw RequestError({}, error.what(), "invalid_form");
  }
  OrderedJson values = OrderedJson::object();
  const FormPart* file = nullptr;
  for (const FormPart& part : parts) {
    std::string name = valid_text(part.name);
    if (name == "file") {
      if (file) throw RequestError("file", "the form has two files, expected one");
      file = &part;
    } else if (name.ends_with("[]")) {
      name.resize(name.size() - 2);
      values[name].push_back(value_of(name, part.body));
    } else if (!part.body.empty()) {
      values[name] = value_of(name, part.body);
    }
  }
  TranscriptionRequest wanted = fields().read(Json::parse(to_text(values), "the form"));
  if (!file) throw RequestError("file", "file is missing", "missing_required_parameter");
  wanted.file = file->body;
  wanted.file_name = file->file_name.empty() ? "file" : valid_text(file->file_name);
  if (wanted.wants_words() && wanted.response_format != "verbose_json") {
    throw RequestError("timestamp_granularities", "the times of words need the response_format verbose_json");
  }
  return wanted;
}

bool TranscriptionRequest::wants_words() const {
  return std::find(timestamp_granularities.begin(), timestamp_granularities.end(), "word") !=
         timestamp_granularities.end();
}

RecognizeOptions TranscriptionRequest::options(SpeechTask task) const {
  RecognizeOptions options;
  options.language = language;
  options.context = prompt;
  options.task = task;
  options.times = wants_words() ? TimeDetail::kWords : TimeDetail::kSegments;
  options.temperature = temperature;
  options.seed = static_cast<uint64_t>(seed);
  return options;
}

}  // namespace wick
