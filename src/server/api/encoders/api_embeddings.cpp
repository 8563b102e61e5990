// POST /v1/embeddings.
#include <fmt/format.h>

#include <iterator>

#include "base/base64.h"
#include "base/json_write.h"
#include "server/api/api.h"
#include "server/api/encoders/embeddings_job.h"
#include "server/api/encoders/encoder_job.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

using Texts = std::vector<std::vector<EncoderInput>>;  // each in parts

// The place of an input in messages: one alone has none.
std::string place_of(const EmbeddingsRequest& wanted, size_t index) {
  return wanted.input.prompts.size() == 1 ? "input" : cat("input[", index, "]");
}

Texts read_inputs(const Embedder& embedder, const EmbeddingsRequest& wanted) {
  EmbedOptions options;
  options.truncates = wanted.truncate;
  options.in_parts = wanted.chunk;
  if (wanted.chunk && wanted.truncate) throw RequestError("chunk", "chunk and truncate exclude each other");
  if (!wanted.prompt_name.empty()) options.prompt = embedder.prompt(wanted.prompt_name);
  Texts texts;
  for (size_t i = 0; i < wanted.input.prompts.size(); ++i) {
    const std::string place = place_of(wanted, i);
    const auto& input = wanted.input.prompts[i];
    const auto wrong = [&](const std::string& what) { return RequestError(place, cat(place, ": ", what)); };
    if (const auto* text = std::get_if<std::string>(&input)) {
      try {
        texts.push_back(embedder.read_parts(*text, options));
      } catch (const Error& error) {
        throw wrong(error.what());
      }
      continue;
    }
    std::vector<int32_t> tokens = std::get<std::vector<int32_t>>(input);
    if (tokens.empty()) throw wrong("there are no tokens in it");
    if (std::ssize(tokens) > embedder.most_tokens()) {
      if (!wanted.truncate) {
        throw wrong(cat("there are ", tokens.size(), " tokens, the model takes ", embedder.most_tokens()));
      }
      tokens.resize(static_cast<size_t>(embedder.most_tokens()));
    }
    for (const int32_t token : tokens) {
      if (token >= embedder.rows().vocabulary()) throw wrong(cat(token, " is no token of the model"));
    }
    texts.push_back({EncoderInput{std::move(tokens), {}}});
  }
  return texts;
}

std::string answer_text(const EmbeddingsRequest& wanted, const std::string& model, const EmbeddedTexts& texts) {
  std::string out = R"({"object":"list","data":[)";
  for (int64_t i = 0; i < texts.vectors.dim(0); ++i) {
    out += cat(i ? "," : "", R"({"object":"embedding","index":)", i, R"(,"embedding":)");
    append_vector(out, vector_of(texts.vectors, i), wanted.encoding_format == "base64");
    out += '}';
  }
  out += R"(],"model":)";
  append_json_text(out, model);
  return out += cat(R"(,"usage":{"prompt_tokens":)", texts.tokens, R"(,"total_tokens":)", texts.tokens, "}}\n");
}

}  // namespace

EmbeddedTexts embed_all(const EmbeddingsRequest& wanted, const Embedder& embedder, const Caller& caller,
                        const std::shared_ptr<HttpExchange>& exchange) {
  const Texts texts = read_inputs(embedder, wanted);
  EmbeddedTexts embedded;
  for (const auto& parts : texts) {
    for (const EncoderInput& part : parts) embedded.tokens += std::ssize(part.tokens);
  }
  spend_tokens(caller, embedded.tokens);
  embedded.vectors = embedder.embed_parts(texts, while_open(exchange));
  try {
    if (wanted.dimensions) embedded.vectors = shortened(embedded.vectors, *wanted.dimensions);
  } catch (const Error& error) {
    throw RequestError("dimensions", cat("dimensions: ", error.what()));
  }
  return embedded;
}

void append_vector(std::string& out, std::span<const float> vector, bool as_base64) {
  if (as_base64) {
    const auto bytes = std::as_bytes(vector);
    out += cat("\"", encode_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), "\"");
    return;
  }
  out += '[';
  for (size_t i = 0; i < vector.size(); ++i) fmt::format_to(std::back_inserter(out), "{}{}", i ? "," : "", vector[i]);
  out += ']';
}

std::span<const float> vector_of(const Tensor& vectors, int64_t text) {
  const auto width = static_cast<size_t>(vectors.dim(1));
  return {vectors.data<float>() + static_cast<size_t>(text) * width, width};
}

void Api::embeddings(const HttpRequest& request, const Exchange& exchange) {
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  const auto wanted = keep_with_room(EmbeddingsRequest::fields().read(json_body(request)), request);
  answer_with(embedders_, wanted->model, "--embedding-model", request.caller, exchange,
              [wanted, exchange, caller = request.caller](const Embedder& embedder, const std::string& name) {
                return answer_text(*wanted, name, embed_all(*wanted, embedder, caller, exchange));
              });
}

}  // namespace wick
