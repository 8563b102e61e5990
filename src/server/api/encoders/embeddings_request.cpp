#include "server/api/encoders/embeddings_request.h"

namespace wick {

void FieldKind<EmbeddingInputs>::read(const Json& value, const std::string& place, const Limits&,
                                      EmbeddingInputs& out) {
  read_prompts(value, place, kMostInputs, out);
}

const Fields<EmbeddingsRequest>& EmbeddingsRequest::fields() {
  using R = EmbeddingsRequest;
  static const Fields<R> fields =
      Fields<R>("EmbeddingsRequest", BodyUse::kRequest)
          .add("input", &R::input, "A text or its tokens, or several of them.")
          .required()
          .add("model", &R::model, "Which model; the first one for vectors when it is left out.")
          .add("encoding_format", &R::encoding_format, "base64: the numbers' bytes, each an f32, lowest byte first.")
          .words({"float", "base64"})
          .add("dimensions", &R::dimensions, "Only so many numbers, normalised again; for models trained so.")
          .range(1)
          .add("prompt_name", &R::prompt_name, "A prompt of the model's own that stands before each text.")
          .add("truncate", &R::truncate, "Cut texts that are longer than the model reads; else they are refused.")
          .add("chunk", &R::chunk, "Take texts that are longer than the model reads in parts, and their mean.");
  return fields;
}

}  // namespace wick
