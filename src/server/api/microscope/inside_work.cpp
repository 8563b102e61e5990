#include "server/api/microscope/inside_work.h"

#include <algorithm>
#include <condition_variable>
#include <numeric>

#include "base/json_write.h"
#include "base/utf8.h"
#include "engine/text/chat_prompt.h"
#include "interp/patching.h"
#include "interp/probes/logit_lens.h"
#include "interp/probes/vocab_row.h"
#include "interp/run_with_cache.h"
#include "interp/sweep.h"
#include "interp/text_measures.h"
#include "server/api/api.h"
#include "server/api/chat/chat_job.h"
#include "server/api/generation/answer_writer.h"
#include "server/api/generation/caller_share.h"
#include "server/api/json_copy.h"
#include "server/api/microscope/inside_answers.h"
#include "server/api/microscope/inspect_hooks.h"
#include "server/http/valid_text.h"

namespace wick {
namespace {

constexpr int64_t kMostLensBytes = int64_t{1} << 30;  // of the residual stream, all layers
constexpr std::chrono::milliseconds kPoll{50};

// An answer of the engine, waited for.
struct EngineAnswer {
  std::mutex mutex;
  std::condition_variable news;
  bool is_over = false;
  std::string text;
  std::optional<Error> error;

  void hear(const RequestEvent& event) {
    const std::lock_guard lock(mutex);
    if (event.kind == RequestEvent::Kind::kError) error = *event.error;
    if (event.kind == RequestEvent::Kind::kEnd) {
      text = event.result->text;
      if (event.result->reason == StopReason::kCancelled)
        error = Error(ErrorCode::kInternal, "the request was cancelled");
    }
    is_over = is_over || event.kind == RequestEvent::Kind::kEnd || event.kind == RequestEvent::Kind::kError;
    news.notify_all();
  }
};

}  // namespace

InsideWork::InsideWork(Inspector& inspector, std::shared_ptr<TextEngine> engine, std::shared_ptr<HttpExchange> exchange,
                       Caller caller)
    : inspector_(inspector),
      engine_(std::move(engine)),
      exchange_(std::move(exchange)),
      caller_(std::move(caller)),
      tokenizer_(engine_->model().tokenizer()),
      model_(inspector.model_of(engine_, [client = exchange_.get()] { return client->is_closed(); })) {}

std::vector<int32_t> InsideWork::tokens_of(const TextRequest& text, const std::string& place) const {
  if (text.prompt.has_value() + text.tokens.has_value() + text.messages.has_value() != 1) {
    throw RequestError(place + "prompt",
                       cat("one of ", place, "prompt, ", place, "tokens and ", place, "messages is expected"));
  }
  const int64_t most = std::min(InspectLimits::kTokens, engine_->context());
  std::vector<int32_t> tokens;
  if (text.prompt) {
    EncodeOptions enough;
    enough.most = static_cast<size_t>(most);
    tokens = tokenizer_.encode(*text.prompt, enough);
  } else if (text.tokens) {
    tokens = *text.tokens;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokenizer_.has(tokens[i]) && tokens[i] < model_.facts().vocabulary) continue;
      throw RequestError(place + "tokens",
                         cat(place, "tokens[", i, "] is ", tokens[i], ", which is no token of the model"));
    }
  } else {
    const TextModel& model = engine_->model();
    if (!model.chat_template()) throw RequestError(place + "messages", cat(model.name(), " has no chat template"));
    check_messages(*text.messages, place + "messages");
    for (const ChatMessage& message : *text.messages) {
      if (!message.content || message.content->parts.empty()) continue;
      throw RequestError(place + "messages", cat(place, "messages show a picture, and only text is looked into"),
                         "unsupported_value");
    }
    ChatInput input;
    input.messages = template_messages(*text.messages, *model.chat_template());
    tokens = make_chat_prompt(model, input, most).tokens;
  }
  if (tokens.empty()) throw RequestError(place + "prompt", cat(place, "prompt has no tokens"));
  if (std::ssize(tokens) > most) {
    throw RequestError(place + "prompt",
                       cat(place, "prompt takes at least ", tokens.size(), " tokens, allowed are ", most),
                       "context_length_exceeded");
  }
  return tokens;
}

HookSpec InsideWork::hooks_of(const InsideRequest& wanted, std::span<const int32_t> tokens, int64_t more) const {
  ChangedText text{std::ssize(tokens), std::min(std::ssize(tokens) + more, engine_->context())};
  CachedRun source;
  if (wanted.source) {
    const std::vector<int32_t> other = tokens_of(*wanted.source, "source.");
    check_same_length(other, tokens);
    CaptureOptions capture;
    capture.points = patched_sites(wanted);
    capture.logits = LogitRows::kNone;
    for (const std::string& site : capture.points) checked_site(site, model_, "edits");
    if (!capture.points.empty()) source = run_with_cache(model_, other, capture);
    text.source = &source.cache;
  }
  HookSpec spec;
  add_changes(spec, wanted, model_, text, inspector_.shelf(), {});
  return spec;
}

void InsideWork::check_followed(int64_t count) {
  if (count <= InspectLimits::kFollowed) return;
  throw RequestError("follow", cat("follow has ", count, " entries, allowed are ", InspectLimits::kFollowed));
}

void InsideWork::lens(const LensRequest& wanted) {
  const std::vector<int32_t> tokens = tokens_of(wanted, {});
  check_followed(std::ssize(wanted.follow));
  const InterpFacts& facts = model_.facts();
  const int64_t rows = (facts.layers + 2) * std::ssize(tokens);
  if (rows * facts.hidden * 4 > kMostLensBytes) {
    throw RequestError("prompt", cat("the residual stream of ", tokens.size(), " tokens takes ",
                                     rows * facts.hidden * 4, " bytes, allowed are ", kMostLensBytes));
  }
  LensOptions options;
  options.positions = positions_from_start(wanted.positions, {std::ssize(tokens), std::ssize(tokens)}, "positions");
  options.top = wanted.top;
  options.follow = wanted.follow;
  options.hooks = hooks_of(wanted, tokens);
  if (wanted.stream) {
    options.progress = [this](int64_t done, int64_t total) {
      send_event(cat(R"({"type":"progress","done":)", done, R"(,"total":)", total, "}"));
    };
  }
  std::string answer = lens_json(logit_lens(model_, tokens, options), tokens, options, tokenizer_);
  if (!wanted.stream) return send(std::move(answer));
  answer.pop_back();  // the line end
  send_event(cat(R"({"type":"lens",)", std::string_view(answer).substr(1)));
  finish_events();
}

void InsideWork::attention(const AttentionRequest& wanted) {
  const std::vector<int32_t> tokens = tokens_of(wanted, {});
  const InterpFacts& facts = model_.facts();
  check_layer(model_, wanted.layer);
  const std::vector<int>& layers = facts.attention_layers;
  if (std::find(layers.begin(), layers.end(), wanted.layer) == layers.end()) {
    throw RequestError("layer", cat("layer ", wanted.layer, " has no attention heads"));
  }
  std::vector<int> heads = wanted.heads;
  for (const int head : heads) check_head(model_, head);
  if (std::ssize(heads) > facts.heads)
    throw RequestError("heads", cat("heads has more than the ", facts.heads, " there are"));
  if (heads.empty()) {
    heads.resize(static_cast<size_t>(facts.heads));
    std::iota(heads.begin(), heads.end(), 0);
  }
  const HookSpec hooks = hooks_of(wanted, tokens);
  const InterpText text{tokens, &hooks};
  CaptureOptions capture;
  capture.points = {hook_name(HookPoint::kAttnPattern, wanted.layer)};
  capture.logits = LogitRows::kNone;
  const CachedRun run = run_with_cache(model_, std::span(&text, 1), capture);
  send(attention_json(run.cache.at(capture.points.front()), wanted.layer, heads, tokens, tokenizer_));
}

void InsideWork::norms(const InsideRequest& wanted) {
  const std::vector<int32_t> tokens = tokens_of(wanted, {});
  send(norms_json(residual_norms(model_, tokens, hooks_of(wanted, tokens)), tokens, tokenizer_));
}

void InsideWork::heads(const InsideRequest& wanted) {
  const std::vector<int32_t> tokens = tokens_of(wanted, {});
  send(heads_json(head_scores(model_, tokens, hooks_of(wanted, tokens)), tokens, tokenizer_));
}

std::string InsideWork::continue_text(std::span<const int32_t> tokens, const HookSpec& hooks, int64_t count) const {
  EngineRequest request;
  request.prompt.assign(tokens.begin(), tokens.end());
  request.params.max_new_tokens = count;
  request.params.sampling.temperature = 0;
  request.hooks = hooks;
  compute_for(caller_, request);
  const auto answer = std::make_shared<EngineAnswer>();
  const auto id = engine_->submit(std::move(request), [answer](const RequestEvent& event) { answer->hear(event); });
  if (!id) throw RequestError({}, "There are too many requests waiting; try again later.", "rate_limit_exceeded", 429);
  std::unique_lock lock(answer->mutex);
  bool is_cancelled = false;
  while (!answer->news.wait_for(lock, kPoll, [&] { return answer->is_over; })) {
    if (is_cancelled || !(exchange_->is_closed() || inspector_.is_stopping())) continue;
    is_cancelled = true;
    lock.unlock();
    engine_->cancel(*id);
    lock.lock();
  }
  if (answer->error) throw *answer->error;
  return answer->text;
}

std::string InsideWork::outcome(std::span<const int32_t> tokens, const HookSpec& hooks, const RunRequest& wanted,
                                std::span<const float> logits) const {
  std::string out = cat(R"({"next":)", next_tokens_json(logits, wanted.top, tokenizer_), R"(,"text":)");
  append_json_text(out,
                   valid_text(wanted.max_tokens > 0 ? continue_text(tokens, hooks, wanted.max_tokens) : std::string()));
  return out += '}';
}

void InsideWork::run(const RunRequest& wanted) {
  const std::vector<int32_t> tokens = tokens_of(wanted, {});
  const HookSpec hooks = hooks_of(wanted, tokens, wanted.max_tokens);
  const std::vector<float> plain = last_logits(model_, tokens), edited = last_logits(model_, tokens, hooks);
  const double kl = kl_divergence(VocabRow(plain), VocabRow(edited));
  const std::string as_it_is = outcome(tokens, {}, wanted, plain);
  const std::string changed = hooks.empty() ? as_it_is : outcome(tokens, hooks, wanted, edited);
  send(cat("{", text_json(tokens, tokenizer_), R"(,"plain":)", as_it_is, R"(,"edited":)", changed, R"(,"kl":)",
           to_text(kl), "}\n"));
}

void InsideWork::send(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  exchange_->send(std::move(response));
}

void InsideWork::send_event(std::string event) {
  std::string line = cat("data: ", event, "\n\n");
  if (has_begun_) return exchange_->write(std::move(line));
  has_begun_ = true;
  HttpResponse head = event_stream_head();
  head.body = std::move(line);
  exchange_->begin(std::move(head));
}

void InsideWork::finish_events() {
  exchange_->write("data: [DONE]\n\n");
  exchange_->finish();
}

void InsideWork::fail(const std::exception_ptr& error) {
  HttpResponse response = inspector_.is_stopping() ? api_error_response(std::make_exception_ptr(RequestError(
                                                         {}, "The server is shutting down.", "shutting_down", 503)))
                                                   : api_error_response(error);
  if (!has_begun_) return exchange_->send(std::move(response));
  exchange_->write(cat("data: ", response.body.substr(0, response.body.find('\n')), "\n\n"));
  exchange_->finish();
}

}  // namespace wick
