#include "engine/text/text_model.h"

#include <algorithm>
#include <cmath>
#include <future>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "engine/compute_mutex.h"
#include "engine/ember.h"
#include "engine/text/text_files.h"
#include "formats/adapters/lora_file.h"
#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_tokenizer.h"
#include "formats/model_label.h"
#include "models/adapter_slots.h"
#include "models/bad_weight.h"
#include "models/load_model.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

// Tokens that end a turn in one family or another, for files that do not say what ends a text.
constexpr std::string_view kTurnEnds[] = {"<|im_end|>",    "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>",
                                          "<|endoftext|>", "<|return|>", "<|call|>",   "</s>",          "<EOT>"};

void add_ids(std::vector<int32_t>& ids, const Json& json, std::string_view name) {
  const Json* member = json.is_object() ? json.find(name) : nullptr;
  if (!member || member->is_null()) return;
  if (member->is_array()) {
    for (const int32_t id : member->to<std::vector<int32_t>>()) ids.push_back(id);
  } else {
    ids.push_back(member->to<int32_t>());
  }
}

Json load_if_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? Json::load(path) : Json();
}

}  // namespace

// What a model is made of, wherever it lies.
struct TextModel::Files {
  std::string name;
  Checkpoint checkpoint;
  std::function<Tokenizer()> tokenizer;
  std::function<std::optional<ChatTemplate>()> chat;
  Json generation;     // generation_config.json; null when there is none
  fs::path processor;  // the folder of the processor's files; empty: there are none
};

std::shared_ptr<const TextModel> TextModel::load(const fs::path& path, const LoadOptions& options) {
  return load(path, options, load_model);
}

std::shared_ptr<const TextModel> TextModel::load(const fs::path& path, const LoadOptions& options,
                                                 const ModelLoader& loader) {
  Files files;
  files.checkpoint = Checkpoint::open(path);
  const Checkpoint& checkpoint = files.checkpoint;
  const bool gguf = checkpoint.kind() == Checkpoint::Kind::kGguf;
  const fs::path folder = checkpoint.folder();
  files.name = model_label(path);
  if (gguf) {
    files.tokenizer = [checkpoint] {
      return Tokenizer::from_gguf(
          gguf_vocabulary_of(checkpoint.metadata(), checkpoint.files().front()->path().string()));
    };
    files.chat = [checkpoint] { return chat_template_of(checkpoint); };
  } else {
    files.tokenizer = [folder] { return Tokenizer::load(folder); };
    files.chat = [folder] { return ChatTemplate::load(folder); };
    files.generation = load_if_there(folder / "generation_config.json");
    files.processor = folder;
  }
  return assemble(std::move(files), options, loader);
}

std::shared_ptr<const TextModel> TextModel::ember(const LoadOptions& options) {
  return built_in(ember_files(), options, load_model);
}

std::shared_ptr<const TextModel> TextModel::built_in(const BuiltInModel& built_in, const LoadOptions& options,
                                                     const ModelLoader& loader) {
  Files files;
  files.name = built_in.name;
  const auto name_of = [&](std::string_view file) { return cat(built_in.name, "/", file); };
  files.checkpoint = Checkpoint::parse(
      MappedFile::in_memory(name_of("model.safetensors"), std::as_bytes(std::span(built_in.model)), nullptr),
      Json::parse(built_in.config, name_of("config.json")));
  files.tokenizer = [=] { return Tokenizer::from_json(built_in.tokenizer, name_of("tokenizer.json")); };
  files.chat = [=] {
    return ChatTemplate::from_config(Json::parse(built_in.tokenizer_config, name_of("tokenizer_config.json")));
  };
  files.generation = Json::parse(built_in.generation_config, name_of("generation_config.json"));
  return assemble(std::move(files), options, loader);
}

std::shared_ptr<const TextModel> TextModel::assemble(Files files, const LoadOptions& options,
                                                     const ModelLoader& loader) {
  auto model = std::make_shared<TextModel>();
  model->name_ = files.name;
  model->folder_ = files.processor;
  model->checkpoint_ = files.checkpoint;
  // A large vocabulary takes longer to read than the model's tensors: both are read at once.
  std::future<Tokenizer> tokenizer =
      std::async(kHasThreads ? std::launch::async : std::launch::deferred, files.tokenizer);
  const WeightSource source(files.checkpoint);
  model->model_ = loader(source, options);
  model->computes_from_files_ = options.quantize == "auto" && options.device == Device::cpu();
  if (options.chat_template.empty()) {
    model->chat_ = files.chat();
  } else {
    model->chat_ = ChatTemplate::built_in(options.chat_template);
  }
  model->tokenizer_ = tokenizer.get();
  const int64_t rows = model->model_->facts().vocabulary;
  if (model->tokenizer_->vocab_size() > rows) {
    throw Error(ErrorCode::kBadFile, cat(files.name, ": the tokenizer has ", model->tokenizer_->vocab_size(),
                                         " tokens, the model's vocabulary ", rows));
  }
  model->read_ends(text_config(source.config()), files.generation, files.generation.is_null());
  model->read_recommended(files.generation);
  if (model->model_->facts().source_positions > 0) model->read_starts(source.config(), files.generation);
  return model;
}

void TextModel::read_ends(const Json& config, const Json& generation, bool infer) {
  add_ids(end_tokens_, generation, "eos_token_id");
  if (end_tokens_.empty()) add_ids(end_tokens_, config, "eos_token_id");
  if (const auto eos = tokenizer_->special_ids().eos) end_tokens_.push_back(*eos);
  for (const std::string_view piece : kTurnEnds) {
    const auto id = infer ? tokenizer_->id_of(piece) : std::nullopt;
    if (id && tokenizer_->is_special(*id)) end_tokens_.push_back(*id);
  }
  std::sort(end_tokens_.begin(), end_tokens_.end());
  end_tokens_.erase(std::unique(end_tokens_.begin(), end_tokens_.end()), end_tokens_.end());
}

void TextModel::read_starts(const Json& config, const Json& generation) {
  for (const char* name : {"decoder_start_token_id", "bos_token_id"}) {
    for (const Json* json : {&generation, &config}) {
      if (start_.empty()) add_ids(start_, *json, name);
    }
  }
  for (const Json* json : {&generation, &config}) {
    if (forced_start_.empty()) add_ids(forced_start_, *json, "forced_bos_token_id");
  }
  for (const std::vector<int32_t>* ids : {&start_, &forced_start_}) {
    const bool fits = ids->empty() ? ids == &forced_start_
                                   : ids->size() == 1 && ids->front() >= 0 && ids->front() < model_->facts().vocabulary;
    if (fits) continue;
    throw Error(ErrorCode::kBadFile,
                cat(name_, ": '", ids == &start_ ? "decoder_start_token_id" : "forced_bos_token_id",
                    "' is not one token of the vocabulary of ", model_->facts().vocabulary));
  }
}

std::vector<int32_t> TextModel::start_tokens(std::string_view begins_with) const {
  std::vector<int32_t> tokens = start_;
  if (begins_with.empty()) {
    tokens.insert(tokens.end(), forced_start_.begin(), forced_start_.end());
    return tokens;
  }
  const auto id = tokenizer_->id_of(std::string(begins_with));
  if (!id || !tokenizer_->is_special(*id)) {
    throw Error(ErrorCode::kInvalidArgument, cat(name_, " has no control token '", begins_with, "'"));
  }
  tokens.push_back(*id);
  return tokens;
}

void TextModel::read_recommended(const Json& generation) {
  // What reads a text first translates or sums it up: draws are for those that say so.
  const bool has_source = model_->facts().source_positions > 0;
  recommends_ = has_source;
  if (has_source) recommended_.temperature = 0;
  if (!generation.is_object()) return;
  SamplingParams params;
  params.temperature = generation.get("do_sample", !has_source) ? generation.get("temperature", 1.f) : 0.f;
  params.top_k = generation.get<int64_t>("top_k", 0);
  params.top_p = generation.get("top_p", 1.f);
  params.min_p = generation.get("min_p", 0.f);
  params.repetition_penalty = generation.get("repetition_penalty", 1.f);
  check_sampling_params(params, model_->facts().vocabulary);
  recommended_ = params;
  for (const char* name : {"do_sample", "temperature", "top_k", "top_p", "min_p", "repetition_penalty"}) {
    recommends_ = recommends_ || generation.find(name);
  }
}

bool TextModel::sees() const { return model_->vision() && !folder_.empty() && ImageProcessorConfig::is_in(folder_); }

const Eyes& TextModel::eyes() const {
  const std::lock_guard lock(mutex_);
  if (eyes_) return *eyes_;
  if (!model_->vision()) {
    throw Error(ErrorCode::kUnsupported, cat(name_, ", a ", model_->facts().family, ", reads no pictures"));
  }
  eyes_ = std::make_unique<const Eyes>(*model_->vision(), *tokenizer_, folder_, name_);
  return *eyes_;
}

TextModel::~TextModel() {
  is_ending_ = true;
  if (large_pages_.joinable()) large_pages_.join();
}

void TextModel::use_large_pages() const {
  if (!computes_from_files_ || !kHasThreads) return;
  std::call_once(large_pages_once_, [this] {
    large_pages_ = std::thread([this] {
      try {
        for (const auto& file : checkpoint_.files()) file->use_large_pages(&is_ending_);
      } catch (const Error&) {
        // Slower, not wrong: weights that were not moved are where they were.
      }
    });
  });
}

void TextModel::load_adapter(const LoraChoice& lora) const {
  const std::vector<LoraModule> modules = read_lora(lora.path, WeightSource(checkpoint_));
  const std::lock_guard no_passes(compute_mutex());
  model_->adapters().add(modules, lora.scale, lora.name);
}

bool TextModel::unload_adapter(std::string_view name) const {
  const std::lock_guard no_passes(compute_mutex());
  return model_->adapters().remove(name);
}

std::string TextModel::describe_bad_weight() const { return wick::describe_bad_weight(checkpoint_); }

bool TextModel::is_end(int32_t token) const {
  return std::binary_search(end_tokens_.begin(), end_tokens_.end(), token);
}

std::shared_ptr<const TokenVocabulary> TextModel::grammar_vocabulary() const {
  const std::lock_guard lock(mutex_);
  if (grammar_vocabulary_) return grammar_vocabulary_;
  std::vector<std::string> bytes;
  std::vector<int> special;
  for (int id = 0; id < tokenizer_->vocab_size(); ++id) {
    bytes.push_back(tokenizer_->bytes(id));
    if (tokenizer_->is_special(id) && !is_end(id)) special.push_back(id);
  }
  grammar_vocabulary_ = std::make_shared<TokenVocabulary>(std::move(bytes), special, end_tokens_);
  return grammar_vocabulary_;
}

}  // namespace wick
