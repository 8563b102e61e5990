#include "server/api/openapi.h"

#include <optional>

#include "server/api/adapter_requests.h"
#include "server/api/audio/speech_request.h"
#include "server/api/audio/transcription_answer.h"
#include "server/api/audio/transcription_request.h"
#include "server/api/background/background_answers.h"
#include "server/api/chat/chat_response.h"
#include "server/api/completions/completion_request.h"
#include "server/api/completions/completion_response.h"
#include "server/api/encoders/embeddings_request.h"
#include "server/api/encoders/judge_request.h"
#include "server/api/messages/messages_request.h"
#include "server/api/microscope/inside_request.h"
#include "server/api/model_answers.h"
#include "server/api/ollama/ollama_request.h"
#include "server/api/responses/responses_request.h"
#include "server/api/token_requests.h"

namespace wick {
namespace {

struct ErrorDetail {
  std::string message, type;
  std::optional<std::string> param, code;
  static const Fields<ErrorDetail>& fields() {
    using R = ErrorDetail;
    static const Fields<R> fields = Fields<R>("ErrorDetail", BodyUse::kResponse)
                                        .add("message", &R::message, "One sentence.")
                                        .add("type", &R::type, "invalid_request_error, rate_limit_error, ...")
                                        .add("param", &R::param, "The field at fault.")
                                        .nullable()
                                        .add("code", &R::code, "A word for programs.")
                                        .nullable();
    return fields;
  }
};
struct ErrorAnswer {
  ErrorDetail error;
  static const Fields<ErrorAnswer>& fields() {
    static const Fields<ErrorAnswer> fields =
        Fields<ErrorAnswer>("Error", BodyUse::kResponse).add("error", &ErrorAnswer::error, "");
    return fields;
  }
};

OrderedJson content(const char* type, OrderedJson schema) { return {{type, {{"schema", std::move(schema)}}}}; }

class Document {
 public:
  // `answer`: the schema of status 200; `events`: that of one event of a stream, if the answer can be one.
  void add(const char* method, const std::string& path, const char* id, const char* summary, OrderedJson answer,
           std::optional<OrderedJson> request = {}, std::optional<OrderedJson> events = {},
           const char* request_type = "application/json") {
    OrderedJson operation = {{"operationId", id}, {"summary", summary}};
    if (path.find('{') != std::string::npos) {
      operation["parameters"] = {
          {{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}};
    }
    if (request) operation["requestBody"] = {{"required", true}, {"content", content(request_type, *request)}};
    OrderedJson success = std::move(answer);
    if (events) success.update(content("text/event-stream", *events));
    operation["responses"]["200"] = {{"description", "The answer."}, {"content", std::move(success)}};
    operation["responses"]["default"] = {{"description", "What is wrong."},
                                         {"content", content("application/json", set_.reference<ErrorAnswer>())}};
    paths_[path][method] = std::move(operation);
  }
  // A header field that the operation may come with.
  void add_header(const char* method, const std::string& path, const char* name, const char* doc) {
    paths_[path][method]["parameters"].push_back(
        {{"name", name}, {"in", "header"}, {"description", doc}, {"schema", {{"type", "string"}}}});
  }
  // What answers is no body but a web socket.
  void upgrade(const char* method, const std::string& path) {
    OrderedJson& responses = paths_[path][method]["responses"];
    responses.erase("200");
    responses["101"] = {{"description", "The connection is a web socket."}};
  }
  template <typename T>
  OrderedJson json() {
    return content("application/json", set_.reference<T>());
  }
  SchemaSet& set() { return set_; }
  const OrderedJson& paths() const { return paths_; }

 private:
  SchemaSet set_;
  OrderedJson paths_ = OrderedJson::object();
};

// The form of a recording: its fields and the file.
OrderedJson recording_form(SchemaSet& set) {
  OrderedJson file = {{"type", "object"},
                      {"properties", {{"file", {{"type", "string"}, {"format", "binary"}}}}},
                      {"required", {"file"}}};
  return {{"allOf", {set.reference<TranscriptionRequest>(), std::move(file)}}};
}

void add_audio(Document& document) {
  SchemaSet& set = document.set();
  OrderedJson answer = content(
      "application/json", {{"anyOf", {set.reference<TranscriptAnswer>(), set.reference<VerboseTranscriptAnswer>()}}});
  answer.update(content("text/plain", {{"type", "string"}}));
  answer.update(content("text/vtt", {{"type", "string"}}));
  document.add("post", "/v1/audio/transcriptions", "createTranscription", "Write down what is said.", answer,
               recording_form(set), set.reference<TranscriptEvent>(), "multipart/form-data");
  document.add("post", "/v1/audio/translations", "createTranslation", "Write down in English what is said.", answer,
               recording_form(set), set.reference<TranscriptEvent>(), "multipart/form-data");
  OrderedJson sound = content("audio/wav", {{"type", "string"}, {"format", "binary"}});
  sound.update(content("audio/L16", {{"type", "string"}, {"format", "binary"}}));
  document.add("post", "/v1/audio/speech", "createSpeech", "Speak a text.", sound, set.reference<SpeechRequest>(),
               set.reference<SpeechEvent>());
  document.add("get", "/v1/audio/voices", "listVoices", "The voices there are.",
               content("application/json", set.reference<VoiceListAnswer>()));
}

void add_embeddings(Document& document) {
  SchemaSet& set = document.set();
  document.add("post", "/v1/embeddings", "createEmbedding", "Turn texts into vectors.",
               content("application/json", {{"type", "object"}}), set.reference<EmbeddingsRequest>());
  document.add("post", "/v1/rerank", "rerank", "Sort texts by how relevant they are to a query.",
               content("application/json", {{"type", "object"}}), set.reference<RerankRequest>());
  document.add("post", "/v2/rerank", "rerankAsCohere", "The same, where Cohere has it.",
               content("application/json", {{"type", "object"}}), set.reference<RerankRequest>());
  document.add("post", "/v1/score", "score", "Tell how relevant texts are to others.",
               content("application/json", {{"type", "object"}}), set.reference<ScoreRequest>());
  document.add("post", "/v1/classify", "classify", "Give labels to texts, or find the names in them.",
               content("application/json", {{"type", "object"}}), set.reference<ClassifyRequest>());
}

void add_other_protocols(Document& document) {
  SchemaSet& set = document.set();
  const OrderedJson object = content("application/json", {{"type", "object"}});
  const OrderedJson event = {{"type", "object"}};
  document.add("post", "/v1/messages", "createMessage", "Answer a conversation, as Anthropic's API does.", object,
               set.reference<MessagesRequest>(), event);
  document.add("post", "/v1/messages/count_tokens", "countTokens", "How many tokens a conversation takes.", object,
               set.reference<CountTokensRequest>());
  document.add("post", "/api/chat", "ollamaChat", "Answer a conversation, as Ollama's API does.", object,
               set.reference<OllamaChatRequest>());
  document.add("post", "/api/generate", "ollamaGenerate", "Answer a text, or continue it.", object,
               set.reference<OllamaGenerateRequest>());
  document.add("get", "/api/tags", "ollamaTags", "The models.", object);
  document.add("post", "/api/show", "ollamaShow", "What a model is and can.", object,
               set.reference<OllamaShowRequest>());
  document.add("get", "/api/ps", "ollamaPs", "The models that are loaded.", object);
  document.add("post", "/api/embed", "ollamaEmbed", "Turn texts into vectors of length 1.", object,
               set.reference<OllamaEmbedRequest>());
  document.add("post", "/api/embeddings", "ollamaEmbeddings", "Turn a text into a vector.", object,
               set.reference<OllamaEmbedRequest>());
  document.add("get", "/api/version", "ollamaVersion", "The release of Ollama whose API this is.", object);
}

void add_inside(Document& document) {
  SchemaSet& set = document.set();
  const OrderedJson object = content("application/json", {{"type", "object"}});
  document.add("get", "/v1/wick", "aboutInside", "Whether models may be looked into, and the limits.", object);
  document.add("post", "/v1/wick/lens", "lens", "What each layer would say at each position.", object,
               set.reference<LensRequest>());
  document.add("post", "/v1/wick/attention", "attention", "The attention patterns of a layer.", object,
               set.reference<AttentionRequest>());
  document.add("post", "/v1/wick/norms", "norms", "The length of the residual stream's vectors.", object,
               set.reference<InsideRequest>());
  document.add("post", "/v1/wick/heads", "headScores", "How much each head looks at some kinds of tokens.", object,
               set.reference<InsideRequest>());
  document.add("post", "/v1/wick/probe", "probe", "What a probe reads at each token.", object,
               set.reference<ProbeRequest>());
  document.add("post", "/v1/wick/features", "features", "What a sparse autoencoder sees at each token.", object,
               set.reference<FeaturesRequest>());
  document.add("post", "/v1/wick/patch", "patchSweep", "Put each cell of a run into another, one at a time.",
               content("text/event-stream", {{"type", "object"}}), set.reference<PatchRequest>());
  document.add("post", "/v1/wick/run", "runEdited", "Continue a text with changes inside the model, and without.",
               object, set.reference<RunRequest>());
  document.add("get", "/v1/wick/captures/{id}", "getCapture", "What an answer captured, as safetensors.",
               content("application/octet-stream", {{"type", "string"}, {"format", "binary"}}));
  document.add("delete", "/v1/wick/captures/{id}", "deleteCapture", "Forget what an answer captured.", object);
}

}  // namespace

OrderedJson openapi_document() {
  Document document;
  SchemaSet& set = document.set();
  const OrderedJson object = {{"type", "object"}};
  document.add("post", "/v1/chat/completions", "createChatCompletion", "Answer a conversation.",
               document.json<ChatCompletion>(), set.reference<ChatRequest>(), set.reference<ChatChunk>());
  document.add("post", "/v1/completions", "createCompletion", "Continue a text.", document.json<Completion>(),
               set.reference<CompletionRequest>(), set.reference<Completion>());
  document.add("post", "/v1/responses", "createResponse", "Answer, in OpenAI's newer form.",
               content("application/json", object), set.reference<ResponsesRequest>(), object);
  document.add_header("post", "/v1/responses", "Idempotency-Key",
                      "With background: the same key and request give the same response, computed once.");
  document.add("get", "/v1/responses/{id}", "getResponse", "A response in the background, as far as it is.",
               content("application/json", object));
  document.add("get", "/v1/responses/{id}/input_items", "listInputItems", "What a response was made from.",
               content("application/json", object));
  document.add("post", "/v1/responses/{id}/cancel", "cancelResponse", "End a response in the background.",
               content("application/json", object));
  document.add("delete", "/v1/responses/{id}", "deleteResponse", "Forget a response in the background.",
               document.json<DeletedResponse>());
  add_other_protocols(document);
  add_audio(document);
  add_embeddings(document);
  document.add("get", "/v1/realtime", "openRealtime", "A web socket of OpenAI's realtime events.",
               content("application/json", object));
  document.upgrade("get", "/v1/realtime");
  add_inside(document);
  document.add("get", "/v1/models", "listModels", "The models and how they stand.", document.json<ModelListAnswer>());
  document.add("get", "/v1/models/{id}", "retrieveModel", "One model.", document.json<ModelAnswer>());
  document.add("get", "/v1/engine", "watchEngine", "How a model's engine stands, a few times a second.",
               content("text/event-stream", object));
  document.add("post", "/v1/load_lora_adapter", "loadAdapter", "Load an adapter while the server runs.",
               content("text/plain", {{"type", "string"}}), set.reference<LoadAdapterRequest>());
  document.add("post", "/v1/unload_lora_adapter", "unloadAdapter", "Take an adapter away.",
               content("text/plain", {{"type", "string"}}), set.reference<UnloadAdapterRequest>());
  document.add("post", "/tokenize", "tokenize", "The tokens of a text or a conversation.",
               document.json<TokenizeAnswer>(), set.reference<TokenizeRequest>());
  document.add("post", "/detokenize", "detokenize", "The text of tokens.", document.json<DetokenizeAnswer>(),
               set.reference<DetokenizeRequest>());
  document.add("get", "/health", "health", "Whether the server is alive.", document.json<StatusAnswer>());
  document.add("get", "/ready", "ready", "Whether a model is loaded; 503 until then.", document.json<StatusAnswer>());
  document.add("get", "/metrics", "metrics", "Numbers for Prometheus.", content("text/plain", {{"type", "string"}}));
  document.add("get", "/openapi.json", "openapi", "This document.", content("application/json", object));
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Wick"},
            {"version", WICK_VERSION},
            {"description", "An OpenAI-compatible API over the models of this server."}}},
          {"paths", document.paths()},
          {"components",
           {{"schemas", set.schemas()}, {"securitySchemes", {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
          {"security", {OrderedJson::object(), {{"bearer", OrderedJson::array()}}}}};
}

}  // namespace wick
