#include "server/api/chat/chat_job.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "base/utf8.h"
#include "models/vision/vision_encoder.h"
#include "server/api/chat/shown_pictures.h"
#include "server/api/generation/answer_rules.h"

namespace wick {
namespace {

using jinja::Dict;
using jinja::Value;

constexpr int64_t kMostPixelsEach = 4 << 20;

uint64_t random_seed() {
  thread_local std::mt19937_64 numbers{std::random_device{}()};
  return numbers();
}

template <typename T, typename V>
void set_if(T& target, const std::optional<V>& value) {
  if (value) target = *value;
}

SamplingParams sampling_of(const SamplingRequest& request, const TextModel& model) {
  SamplingParams params = model.recommended();
  set_if(params.temperature, request.temperature);
  set_if(params.top_p, request.top_p);
  set_if(params.top_k, request.top_k);
  set_if(params.min_p, request.min_p);
  set_if(params.typical_p, request.typical_p);
  set_if(params.repetition_penalty, request.repetition_penalty);
  set_if(params.penalty_window, request.penalty_window);
  set_if(params.dry_multiplier, request.dry_multiplier);
  set_if(params.dry_base, request.dry_base);
  set_if(params.dry_allowed_length, request.dry_allowed_length);
  set_if(params.dry_window, request.dry_window);
  set_if(params.dry_breakers, request.dry_breakers);
  set_if(params.xtc_probability, request.xtc_probability);
  set_if(params.xtc_threshold, request.xtc_threshold);
  if (request.mirostat) params.mirostat = request.mirostat->on;
  set_if(params.mirostat_tau, request.mirostat_tau);
  set_if(params.mirostat_eta, request.mirostat_eta);
  return params;
}

EngineRequest engine_request(const ChoicesRequest& request, const TextModel& model) {
  EngineRequest job;
  SamplingParams& sampling = job.params.sampling;
  sampling = sampling_of(request, model);
  set_if(sampling.frequency_penalty, request.frequency_penalty);
  set_if(sampling.presence_penalty, request.presence_penalty);
  for (const auto& [token, bias] : request.logit_bias.entries) {
    sampling.logit_bias.emplace_back(token, bias <= -100 ? -std::numeric_limits<float>::infinity() : bias);
  }
  if (request.seed) {
    sampling.seed = static_cast<uint64_t>(*request.seed);
  } else {
    sampling.seed = sampling.temperature > 0 ? random_seed() : 0;  // without a draw, equal requests stay equal
  }
  job.params.stop = request.stop.texts;
  job.params.ignore_end = request.ignore_eos;
  job.choices = request.n;
  job.priority = priority_named(request.priority).value_or(Priority::kNormal);
  if (request.timeout) {
    job.deadline = EngineClock::now() +
                   std::chrono::duration_cast<EngineClock::duration>(std::chrono::duration<double>(*request.timeout));
  }
  return job;
}

// Tokens of a prompt, at most: of what an encoder reads, or of the context.
int64_t most_prompt_tokens(const TextEngine& engine) {
  const int64_t source = engine.model().model().facts().source_positions;
  return source > 0 ? source : engine.context();
}

void check_length(const std::vector<int32_t>& prompt, const TextEngine& engine, const std::string& param) {
  if (std::ssize(prompt) <= most_prompt_tokens(engine)) return;
  throw RequestError(
      param, cat(param, " takes at least ", prompt.size(), " tokens, but the context is ", most_prompt_tokens(engine)),
      "context_length_exceeded");
}

// Text, or the parts where some are pictures.
Value template_content(const ChatMessage& message) {
  if (!message.content) return Value(message.refusal.value_or(""));
  if (message.content->parts.empty()) return Value(message.content->text);
  std::vector<Value> parts;
  for (const ContentPart& part : message.content->parts) {
    Dict dict;
    const bool is_text = part.kind == ContentPart::Kind::kText;
    dict.set("type", is_text ? "text" : part.kind == ContentPart::Kind::kVideo ? "video" : "image");
    if (is_text) dict.set("text", part.value);
    parts.emplace_back(std::move(dict));
  }
  return Value::list(std::move(parts));
}

Value template_message(const ChatMessage& message, bool knows_developer) {
  Dict dict;
  dict.set("role", message.role == "developer" && !knows_developer ? "system" : message.role);
  dict.set("content", template_content(message));
  if (message.reasoning_content) dict.set("reasoning_content", *message.reasoning_content);
  if (message.name) dict.set("name", *message.name);
  if (message.tool_call_id) dict.set("tool_call_id", *message.tool_call_id);
  std::vector<Value> calls;
  for (const ToolCallRequest& call : message.tool_calls) {
    Dict function, entry;
    function.set("name", call.function.name);
    function.set("arguments", call.function.arguments);
    if (call.id) entry.set("id", *call.id);
    entry.set("type", "function");
    entry.set("function", Value(std::move(function)));
    calls.emplace_back(std::move(entry));
  }
  if (!calls.empty()) dict.set("tool_calls", Value::list(std::move(calls)));
  return dict;
}

void set_variables(const ChatRequest& request, Dict& variables) {
  if (request.reasoning_effort) {
    variables.set("reasoning_effort", *request.reasoning_effort);
    if (*request.reasoning_effort == "none") variables.set("enable_thinking", false);
  }
  if (request.enable_thinking) variables.set("enable_thinking", *request.enable_thinking);
  if (!request.chat_template_kwargs) return;
  for (const auto& [name, value] : request.chat_template_kwargs->as_object()) {
    if (name == "messages" || name == "tools" || name == "documents") {  // where control tokens are looked for
      throw RequestError("chat_template_kwargs", cat("chat_template_kwargs has ", in_quotes(name), ", which is taken"));
    }
    variables.set(name, Value(value));
  }
}

// Whether it wants no reasoning, as some template or other understands it.
bool turns_reasoning_off(const Dict& variables) {
  return std::ranges::any_of(std::array<std::string_view, 2>{"enable_thinking", "thinking"},
                             [&](std::string_view name) {
                               const Value* value = variables.find(name);
                               return value && value->is_bool() && value->as_int() == 0;
                             });
}

// Leaves out the oldest turns until what is left leaves room for an answer: for all that it may take, up to a quarter
// of the context. A turn begins with a message of the user; what stands before the first, and the last turn, stay.
ChatText text_that_fits(const ChatRequest& request, const TextEngine& engine, std::string_view salt) {
  const int64_t context = engine.context();
  const int64_t wanted = request.max_completion_tokens.value_or(request.max_tokens.value_or(context));
  const int64_t most = context - std::min(wanted, context / 4);
  std::vector<size_t> turns;
  for (size_t i = 0; i < request.messages.size(); ++i) {
    if (request.messages[i].role == "user") turns.push_back(i);
  }
  const auto from_turn = [&](size_t turn) {
    if (turn == 0) return chat_text(request, engine.model(), context, salt);
    ChatRequest shorter = request;
    shorter.messages.erase(shorter.messages.begin() + static_cast<ptrdiff_t>(turns.front()),
                           shorter.messages.begin() + static_cast<ptrdiff_t>(turns[turn]));
    return chat_text(shorter, engine.model(), context, salt);
  };
  if (turns.size() < 2) return from_turn(0);
  std::optional<ChatText> longest;  // that fits
  const auto fits = [&](size_t turn) {
    try {
      ChatText text = from_turn(turn);
      if (std::ssize(text.prompt.tokens) > most) return false;
      longest = std::move(text);
      return true;
    } catch (const Error& error) {  // one message alone may be too long
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      return false;
    }
  };
  if (fits(0)) return *std::move(longest);
  size_t low = 1, high = turns.size() - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (fits(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return longest ? *std::move(longest) : from_turn(low);
}

}  // namespace

Value template_messages(const std::vector<ChatMessage>& messages, const ChatTemplate& chat) {
  const bool knows_developer = chat.source().find("developer") != std::string::npos;
  std::vector<Value> list;
  for (const ChatMessage& message : messages) list.push_back(template_message(message, knows_developer));
  return Value::list(std::move(list));
}

ChatText chat_text(const ChatRequest& request, const TextModel& model, std::optional<int64_t> most,
                   std::string_view salt) {
  if (!model.chat_template()) {
    throw RequestError("model", cat(model.name(), " has no chat template; use /v1/completions"), "unsupported_value");
  }
  ChatText text;
  text.offers_tools =
      !request.tools.empty() && !(request.tool_choice && request.tool_choice->mode == ToolChoice::Mode::kNone);
  ChatInput input;
  input.messages = template_messages(request.messages, *model.chat_template());
  if (text.offers_tools) input.tools = Value(request.tool_list);
  set_variables(request, input.variables);
  ChatVisuals visuals;
  visuals.all = shown_in(request.messages);
  visuals.salt = salt;
  const VisionEncoder* vision = model.model().vision();
  // Of models that take any size: what one picture may cost others.
  if (vision && vision->facts().frames_joined > 1) visuals.options.max_pixels = kMostPixelsEach;
  if (!visuals.all.empty() && !model.sees()) {
    throw RequestError("messages", cat(model.name(), " reads no pictures"), "unsupported_value");
  }
  text.prompt = make_chat_prompt(model, input, most, visuals);
  text.is_reasoning_off = turns_reasoning_off(input.variables);
  return text;
}

ChatJob make_chat_job(const ChatRequest& request, const TextEngine& engine, GrammarCache& grammars,
                      std::string_view salt) {
  const TextModel& model = engine.model();
  ChatText text =
      request.truncates ? text_that_fits(request, engine, salt) : chat_text(request, model, engine.context(), salt);
  check_length(text.prompt.tokens, engine, "messages");

  ChatJob job{engine_request(request, model), response_format_of(model, text.prompt.text, text.offers_tools)};
  job.format.is_reasoning_off = job.format.is_reasoning_off || text.is_reasoning_off;
  // Without tools, what looks like a call is text.
  if (!text.offers_tools && job.format.tool_calls != ToolCallShape::kHarmony) {
    job.format.tool_calls = ToolCallShape::kNone;
  }
  AnswerRules rules = answer_rules(request, model, job.format, grammars);
  job.request.prompt = std::move(text.prompt.tokens);
  job.request.embeddings = std::move(text.prompt.embeddings);
  job.request.params.show_special = needs_special(job.format, model.tokenizer());
  job.request.params.grammar = std::move(rules.grammar);
  job.request.params.grammar_start = std::move(rules.start);
  const auto most = request.max_completion_tokens ? request.max_completion_tokens : request.max_tokens;
  job.request.params.max_new_tokens = most.value_or(-1);
  if (request.logprobs) job.request.params.sampling.logprobs = request.top_logprobs.value_or(0);
  return job;
}

std::vector<EngineRequest> make_completion_jobs(const CompletionRequest& request, const TextEngine& engine,
                                                GrammarCache& grammars) {
  const TextModel& model = engine.model();
  EngineRequest plain = engine_request(request, model);
  plain.params.max_new_tokens = request.max_tokens;
  plain.params.sampling.logprobs = request.logprobs;
  request.set_search(plain);
  if (request.echo && model.model().facts().source_positions > 0) {
    throw RequestError("echo",
                       cat("echo is true, but ", model.name(), " has an encoder and does not continue prompts"));
  }
  if (request.echo) plain.prompt_logprobs = request.logprobs;
  if (request.grammar) plain.params.grammar = grammars.gbnf(*request.grammar);
  EncodeOptions enough;
  enough.most = static_cast<size_t>(most_prompt_tokens(engine));
  std::vector<EngineRequest> jobs;
  for (const auto& prompt : request.prompt.prompts) {
    EngineRequest job = plain;
    const auto* text = std::get_if<std::string>(&prompt);
    job.prompt = text ? model.tokenizer().encode(*text, enough) : std::get<std::vector<int32_t>>(prompt);
    check_length(job.prompt, engine, "prompt");
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace wick
