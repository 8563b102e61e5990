#include "support/known_answers.h"

#include <fstream>

#include "engine/text/chat_prompt.h"
#include "engine/text/generator.h"
#include "server/api/json_copy.h"
#include "support/model_fixtures.h"
#include "support/recorded_exchange.h"
#include "support/tiny_text_models.h"

namespace wick {
namespace {

constexpr char kChat[] = "/v1/chat/completions", kText[] = "/v1/completions", kResponses[] = "/v1/responses";
constexpr uint64_t kSeed = 11;

std::string json_text(std::string_view text) { return OrderedJson(text).dump(); }

// Words of the tiny model's vocabulary.
std::string words(size_t count, uint32_t seed) {
  std::string text;
  for (const int32_t token : some_tokens(count, seed)) text += cat(text.empty() ? "a" : " a", token);
  return text;
}

std::string generate(const std::shared_ptr<const TextModel>& model, const std::vector<int32_t>& prompt, int64_t context,
                     int64_t tokens, float temperature, uint64_t seed) {
  Generator generator(model, {.context = context});
  GenerateParams params;
  params.sampling = model->recommended();
  params.sampling.temperature = temperature;
  params.sampling.seed = seed;
  params.max_new_tokens = tokens;
  return generator.generate(prompt, params).text;
}

int64_t context_of_model(std::string_view name) {
  return name == "tiny" ? KnownAnswers::kTinyContext : KnownAnswers::kEmberContext;
}

std::string sampling_fields(float temperature, int64_t seed) {
  return temperature > 0 ? cat(R"("temperature": )", temperature, R"(, "seed": )", seed) : R"("temperature": 0)";
}

std::vector<std::string> texts_of_stream(std::string_view target, size_t choices, const std::string& stream) {
  std::vector<std::string> texts(choices);
  for (const ServerEvent& event : events_of(stream)) {
    if (event.data == "[DONE]") continue;
    const OrderedJson json = OrderedJson::parse(event.data);
    if (target == kResponses) {
      if (event.name == "response.output_text.delta") texts.at(0) += json.at("delta");
      continue;
    }
    for (const OrderedJson& choice : json.at("choices")) {
      std::string& text = texts.at(choice.at("index"));
      text += target == kChat ? choice.at("delta").value("content", "") : choice.at("text").get<std::string>();
    }
  }
  return texts;
}

bool is_whole_stream(std::string_view target, const std::string& stream) {
  const std::vector<ServerEvent> events = events_of(stream);
  if (events.empty()) return false;
  if (target != kResponses) return events.back().data == "[DONE]";
  return events.back().name == "response.completed" || events.back().name == "response.incomplete";
}

std::string difference(const std::vector<std::string>& actual, const std::vector<std::string>& expected) {
  if (actual == expected) return {};
  return cat("answered ", OrderedJson(actual).dump(), ", alone it was ", OrderedJson(expected).dump());
}

}  // namespace

std::vector<std::string> texts_of(std::string_view target, const std::string& body) {
  const OrderedJson json = OrderedJson::parse(body);
  if (target == "/tokenize") return {json.at("tokens").dump()};
  std::vector<std::string> texts;
  if (target == kResponses) {
    std::string& text = texts.emplace_back();
    for (const OrderedJson& item : json.at("output")) text += item.at("content").at(0).at("text");
    return texts;
  }
  for (const OrderedJson& choice : json.at("choices")) {
    texts.push_back(target == kChat ? choice.at("message").at("content") : choice.at("text"));
  }
  return texts;
}

std::string KnownRequest::body(std::string_view more) const {
  return cat("{", fields, more.empty() ? "" : ", ", more, "}");
}

std::string KnownRequest::problem_of(const HttpAnswer& answer) const {
  if (answer.status != 200) return cat("status ", answer.status, ": ", answer.body);
  try {
    return difference(texts_of(target, answer.body), answers);
  } catch (const OrderedJson::exception& error) {
    return cat(error.what(), " in ", answer.body);
  }
}

std::string KnownRequest::problem_of_stream(const HttpAnswer& answer) const {
  if (answer.status != 200) return cat("status ", answer.status, ": ", answer.body);
  if (!is_whole_stream(target, answer.body)) return cat("the stream has no end: ", answer.body);
  try {
    return difference(texts_of_stream(target, answers.size(), answer.body), answers);
  } catch (const std::exception& error) {
    return cat(error.what(), " in ", answer.body);
  }
}

KnownAnswers::KnownAnswers() {
  write_tiny_text_model("qwen3", folder_.path());
  std::ofstream(folder_.path() / "chat_template.jinja")
      << "{% for message in messages %}a1 {{ message.content }} a3 {% endfor %}a4";
  const auto tiny = TextModel::load(folder_.path()), ember = TextModel::ember();
  tiny_kv_bytes_ =
      KvCache::bytes_per_block(tiny->model().facts().kv_layers, DType::kF16) * (kTinyContext / kKvBlockTokens + 9);
  for (uint32_t i = 0; i < 12; ++i) {
    // Some begin alike, so that they share blocks.
    const std::string prompt = cat(i % 3 ? words(16 * (i % 3), 1) + " " : "", words(1 + 7 * i, i + 2));
    add_completion(tiny, "tiny", prompt, 1 + 3 * i, i % 4 == 3 ? 3 : 1, i % 2 ? 0 : 1);
  }
  for (uint32_t i = 0; i < 6; ++i) add_chat(tiny, "tiny", words(2 + 11 * i, i + 50), 4 + 5 * i, i % 2 ? 0 : 1);
  add_tokens(*tiny, "tiny", words(100, 90));
  add_chat(ember, "ember", "What is 348 plus 275?", 20);
  add_completion(ember, "ember", "Na\xC3\xAFve \xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x94\xA5", 6, 2, 1);
  add_tokens(*ember, "ember", "Na\xC3\xAFve \xE6\x97\xA5\xE6\x9C\xAC and \xF0\x9F\x94\xA5");
  const std::string prompt = words(8, 99);
  long_ = {
      kText, cat(R"("model": "tiny", "prompt": )", json_text(prompt), R"(, "max_tokens": 200, "temperature": 0)"), {}};
  long_.answers.push_back(generate(tiny, tiny->tokenizer().encode(prompt), kTinyContext, 200, 0, 0));
}

void KnownAnswers::add_completion(const std::shared_ptr<const TextModel>& model, std::string_view name,
                                  const std::string& prompt, int64_t tokens, int64_t choices, float temperature) {
  KnownRequest request{kText,
                       cat(R"("model": ")", name, R"(", "prompt": )", json_text(prompt), R"(, "max_tokens": )", tokens,
                           R"(, "n": )", choices, ", ", sampling_fields(temperature, kSeed)),
                       {}};
  for (int64_t i = 0; i < choices; ++i) {
    request.answers.push_back(generate(model, model->tokenizer().encode(prompt), context_of_model(name), tokens,
                                       temperature, kSeed + static_cast<uint64_t>(i)));
  }
  requests_.push_back(std::move(request));
}

// Asked as a chat, and where nothing is drawn as a response, which has no seed.
void KnownAnswers::add_chat(const std::shared_ptr<const TextModel>& model, std::string_view name,
                            const std::string& question, int64_t tokens, float temperature) {
  const std::string messages = cat(R"([{"role": "user", "content": )", json_text(question), "}]");
  ChatInput input;
  input.messages = jinja::Value(Json::parse(messages, "messages"));
  const std::string text =
      generate(model, make_chat_prompt(*model, input).tokens, context_of_model(name), tokens, temperature, kSeed);
  const std::string head = cat(R"("model": ")", name, R"(", )", sampling_fields(temperature, kSeed));
  requests_.push_back({kChat, cat(head, R"(, "messages": )", messages, R"(, "max_tokens": )", tokens), {text}});
  if (temperature > 0) return;
  requests_.push_back(
      {kResponses, cat(head, R"(, "input": )", messages, R"(, "max_output_tokens": )", tokens), {text}});
}

void KnownAnswers::add_tokens(const TextModel& model, std::string_view name, const std::string& text) {
  requests_.push_back({"/tokenize",
                       cat(R"("model": ")", name, R"(", "content": )", json_text(text)),
                       {OrderedJson(model.tokenizer().encode(text)).dump()},
                       false});
}

std::vector<ModelEntry> KnownAnswers::models() const {
  ModelEntry tiny{"tiny", folder_.path(), {}, {}}, ember{"ember", {}, {}, {}};
  tiny.engine.context = kTinyContext;
  tiny.engine.max_running = 6;
  tiny.engine.kv_bytes = tiny_kv_bytes_;
  ember.engine.context = kEmberContext;
  ember.engine.kv_bytes = int64_t{16} << 20;
  return {tiny, ember};
}

}  // namespace wick
