#include "server/api/mcp/mcp_tools.h"

#include <filesystem>
#include <fstream>

#include "base/utf8.h"
#include "server/api/fields.h"
#include "server/api/generation/answer_head.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostSound = uintmax_t{512} << 20;

struct ChatArguments {
  std::string prompt;
  std::optional<std::string> system, model;
  std::optional<float> temperature;
  std::optional<int64_t> max_tokens;
  static const Fields<ChatArguments>& fields() {
    using R = ChatArguments;
    static const Fields<R> fields =
        Fields<R>("ChatArguments", BodyUse::kRequest)
            .add("prompt", &R::prompt, "What is asked.")
            .required()
            .add("system", &R::system, "How the model is to answer.")
            .add("model", &R::model, "Which model; the first one when it is left out.")
            .add("temperature", &R::temperature, "0: always the most likely token; higher: bolder.")
            .range(0, 2)
            .add("max_tokens", &R::max_tokens, "At most this many tokens.")
            .range(1);
    return fields;
  }
};

struct TranscribeToolArguments {
  std::string file;
  std::optional<std::string> language;
  bool translate = false;
  static const Fields<TranscribeToolArguments>& fields() {
    using R = TranscribeToolArguments;
    static const Fields<R> fields =
        Fields<R>("TranscribeArguments", BodyUse::kRequest)
            .add("file", &R::file, "Path of a recording on this machine.")
            .required()
            .add("language", &R::language, "What is spoken, e.g. en; the model finds out when it is left out.")
            .add("translate", &R::translate, "Write it down in English.");
    return fields;
  }
};

struct EmbedToolArguments {
  std::vector<std::string> texts;
  static const Fields<EmbedToolArguments>& fields() {
    static const Fields<EmbedToolArguments> fields = Fields<EmbedToolArguments>("EmbedArguments", BodyUse::kRequest)
                                                         .add("texts", &EmbedToolArguments::texts, "The texts.")
                                                         .required();
    return fields;
  }
};

struct ClassifyToolArguments {
  std::vector<std::string> texts, labels;
  bool several = false;
  static const Fields<ClassifyToolArguments>& fields() {
    using R = ClassifyToolArguments;
    static const Fields<R> fields =
        Fields<R>("ClassifyArguments", BodyUse::kRequest)
            .add("texts", &R::texts, "The texts.")
            .required()
            .add("labels", &R::labels, "Labels of your own, for models of entailment; else the model's.")
            .add("several", &R::several, "More than one of your labels may hold.");
    return fields;
  }
};

template <typename T>
OrderedJson schema_of() {
  SchemaSet set;
  return T::fields().schema(set);
}

HttpRequest post(const char* path, const OrderedJson& body) {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.body = to_text(body);
  return request;
}

HttpRequest chat_request(const Json& arguments) {
  const ChatArguments wanted = ChatArguments::fields().read(arguments);
  OrderedJson messages = OrderedJson::array();
  if (wanted.system) messages.push_back({{"role", "system"}, {"content", *wanted.system}});
  messages.push_back({{"role", "user"}, {"content", wanted.prompt}});
  OrderedJson body = {{"messages", std::move(messages)}};
  if (wanted.model) body["model"] = *wanted.model;
  if (wanted.temperature) body["temperature"] = *wanted.temperature;
  if (wanted.max_tokens) body["max_tokens"] = *wanted.max_tokens;
  return post("/v1/chat/completions", body);
}

std::string sound_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    throw RequestError("file", cat("file is ", in_quotes(path.string()), ", which is no file"));
  }
  const uintmax_t size = fs::file_size(path, error);
  if (error || size > kMostSound) {
    throw RequestError("file", cat("file is ", in_quotes(path.string()), ", which is larger than ", kMostSound,
                                   " bytes or cannot be read"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(size, '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) {
    throw RequestError("file", cat("file is ", in_quotes(path.string()), ", which cannot be read"));
  }
  return bytes;
}

HttpRequest transcribe_request(const Json& arguments) {
  const TranscribeToolArguments wanted = TranscribeToolArguments::fields().read(arguments);
  const std::string sound = sound_of(wanted.file);
  std::string boundary = make_id("wick-");
  while (sound.find(boundary) != std::string::npos) boundary = make_id("wick-");
  HttpRequest request;
  request.method = "POST";
  request.path = wanted.translate ? "/v1/audio/translations" : "/v1/audio/transcriptions";
  request.headers = {{"content-type", cat("multipart/form-data; boundary=", boundary)}};
  const auto part = [&](std::string_view head, std::string_view content) {
    request.body += cat("--", boundary, "\r\nContent-Disposition: form-data; ", head, "\r\n\r\n");
    request.body.append(content).append("\r\n");
  };
  if (wanted.language) part("name=\"language\"", *wanted.language);
  part("name=\"file\"; filename=\"recording\"", sound);
  request.body += cat("--", boundary, "--\r\n");
  return request;
}

HttpRequest embed_request(const Json& arguments) {
  return post("/v1/embeddings", {{"input", EmbedToolArguments::fields().read(arguments).texts}});
}

HttpRequest classify_request(const Json& arguments) {
  const ClassifyToolArguments wanted = ClassifyToolArguments::fields().read(arguments);
  OrderedJson body = {{"input", wanted.texts}, {"several", wanted.several}};
  if (!wanted.labels.empty()) body["labels"] = wanted.labels;
  return post("/v1/classify", body);
}

OrderedJson text_result(std::string text) {
  return {{"content", OrderedJson::array({{{"type", "text"}, {"text", std::move(text)}}})}};
}

OrderedJson chat_result(const OrderedJson& response) {
  const OrderedJson& content = response["choices"][0]["message"]["content"];
  return text_result(content.is_string() ? content.get<std::string>() : "");
}

OrderedJson transcribe_result(const OrderedJson& response) { return text_result(response["text"]); }

// Once for programs, and once as text for those that read no more.
OrderedJson structured_result(OrderedJson value) {
  OrderedJson result = text_result(to_text(value));
  result["structuredContent"] = std::move(value);
  return result;
}

OrderedJson embed_result(const OrderedJson& response) {
  OrderedJson vectors = OrderedJson::array();
  for (const OrderedJson& each : response["data"]) vectors.push_back(each["embedding"]);
  return structured_result({{"embeddings", std::move(vectors)}});
}

OrderedJson classify_result(const OrderedJson& response) {
  return structured_result({{"labels", response["labels"]}, {"results", response["data"]}});
}

}  // namespace

const std::vector<McpTool>& mcp_tools() {
  static const std::vector<McpTool> tools = {
      {"chat", "Ask a language model that runs on this machine.", schema_of<ChatArguments>, nullptr, chat_request,
       chat_result},
      {"transcribe", "Write down what is said in a recording.", schema_of<TranscribeToolArguments>,
       &McpOffer::transcribes, transcribe_request, transcribe_result},
      {"embed", "Turn texts into vectors, which are close where meanings are.", schema_of<EmbedToolArguments>,
       &McpOffer::embeds, embed_request, embed_result},
      {"classify", "Tell which labels fit texts, and how well.", schema_of<ClassifyToolArguments>,
       &McpOffer::classifies, classify_request, classify_result}};
  return tools;
}

const McpTool* find_mcp_tool(std::string_view name, const McpOffer& offer) {
  for (const McpTool& tool : mcp_tools()) {
    if (tool.name == name) return !tool.needs || offer.*tool.needs ? &tool : nullptr;
  }
  return nullptr;
}

}  // namespace wick
