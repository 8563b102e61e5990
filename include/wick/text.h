#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "chat/response.h"
#include "engine/sampling/sampling_params.h"
#include "engine/text/generate_result.h"
#include "hooks/hook_cache.h"
#include "hooks/hook_spec.h"
#include "models/model_options.h"

namespace wick {

class TextModel;
class Conversation;
class Generator;

// A language model with its tokenizer and chat template. A handle: copies share the model. Thread-safe.
class Model {
 public:
  // Ember, the small model inside the library. Throws Error(kUnsupported) when it was built without it.
  static Model ember(const ModelOptions& options = {});
  // A Hugging Face folder, a .gguf file or a .safetensors file in its folder. Throws Error naming the file and the
  // field at fault.
  static Model load(const std::filesystem::path& path, const ModelOptions& options = {});

  const std::string& name() const;
  const SamplingParams& recommended() const;  // by the model's makers
  std::vector<int32_t> encode(std::string_view text) const;
  std::string decode(std::span<const int32_t> tokens) const;

 private:
  friend class Chat;
  friend class TextGenerator;
  explicit Model(std::shared_ptr<const TextModel> model) : model_(std::move(model)) {}

  std::shared_ptr<const TextModel> model_;
};

// How a text is generated, and what is watched meanwhile.
struct TextOptions {
  std::optional<SamplingParams> sampling;  // empty: what the model's makers recommend
  int64_t max_tokens = -1;                 // -1: until the text ends or the context is full; 0: prefill only
  std::vector<std::string> stop;           // texts that end the answer; they are not part of it
  std::string json_schema;                 // the answer is JSON that satisfies it; empty: any text
  std::string grammar;                     // the same, in GBNF
  HookSpec hooks;                          // what to capture and to change in the forward passes
  HookCache* capture = nullptr;            // where captured values go
};

struct TextEvent {
  enum class Kind : uint8_t { kPrefill, kText };
  Kind kind;
  int64_t done = 0, total = 0;       // kPrefill: tokens of the prompt
  std::string_view text, reasoning;  // kText: what has been added to the answer
};
// Answers false to stop.
using TextCallback = FunctionRef<bool(const TextEvent&)>;

// An answer, taken apart, and how it came about: its tokens, why it ended, how fast it was.
struct Answer : Response {
  GenerateResult result;
};

// A talk with a model, through its chat template. One thread at a time.
class Chat {
 public:
  // Context in tokens; 0: the model's own. Throws Error(kInvalidArgument) when the model has no chat template.
  explicit Chat(const Model& model, int64_t context = 0);
  Chat(Chat&&) noexcept;
  Chat& operator=(Chat&&) noexcept;
  ~Chat();

  void set_system(std::string_view text);
  void set_tools(std::string_view json);  // a list of JSON Schemas of functions
  // A message of any role, e.g. "tool".
  void add(std::string_view role, std::string_view content);

  // A message of the user and its answer. When an error is thrown, the conversation is as it was.
  Answer ask(std::string_view text, const TextOptions& options = {});
  Answer ask(std::string_view text, const TextOptions& options, TextCallback callback);
  // The answer to the messages so far.
  Answer answer(const TextOptions& options = {});
  Answer answer(const TextOptions& options, TextCallback callback);

 private:
  std::unique_ptr<Conversation> conversation_;
};

// Continues texts as they are, without a template. What a prompt and earlier texts begin with in common is not computed
// again. One thread at a time.
class TextGenerator {
 public:
  explicit TextGenerator(const Model& model, int64_t context = 0);
  TextGenerator(TextGenerator&&) noexcept;
  TextGenerator& operator=(TextGenerator&&) noexcept;
  ~TextGenerator();

  Answer generate(std::string_view prompt, const TextOptions& options = {});
  Answer generate(std::string_view prompt, const TextOptions& options, TextCallback callback);

 private:
  std::unique_ptr<Generator> generator_;
};

}  // namespace wick
