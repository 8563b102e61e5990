#include "wick/text.h"

#include "base/error.h"
#include "base/json.h"
#include "engine/text/conversation.h"
#include "engine/text/generator.h"

namespace wick {
namespace {

GeneratorOptions generator_options(int64_t context) {
  GeneratorOptions options;
  options.context = context;
  return options;
}

LoadOptions load_options(const ModelOptions& options) {
  LoadOptions load;
  static_cast<ModelOptions&>(load) = options;
  return load;
}

GenerateParams generate_params(const TextOptions& options, const TextModel& model) {
  GenerateParams params;
  params.sampling = options.sampling.value_or(model.recommended());
  params.max_new_tokens = options.max_tokens;
  params.stop = options.stop;
  params.hooks = options.hooks;
  params.capture = options.capture;
  if (!options.json_schema.empty() && !options.grammar.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "text options: json_schema and grammar exclude each other");
  }
  if (!options.json_schema.empty()) {
    params.grammar = Grammar::from_json_schema(Json::parse(options.json_schema, "json_schema"), JsonLayout::kOneLine);
  } else if (!options.grammar.empty()) {
    params.grammar = Grammar::from_gbnf(options.grammar);
  }
  return params;
}

// Events that say nothing new to a user are passed over.
bool tell(const GenerateEvent& step, std::string_view text, std::string_view reasoning, TextCallback callback) {
  TextEvent event{TextEvent::Kind::kText, 0, 0, {}, {}};
  event.text = text;
  event.reasoning = reasoning;
  if (step.kind == GenerateEvent::Kind::kPrefill) {
    event.kind = TextEvent::Kind::kPrefill;
    event.done = step.done;
    event.total = step.total;
  } else if (text.empty() && reasoning.empty()) {
    return true;
  }
  return callback(event);
}

constexpr auto kGoOn = [](const TextEvent&) { return true; };

}  // namespace

Model Model::ember(const ModelOptions& options) { return Model(TextModel::ember(load_options(options))); }

Model Model::load(const std::filesystem::path& path, const ModelOptions& options) {
  return Model(TextModel::load(path, load_options(options)));
}

const std::string& Model::name() const { return model_->name(); }
const SamplingParams& Model::recommended() const { return model_->recommended(); }
std::vector<int32_t> Model::encode(std::string_view text) const { return model_->tokenizer().encode(text); }
std::string Model::decode(std::span<const int32_t> tokens) const { return model_->tokenizer().decode(tokens); }

Chat::Chat(const Model& model, int64_t context)
    : conversation_(std::make_unique<Conversation>(model.model_, generator_options(context))) {}
Chat::Chat(Chat&&) noexcept = default;
Chat& Chat::operator=(Chat&&) noexcept = default;
Chat::~Chat() = default;

void Chat::set_system(std::string_view text) { conversation_->set_system(text); }
void Chat::set_tools(std::string_view json) { conversation_->set_tools(Json::parse(json, "tools")); }
void Chat::add(std::string_view role, std::string_view content) { conversation_->add(role, content); }

Answer Chat::ask(std::string_view text, const TextOptions& options) { return ask(text, options, kGoOn); }

Answer Chat::ask(std::string_view text, const TextOptions& options, TextCallback callback) {
  const Reply reply = conversation_->ask(
      text, generate_params(options, conversation_->model()),
      [&](const auto& event) { return tell(event.step, event.delta.content, event.delta.reasoning, callback); });
  return {reply.response, reply.result};
}

Answer Chat::answer(const TextOptions& options) { return answer(options, kGoOn); }

Answer Chat::answer(const TextOptions& options, TextCallback callback) {
  const Reply reply = conversation_->answer(generate_params(options, conversation_->model()), [&](const auto& event) {
    return tell(event.step, event.delta.content, event.delta.reasoning, callback);
  });
  return {reply.response, reply.result};
}

TextGenerator::TextGenerator(const Model& model, int64_t context)
    : generator_(std::make_unique<Generator>(model.model_, generator_options(context))) {}
TextGenerator::TextGenerator(TextGenerator&&) noexcept = default;
TextGenerator& TextGenerator::operator=(TextGenerator&&) noexcept = default;
TextGenerator::~TextGenerator() = default;

Answer TextGenerator::generate(std::string_view prompt, const TextOptions& options) {
  return generate(prompt, options, kGoOn);
}

Answer TextGenerator::generate(std::string_view prompt, const TextOptions& options, TextCallback callback) {
  Answer answer;
  answer.result = generator_->generate(generator_->model().tokenizer().encode(prompt),
                                       generate_params(options, generator_->model()),
                                       [&](const auto& step) { return tell(step, step.text, {}, callback); });
  answer.content = answer.result.text;
  return answer;
}

}  // namespace wick
