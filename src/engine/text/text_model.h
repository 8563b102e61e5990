#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "chat/chat_template.h"
#include "engine/ember.h"
#include "engine/sampling/sampling_params.h"
#include "formats/checkpoint.h"
#include "formats/weights.h"
#include "grammar/token_vocabulary.h"
#include "models/language_model.h"
#include "models/model_options.h"
#include "tokenizer/tokenizer.h"
#include "vision/eyes.h"

namespace wick {

struct LoadOptions : ModelOptions {
  std::string chat_template;  // a built-in template's name instead of the model's own
};

// A language model with everything that belongs to talking to it: tokenizer, chat template, ends of text and the
// sampling its makers recommend. Immutable and thread-safe.
class TextModel {
 public:
  TextModel() = default;
  TextModel(const TextModel&) = delete;
  TextModel& operator=(const TextModel&) = delete;
  ~TextModel();

  // A Hugging Face folder, a .gguf file or a .safetensors file in its folder. Throws Error naming the file and the
  // field at fault; nothing is left behind.
  static std::shared_ptr<const TextModel> load(const std::filesystem::path& path, const LoadOptions& options = {});
  // The same with a loader of its own, for models that take sound, too: what it gives is used as the language model.
  using ModelLoader =
      std::function<std::shared_ptr<const LanguageModel>(const WeightSource& source, const ModelOptions& options)>;
  static std::shared_ptr<const TextModel> load(const std::filesystem::path& path, const LoadOptions& options,
                                               const ModelLoader& loader);
  // Files that are inside this program.
  static std::shared_ptr<const TextModel> built_in(const BuiltInModel& files, const LoadOptions& options,
                                                   const ModelLoader& loader);
  // Ember, the small model inside this program.
  static std::shared_ptr<const TextModel> ember(const LoadOptions& options = {});

  const std::string& name() const { return name_; }
  const LanguageModel& model() const { return *model_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const ChatTemplate* chat_template() const { return chat_ ? &*chat_ : nullptr; }  // null: there is none
  const std::vector<int32_t>& end_tokens() const { return end_tokens_; }
  bool is_end(int32_t token) const;
  // What a model with an encoder begins a text with: its start and `begins_with`, or else what its files force. Throws
  // Error(kInvalidArgument) when there is no such control token.
  std::vector<int32_t> start_tokens(std::string_view begins_with = {}) const;
  const SamplingParams& recommended() const { return recommended_; }
  bool recommends() const { return recommends_; }  // false: the files say nothing about sampling

  // Loads an adapter while the model is used; takes one away, which those who have it keep until they are over. Not
  // from within a pass. What is read before others may compute is read first. Throw as read_lora and AdapterSlots do.
  void load_adapter(const LoraChoice& lora) const;
  bool unload_adapter(std::string_view name) const;
  // Whether it reads pictures: it has the weights and the files for that.
  bool sees() const;
  // What reads them. Throws Error(kUnsupported) when it does not, and what the files are at fault of.
  const Eyes& eyes() const;

  // Moves the weights into large pages in the background, once: faster for all who compute more than a few tokens,
  // while the first ones need not wait for it.
  void use_large_pages() const;

  // Why logits may have become NaN: "tensor 'x' has nan at index 7", or nothing. Reads all weights.
  std::string describe_bad_weight() const;

  // The vocabulary as grammars see it; made when first asked for.
  std::shared_ptr<const TokenVocabulary> grammar_vocabulary() const;

 private:
  struct Files;
  static std::shared_ptr<const TextModel> assemble(Files files, const LoadOptions& options, const ModelLoader& loader);
  void read_ends(const Json& config, const Json& generation, bool infer);
  void read_recommended(const Json& generation);
  void read_starts(const Json& config, const Json& generation);

  std::string name_;
  Checkpoint checkpoint_;
  std::shared_ptr<const LanguageModel> model_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ChatTemplate> chat_;
  std::vector<int32_t> end_tokens_;
  std::vector<int32_t> start_, forced_start_;  // of models with an encoder
  SamplingParams recommended_;
  bool recommends_ = false;
  std::filesystem::path folder_;  // of the processor's files; empty: there are none
  mutable std::unique_ptr<const Eyes> eyes_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const TokenVocabulary> grammar_vocabulary_;
  bool computes_from_files_ = false;  // weights are where the files are mapped
  mutable std::once_flag large_pages_once_;
  mutable std::atomic<bool> is_ending_ = false;
  mutable std::thread large_pages_;
};

}  // namespace wick
