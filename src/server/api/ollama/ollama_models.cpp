// Ollama's API: models and vectors.
#include <fmt/format.h>

#include "base/json_write.h"
#include "base/utf8.h"
#include "server/api/api.h"
#include "server/api/encoders/embeddings_job.h"
#include "server/api/encoders/encoder_job.h"
#include "server/api/generation/answer_head.h"
#include "server/api/json_copy.h"
#include "server/api/ollama/ollama_request.h"
#include "server/api/ollama/ollama_writer.h"

namespace wick {
namespace {

constexpr char kOllamaVersion[] = "0.12.11";  // the release whose API this is: clients ask before they use new fields

std::string parameter_size(int64_t count) {
  const auto number = static_cast<double>(count);
  return count >= 1'000'000'000 ? fmt::format("{:.1f}B", number / 1e9) : fmt::format("{:.2f}M", number / 1e6);
}

// What is not known before a model is loaded is left empty.
OrderedJson details_json(const std::string& format, const ModelFacts* facts) {
  const std::string family = facts ? facts->family : std::string();
  return {{"parent_model", ""},
          {"format", format},
          {"family", family},
          {"families", family.empty() ? OrderedJson() : OrderedJson::array({family})},
          {"parameter_size", facts ? parameter_size(facts->parameters) : std::string()},
          {"quantization_level", "unknown"}};
}

// Another one when the files are others. Of their names, sizes and times rather than of their bytes, which would take
// minutes to read.
std::string digest_of(const ModelStatus& status) {
  std::string digest;
  for (int part = 0; part < 4; ++part) {
    uint64_t hash = 0xcbf29ce484222325 + static_cast<uint64_t>(part);  // FNV-1a
    for (const char byte : cat(status.name, "\n", status.file_bytes, "\n", status.created)) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
    digest += fmt::format("{:016x}", hash);
  }
  return digest;
}

std::string modified_at(const ModelStatus& status) {
  return ollama_time(std::chrono::system_clock::time_point(std::chrono::seconds(status.created)));
}

OrderedJson model_json(const ModelStatus& status, const ModelHost::EngineRef& engine) {
  const ModelFacts* facts = engine ? &engine->model().model().facts() : nullptr;
  return {{"name", status.name},       {"model", status.name},        {"modified_at", modified_at(status)},
          {"size", status.file_bytes}, {"digest", digest_of(status)}, {"details", details_json(status.format, facts)}};
}

OrderedJson capabilities_of(const TextModel& model) {
  OrderedJson list = OrderedJson::array({"completion"});
  if (!model.chat_template()) return list;
  if (model.chat_template()->source(true).find("tools") != std::string::npos) list.push_back("tools");
  const ResponseFormat format = response_format_of(model, {}, false);
  if (!format.reasoning_close.empty() || format.tool_calls == ToolCallShape::kHarmony) list.push_back("thinking");
  return list;
}

std::string parameters_of(const SamplingParams& params) {
  return fmt::format("{:<30} {}\n{:<30} {}\n{:<30} {}\n{:<30} {}\n{:<30} {}", "temperature", params.temperature,
                     "top_k", params.top_k, "top_p", params.top_p, "min_p", params.min_p, "repeat_penalty",
                     params.repetition_penalty);
}

OrderedJson model_info(const TextEngine& engine) {
  const ModelFacts& facts = engine.model().model().facts();
  const auto named = [&](const char* what) { return cat(facts.family, ".", what); };
  return {{"general.architecture", facts.family},      {"general.parameter_count", facts.parameters},
          {named("context_length"), engine.context()}, {named("embedding_length"), facts.hidden},
          {named("block_count"), facts.layers},        {named("attention.head_count"), facts.heads},
          {named("vocab_size"), facts.vocabulary}};
}

EmbeddingsRequest embeddings_request(const OllamaEmbedRequest& from, std::vector<std::string> texts) {
  EmbeddingsRequest request;
  request.model = from.model;
  request.truncate = from.truncate;
  request.dimensions = from.dimensions;
  if (std::ssize(texts) > kMostInputs) {
    throw RequestError("input", cat("input has ", texts.size(), " texts, allowed are ", kMostInputs));
  }
  for (std::string& text : texts) request.input.prompts.emplace_back(std::move(text));
  return request;
}

int64_t nanoseconds_since(EngineClock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(EngineClock::now() - begin).count();
}

}  // namespace

void Api::ollama_tags(const HttpRequest&, const Exchange& exchange) {
  OrderedJson models = OrderedJson::array();
  for (const ModelStatus& status : host_->list()) models.push_back(model_json(status, host_->loaded(status.name)));
  if (embedders_) {
    for (const std::string& name : embedders_->names()) {
      ModelStatus status;
      status.name = name;
      status.format = "safetensors";
      models.push_back(model_json(status, nullptr));
    }
  }
  exchange->send(json_response({{"models", std::move(models)}}));
}

void Api::ollama_ps(const HttpRequest&, const Exchange& exchange) {
  OrderedJson models = OrderedJson::array();
  for (const ModelStatus& status : host_->list()) {
    const EngineRef engine = host_->loaded(status.name);
    if (!engine) continue;
    OrderedJson model = model_json(status, engine);
    model["size"] = status.bytes;
    model["size_vram"] = engine->model().model().device().is_host() ? 0 : status.bytes;
    model["context_length"] = engine->context();
    model["expires_at"] = status.expires ? OrderedJson(ollama_time(*status.expires)) : OrderedJson();  // null: never
    models.push_back(std::move(model));
  }
  exchange->send(json_response({{"models", std::move(models)}}));
}

void Api::ollama_show(const HttpRequest& request, const Exchange& exchange) {
  const OllamaShowRequest wanted = OllamaShowRequest::fields().read(json_body(request));
  const std::string name = ollama_model(wanted.model ? *wanted.model : wanted.name.value_or(""));
  if (name.empty()) throw RequestError("model", "model is missing", "missing_required_parameter");
  if (embedders_ && embedders_->has(name)) {
    return exchange->send(json_response({{"details", details_json("safetensors", nullptr)},
                                         {"model_info", OrderedJson::object()},
                                         {"capabilities", {"embedding"}}}));
  }
  const auto show = [this, exchange](const std::string& model, const EngineRef& engine) {
    const TextModel& text_model = engine->model();
    OrderedJson answer = {{"modelfile", cat("FROM ", model, "\n")},
                          {"parameters", parameters_of(text_model.recommended())},
                          {"template", text_model.chat_template() ? text_model.chat_template()->source() : ""}};
    for (const ModelStatus& status : host_->list()) {
      if (status.name != model) continue;
      answer["details"] = details_json(status.format, &text_model.model().facts());
      answer["modified_at"] = modified_at(status);
    }
    answer["model_info"] = model_info(*engine);
    answer["capabilities"] = capabilities_of(text_model);
    exchange->send(json_response(answer));
  };
  with_engine(name, exchange, show, {request.caller.name, {}});
}

void Api::ollama_version(const HttpRequest&, const Exchange& exchange) {
  exchange->send(json_response({{"version", kOllamaVersion}, {"wick", WICK_VERSION}}));
}

void Api::ollama_embed(const HttpRequest& request, const Exchange& exchange) {
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  const auto asked = EngineClock::now();
  const OllamaEmbedRequest body = OllamaEmbedRequest::fields().read(json_body(request));
  if (body.input.texts.empty()) {  // only load the model
    return exchange->send(json_response({{"model", body.model}, {"embeddings", OrderedJson::array()}}));
  }
  const auto wanted = keep_with_room(embeddings_request(body, body.input.texts), request);
  answer_with(embedders_, ollama_model(body.model), "--embedding-model", request.caller, exchange,
              [=, model = body.model, caller = request.caller](const Embedder& embedder, const std::string&) {
                const auto begun = EngineClock::now();
                EmbeddedTexts texts = embed_all(*wanted, embedder, caller, exchange);
                if (!wanted->dimensions) texts.vectors = shortened(texts.vectors, texts.vectors.dim(1));  // normalised
                std::string out = R"({"model":)";
                append_json_text(out, model);
                out += R"(,"embeddings":[)";
                for (int64_t i = 0; i < texts.vectors.dim(0); ++i) {
                  if (i > 0) out += ',';
                  append_vector(out, vector_of(texts.vectors, i));
                }
                const auto load = std::chrono::duration_cast<std::chrono::nanoseconds>(begun - asked).count();
                return out += cat(R"(],"total_duration":)", nanoseconds_since(asked), R"(,"load_duration":)", load,
                                  R"(,"prompt_eval_count":)", texts.tokens, "}\n");
              });
}

void Api::ollama_embeddings(const HttpRequest& request, const Exchange& exchange) {
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  const OllamaEmbedRequest body = OllamaEmbedRequest::fields().read(json_body(request));
  if (body.prompt.empty()) return exchange->send(json_response({{"embedding", OrderedJson::array()}}));
  const auto wanted = keep_with_room(embeddings_request(body, {body.prompt}), request);
  answer_with(embedders_, ollama_model(body.model), "--embedding-model", request.caller, exchange,
              [=, caller = request.caller](const Embedder& embedder, const std::string&) {
                std::string out = R"({"embedding":)";
                append_vector(out, vector_of(embed_all(*wanted, embedder, caller, exchange).vectors, 0));
                return out += "}\n";
              });
}

}  // namespace wick
