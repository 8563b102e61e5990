#include "speech/whisper/whisper_recognizer.h"

#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "formats/model_label.h"
#include "speech/whisper/whisper_run.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

Json load_if_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? Json::load(path) : Json();
}

WhisperTokens tokens_of(const Tokenizer& tokenizer, const Whisper& model, const Json& generation) {
  const int64_t vocabulary = model.config().vocabulary;
  const bool english = is_english_vocabulary(vocabulary);
  const bool one_language = generation.is_object() ? !generation.get("is_multilingual", !english) : english;
  return WhisperTokens::find(tokenizer, vocabulary, model.config().source_positions + 1, one_language);
}

// Heads that follow the sound. Where nobody says which: all of the upper half.
std::vector<CrossDecoder::Head> alignment_heads_of(const Whisper& model, const Json& generation) {
  const WhisperConfig& config = model.config();
  std::vector<CrossDecoder::Head> heads;
  const Json* given = generation.is_object() ? generation.find("alignment_heads") : nullptr;
  if (given && !given->is_null()) {
    for (const auto& pair : given->to<std::vector<std::vector<int64_t>>>()) {
      const bool is_head = pair.size() == 2 && pair[0] >= 0 && pair[0] < config.decoder_layers && pair[1] >= 0 &&
                           pair[1] < config.decoder_heads;
      if (!is_head) throw Error(ErrorCode::kBadFile, cat(given->place(), " names a head that the model does not have"));
      heads.push_back({pair[0], pair[1]});
    }
  }
  for (int64_t layer = config.decoder_layers / 2; heads.empty() && layer < config.decoder_layers; ++layer) {
    for (int64_t head = 0; head < config.decoder_heads; ++head) heads.push_back({layer, head});
  }
  return heads;
}

// What was heard is different in each window, so that no text begins like another.
EngineOptions engine_options() {
  constexpr int64_t kMostKvBytes = int64_t{2} << 30;
  EngineOptions options;
  options.kv_bytes = std::min(kMostKvBytes, machine_info().memory_available.value_or(kMostKvBytes * 2) / 2);
  options.max_waiting = 1 << 20;  // who waits for a window asks for no other
  options.first_token_seconds = options.next_token_seconds = 0;
  options.prefix_cache = false;
  return options;
}

}  // namespace

std::shared_ptr<const SpeechRecognizer> WhisperRecognizer::load(const fs::path& path, const ModelOptions& options) {
  const WeightSource source(Checkpoint::open(path));
  const Checkpoint& checkpoint = source.checkpoint();
  std::unique_ptr<const Whisper> model = Whisper::load(source, options);
  std::string label = model_label(path);
  const bool ggml = checkpoint.kind() == Checkpoint::Kind::kGgmlWhisper;
  Tokenizer tokenizer = ggml ? ggml_tokenizer(*checkpoint.files().front(), model->config().vocabulary)
                             : Tokenizer::load(checkpoint.folder());
  const Json generation = ggml ? Json() : load_if_there(checkpoint.folder() / "generation_config.json");
  std::vector<std::shared_ptr<const MappedFile>> files;
  if (options.quantize == "auto" && options.device == Device::cpu()) files = checkpoint.files();
  return std::make_shared<WhisperRecognizer>(std::move(label), std::move(model), std::move(tokenizer), generation,
                                             std::move(files));
}

WhisperRecognizer::WhisperRecognizer(std::string label, std::unique_ptr<const Whisper> model, Tokenizer tokenizer,
                                     const Json& generation, std::vector<std::shared_ptr<const MappedFile>> files)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      rules_(tokens_of(tokenizer_, *model_, generation), tokenizer_, model_->config().vocabulary, generation),
      files_(std::move(files)) {
  engine_ = std::make_unique<Engine>(model_->decoder(), engine_options(), model_->decoder().facts().max_context);
  alignment_heads_ = alignment_heads_of(*model_, generation);
  facts_.label = std::move(label);
  facts_.family = "whisper";
  facts_.parameters = model_->parameters();
  facts_.weight_bytes = model_->weight_bytes();
  facts_.tells_words = true;
  facts_.translates = !rules_.tokens().english_only;
  if (rules_.tokens().english_only) facts_.languages.emplace_back("en");
  for (const WhisperTokens::Spoken& spoken : rules_.tokens().languages) {
    facts_.languages.emplace_back(spoken.language->code);
  }
}

WhisperRecognizer::~WhisperRecognizer() {
  is_ending_ = true;
  if (large_pages_.joinable()) large_pages_.join();
}

void WhisperRecognizer::run(const std::shared_ptr<Task>& task) const {
  engine_->submit(task);
  engine_->run_until([&] { return task->is_over(); });
}

void WhisperRecognizer::use_large_pages() const {
  if (files_.empty() || !kHasThreads) return;
  std::call_once(large_pages_once_, [this] {
    large_pages_ = std::thread([this] {
      try {
        for (const auto& file : files_) file->use_large_pages(&is_ending_);
      } catch (const Error&) {
        // Slower, not wrong: weights that were not moved are where they were.
      }
    });
  });
}

Recognition WhisperRecognizer::recognize(AudioReader& sound, const RecognizeOptions& options,
                                         RecognizeCallback callback) const {
  return Run(*this, sound, options, callback).run();
}

// Of a stream: what fits the model's window.
double WhisperRecognizer::longest_piece(const RecognizeOptions& options) const {
  constexpr double kWindow = 29;
  return options.piece_seconds > 0 ? std::min(options.piece_seconds, kWindow) : kWindow;
}

}  // namespace wick
