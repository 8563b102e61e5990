#include "engine/text/generator.h"

#include <exception>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "engine/text/context.h"
#include "nn/kv_blocks_for.h"

namespace wick {

// What callbacks throw must not go through the engine: it is kept until that is done.
class KeptException {
 public:
  // False when the action throws.
  bool guard(FunctionRef<void()> action) {
    try {
      action();
      return true;
    } catch (...) {
      exception_ = std::current_exception();
      return false;
    }
  }
  explicit operator bool() const { return exception_ != nullptr; }
  void throw_again() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::exception_ptr exception_;
};

namespace {

// Memory for one sequence of the context, which nobody else waits for.
EngineOptions engine_options(const TextModel& model, const GeneratorOptions& options) {
  EngineOptions engine;
  engine.context = context_of(model, options.context);
  engine.kv_dtype = options.kv_dtype;
  const ModelFacts facts = model.model().facts();
  engine.kv_bytes = (kv_blocks_for(engine.context) + kv_blocks_for(facts.source_positions)) *
                    KvCache::bytes_per_block(facts.kv_layers, options.kv_dtype);
  engine.max_running = 1;
  if (options.beams > 1) {  // and the prompt
    engine.kv_bytes *= options.beams + 1;
    engine.max_running += options.beams;
  }
  engine.max_batch_tokens = options.prefill_chunk;
  engine.first_token_seconds = engine.next_token_seconds = options.seconds_per_pass;
  engine.state_tokens = 0;
  engine.joins_equal = false;
  return engine;
}

// Logits of all tokens of a text.
class ScoreTask final : public LanguageTask {
 public:
  using Each = FunctionRef<void(int64_t first, std::span<const TokenLogits> rows)>;
  ScoreTask(std::span<const int32_t> tokens, Each each) : tokens_(tokens), each_(each) {}

  bool is_watched() const override { return true; }
  void begin(TaskHost& host) override {
    auto sequence = std::make_unique<Sequence>();
    sequence->tokens.assign(tokens_.begin(), tokens_.end());
    sequence->prompt_tokens = std::ssize(tokens_);
    host.add(std::move(sequence));
  }
  RowsWanted prepare(const Planned& planned) override { return {planned.tokens, 0}; }
  int64_t take(const Planned& planned, const PartLogits& rows, TaskHost&) override {
    std::vector<TokenLogits> all;
    for (int64_t row = 0; row < rows.count.scored; ++row) all.push_back(rows.scored(row));
    const bool goes_on = thrown_.guard([&] { each_(planned.sequence->computed, all); });
    is_over_ = !goes_on || planned.reaches_end();
    return 0;
  }
  void settle(TaskHost&) override {}
  bool is_over() const override { return is_over_; }
  void end(StopReason) override { is_over_ = true; }
  void fail(const Error& error) override {
    thrown_.guard([&] { throw error; });
    is_over_ = true;
  }
  void finish() const { thrown_.throw_again(); }

 private:
  std::span<const int32_t> tokens_;
  Each each_;
  bool is_over_ = false;
  KeptException thrown_;
};

}  // namespace

// Passes events on, until the callback has had enough.
class Generator::Listener {
 public:
  Listener(TextEngine& engine, GenerateCallback callback) : engine_(engine), callback_(callback) {}

  // Steps the engine until the request is over. What was thrown on the way is thrown here.
  GenerateResult run(EngineRequest request) {
    id_ = *engine_.submit(std::move(request), [this](const RequestEvent& event) {
      if (!thrown_.guard([&] { hear(event); })) stop();
    });
    while (!result_ && !error_) engine_.step();
    thrown_.throw_again();
    if (error_) throw *error_;
    return std::move(*result_);
  }

 private:
  void hear(const RequestEvent& event) {
    switch (event.kind) {
      case RequestEvent::Kind::kPrompt: return emit({GenerateEvent::Kind::kPrefill, event.done, event.total});
      case RequestEvent::Kind::kToken: return emit({GenerateEvent::Kind::kToken, 0, 0, event.token, event.text});
      case RequestEvent::Kind::kEnd: return end(event);
      case RequestEvent::Kind::kError: error_ = *event.error;
    }
  }
  void emit(const GenerateEvent& event) {
    if (is_stopped_) return;
    tokens_ += event.token != nullptr;
    text_bytes_ += event.text.size();
    if (!callback_(event)) stop();
  }
  void stop() {
    is_stopped_ = true;
    engine_.cancel(id_);
  }
  void end(const RequestEvent& event) {
    result_ = *event.result;
    std::string_view rest = event.text;
    if (tokens_ < result_->tokens.size()) {  // chosen in the pass that the callback stopped at, or behind it
      result_->tokens.resize(tokens_);
      result_->text.resize(text_bytes_);
      result_->reason = StopReason::kCancelled;
      rest = {};
    }
    if (!thrown_) callback_({GenerateEvent::Kind::kDone, 0, 0, nullptr, rest, &*result_});
  }

  TextEngine& engine_;
  GenerateCallback callback_;
  RequestId id_ = 0;
  bool is_stopped_ = false;
  size_t tokens_ = 0, text_bytes_ = 0;  // emitted
  std::optional<GenerateResult> result_;
  std::optional<Error> error_;
  KeptException thrown_;
};

Generator::Generator(std::shared_ptr<const TextModel> model, const GeneratorOptions& options)
    : engine_(model, engine_options(*model, options)) {}

GenerateResult Generator::generate(std::span<const int32_t> prompt, const GenerateParams& params,
                                   GenerateCallback callback) {
  EngineRequest request;
  request.prompt.assign(prompt.begin(), prompt.end());
  request.params = params;
  request.embeddings = params.embeddings;
  request.begins_with = params.begins_with;
  request.hooks = params.hooks;
  request.capture = {std::shared_ptr<HookCache>(), params.capture};  // the caller's
  request.drafter = {std::shared_ptr<Drafter>(), params.drafter};
  request.draft_tokens = params.draft_tokens;
  return Listener(engine_, callback).run(std::move(request));
}

GenerateResult Generator::generate(std::span<const int32_t> prompt, const GenerateParams& params) {
  return generate(prompt, params, [](const GenerateEvent&) { return true; });
}

void Generator::score(std::span<const int32_t> tokens,
                      FunctionRef<void(int64_t first, std::span<const TokenLogits> rows)> each) {
  if (model().model().facts().source_positions > 0) {
    throw Error(ErrorCode::kUnsupported,
                cat(model().name(), " has an encoder: it continues no text, of which each token could be judged"));
  }
  model().use_large_pages();
  const auto task = std::make_shared<ScoreTask>(check_prompt(model(), tokens, context()), each);
  engine_.submit(task);
  while (!task->is_over()) engine_.step();
  task->finish();
}

}  // namespace wick
