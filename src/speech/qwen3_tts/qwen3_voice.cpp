#include "speech/qwen3_tts/qwen3_voice.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numbers>

#include "base/error.h"
#include "base/machine.h"
#include "base/philox.h"
#include "base/text.h"
#include "base/utf8.h"
#include "engine/compute_mutex.h"
#include "formats/model_label.h"

namespace wick {
namespace {

constexpr int64_t kMostContext = 16384;  // positions of a sentence: more than twenty minutes
constexpr int64_t kMostKvBytes = int64_t{2} << 30;
constexpr size_t kAhead = 2;  // sentences that are made while one is heard
// Of text, in bytes: short sentences are spoken together, which sounds better and has fewer joints.
constexpr size_t kLeastPiece = 80, kMostPiece = 500;
// Nobody speaks as slowly as this: what goes on for longer has lost its way.
constexpr int64_t kFramesPerToken = 25, kFramesBeside = 100;
constexpr double kShortestClip = 0.5, kLongestClip = 60;      // seconds
constexpr float kSilence = 1e-3f;                             // the loudest sample of a clip that nobody speaks in
constexpr double kFadeSeconds = 0.005, kPauseSeconds = 0.12;  // where two pieces meet

TtsSampling read_sampling(const std::filesystem::path& folder) {
  TtsSampling sampling;
  const std::filesystem::path path = folder / "generation_config.json";
  std::error_code ignored;
  if (!exists(path, ignored)) return sampling;
  const Json json = Json::load(path);
  sampling.temperature = json.get("do_sample", true) ? json.get("temperature", sampling.temperature) : 0;
  sampling.top_k = json.get("top_k", sampling.top_k);
  sampling.top_p = json.get("top_p", sampling.top_p);
  sampling.repetition_penalty = json.get("repetition_penalty", sampling.repetition_penalty);
  sampling.group_temperature =
      json.get("subtalker_dosample", true) ? json.get("subtalker_temperature", sampling.group_temperature) : 0;
  sampling.group_top_k = json.get("subtalker_top_k", sampling.group_top_k);
  sampling.group_top_p = json.get("subtalker_top_p", sampling.group_top_p);
  sampling.max_frames = std::max<int64_t>(1, json.get("max_new_tokens", sampling.max_frames + 1) - 1);
  return sampling;
}

Tokenizer load_words(const std::filesystem::path& folder, const TtsConfig& config) {
  Tokenizer tokenizer = Tokenizer::load(folder);
  if (tokenizer.vocab_size() > config.text_vocabulary) {
    throw Error(ErrorCode::kBadFile, cat(folder, ": the tokenizer has ", tokenizer.vocab_size(),
                                         " tokens, the model knows ", config.text_vocabulary));
  }
  for (const std::string_view token : {"<|im_start|>", "<|im_end|>"}) {
    if (!tokenizer.id_of(token)) {
      throw Error(ErrorCode::kBadFile, cat(folder, ": the tokenizer has no token '", token, "'"));
    }
  }
  return tokenizer;
}

constexpr std::string_view kBefore = "<|im_start|>assistant\n", kBehind = "<|im_end|>\n";
constexpr size_t kTokensBefore = 3, kTokensBehind = 2, kTokensLast = 3;

// A raised cosine from 0 to 1.
float fade(size_t i, size_t count) {
  return static_cast<float>(
      0.5 - 0.5 * std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count)));
}

}  // namespace

struct Qwen3Voice::Clone final : ClonedVoice {
  const Qwen3Voice* made_by = nullptr;
  Tensor voice;
  std::vector<int32_t> text, codes;  // empty: only the voice
};

// Pieces of a text, a few of which are made while the first is heard.
class Qwen3Voice::SpokenText final : public Speech {
 public:
  SpokenText(const Qwen3Voice& on, std::vector<std::string> pieces, const SpeakOptions& options)
      : on_(on),
        pieces_(std::move(pieces)),
        options_(options),
        shared_(on.shared_input(options)),
        fade_(static_cast<size_t>(kFadeSeconds * on.facts_.sample_rate)),
        pause_(static_cast<size_t>(kPauseSeconds * on.facts_.sample_rate)) {
    for (const std::string& piece : pieces_) letters_ += piece.size();
    submit();
  }
  ~SpokenText() override {
    for (const auto& piece : going_) on_.engine_->cancel(piece->id);
  }

  double done() const override {
    return letters_ > 0 ? static_cast<double>(spoken_) / static_cast<double>(letters_) : 1;
  }

  std::vector<float> read(size_t most) override {
    while (ready_.size() == given_ && !going_.empty()) step();
    const size_t count = std::min(most, ready_.size() - given_);
    const auto begin = ready_.begin() + static_cast<ptrdiff_t>(given_);
    std::vector<float> samples(begin, begin + static_cast<ptrdiff_t>(count));
    given_ += count;
    if (given_ == ready_.size()) {
      ready_.clear();
      given_ = 0;
    }
    return samples;
  }

 private:
  // A piece that is made; the engine's thread and the reader's share it.
  struct Piece {
    std::mutex mutex;
    std::condition_variable news;
    std::vector<int32_t> codes;
    bool is_over = false;
    std::optional<Error> error;
    std::optional<StopReason> reason;

    RequestId id = 0;
    size_t letters = 0;
    std::unique_ptr<CodecDecoder> decoder;
    size_t faded = 0;         // samples at its beginning that were faded in
    std::vector<float> held;  // its last samples, which may have to be faded out
    bool has_begun = false;
  };

  void submit() {
    while (next_ < pieces_.size() && going_.size() <= kAhead) {
      const std::string& text = pieces_[next_];
      const auto piece = std::make_shared<Piece>();
      piece->letters = text.size();
      TtsInput input = on_.input_of(text, shared_);
      TtsSampling sampling = on_.sampling_;
      const auto random = philox_block(options_.seed, next_, 2);
      sampling.seed = next_ == 0 ? options_.seed : uint64_t{random[0]} << 32 | random[1];
      if (options_.temperature) sampling.temperature = sampling.group_temperature = *options_.temperature;
      sampling.max_frames = std::min(sampling.max_frames, kFramesBeside + kFramesPerToken * std::ssize(input.text));
      if (options_.most_frames) sampling.max_frames = std::min(sampling.max_frames, *options_.most_frames);
      TtsListener listener;
      listener.frames = [piece](std::span<const int32_t> codes) {
        const std::lock_guard lock(piece->mutex);
        piece->codes.insert(piece->codes.end(), codes.begin(), codes.end());
        piece->news.notify_all();
      };
      listener.over = [piece](StopReason reason, const Error* error) {
        const std::lock_guard lock(piece->mutex);
        piece->is_over = true;
        piece->reason = reason;
        if (error) piece->error = *error;
        piece->news.notify_all();
      };
      TtsPrompt prompt;
      {
        const std::lock_guard computing(compute_mutex());
        prompt = make_tts_prompt(*on_.model_, input);
        piece->decoder = on_.model_->codec().decoder();
        // What comes behind a reference goes on in its sound.
        if (!input.reference_codes.empty()) piece->decoder->push(input.reference_codes);
      }
      const auto id = on_.engine_->submit(std::make_shared<TtsTask>(*on_.runner_, std::move(prompt), sampling,
                                                                    on_.engine_->context(), std::move(listener),
                                                                    options_.client, options_.priority));
      if (!id) throw Error(ErrorCode::kOutOfMemory, "too many texts wait to be spoken; come back later");
      piece->id = *id;
      going_.push_back(piece);
      ++next_;
    }
  }

  // Waits for codes of the first piece, or its end, and makes sound of them.
  void step() {
    const std::shared_ptr<Piece> piece = going_.front();
    std::vector<int32_t> codes;
    bool is_over;
    {
      std::unique_lock lock(piece->mutex);
      piece->news.wait(lock, [&] { return !piece->codes.empty() || piece->is_over; });
      codes.swap(piece->codes);
      is_over = piece->is_over;
      if (piece->error) throw Error(*piece->error);
      if (is_over && piece->reason == StopReason::kCancelled) {
        throw Error(ErrorCode::kInternal, "the speech was cancelled");
      }
    }
    std::vector<float> samples;
    {
      const std::lock_guard computing(compute_mutex());
      if (!codes.empty()) samples = piece->decoder->push(codes);
      if (is_over) {
        const std::vector<float> rest = piece->decoder->finish();
        samples.insert(samples.end(), rest.begin(), rest.end());
      }
    }
    const bool joins_before = spoken_ > 0, joins_behind = going_.size() > 1 || next_ < pieces_.size();
    if (joins_before) {
      for (size_t i = 0; i < samples.size() && piece->faded < fade_; ++i, ++piece->faded) {
        samples[i] *= fade(piece->faded, fade_);
      }
    }
    if (joins_behind) {
      std::vector<float>& held = piece->held;
      held.insert(held.end(), samples.begin(), samples.end());
      const size_t kept = is_over ? 0 : std::min(fade_, held.size());
      if (is_over) {
        const size_t count = std::min(fade_, held.size());
        for (size_t i = 0; i < count; ++i) held[held.size() - 1 - i] *= fade(i, fade_);
        held.insert(held.end(), pause_, 0.0f);
      }
      const auto end = held.end() - static_cast<ptrdiff_t>(kept);
      ready_.insert(ready_.end(), held.begin(), end);
      held.erase(held.begin(), end);
    } else {
      ready_.insert(ready_.end(), samples.begin(), samples.end());
    }
    if (!is_over) return;
    spoken_ += piece->letters;
    going_.pop_front();
    submit();
  }

  const Qwen3Voice& on_;
  std::vector<std::string> pieces_;
  SpeakOptions options_;
  TtsInput shared_;
  size_t fade_, pause_;
  size_t next_ = 0, letters_ = 0, spoken_ = 0;
  std::deque<std::shared_ptr<Piece>> going_;
  std::vector<float> ready_;
  size_t given_ = 0;
};

Qwen3Voice::Qwen3Voice(const std::filesystem::path& path, const ModelOptions& options)
    : model_(Qwen3Tts::load(path, options)),
      tokenizer_(load_words(Checkpoint::open(path).folder(), model_->config())),
      sampling_(read_sampling(Checkpoint::open(path).folder())),
      runner_(std::make_unique<TtsRunner>(*model_)) {
  const int64_t own = model_->talker().facts().max_context;
  EngineOptions engine;
  const int64_t free_bytes = machine_info().memory_available.value_or(kMostKvBytes * 2);
  engine.kv_bytes = std::min(kMostKvBytes, free_bytes / 2);
  engine.prefix_cache = false;  // no two prompts of rows are known to be equal
  engine.max_waiting = 1024;
  engine_ = std::make_unique<Engine>(model_->talker(), engine, own > 0 ? std::min(own, kMostContext) : kMostContext);
  runner_->use(engine_->cache());
  thread_ = std::make_unique<EngineThread>(*engine_);

  const TtsConfig& config = model_->config();
  facts_.label = model_label(path);
  facts_.family = "qwen3_tts";
  facts_.sample_rate = model_->codec().facts().sample_rate;
  for (const auto& [name, id] : config.speakers) facts_.voices.push_back(name);
  std::vector<std::string> dialects;
  for (const auto& [speaker, dialect] : config.dialects) dialects.push_back(dialect);
  for (const auto& [name, id] : config.languages) {
    if (name.find("_dialect") == std::string::npos) facts_.languages.push_back(name);
  }
  facts_.clones = config.kind == TtsKind::kBase;
  facts_.designs = config.kind == TtsKind::kVoiceDesign;
  facts_.takes_instructions = facts_.designs || (config.kind == TtsKind::kCustomVoice && !config.is_small);
  facts_.parameters = model_->parameters();
  facts_.weight_bytes = model_->weight_bytes();
}

Qwen3Voice::~Qwen3Voice() = default;

std::vector<int32_t> Qwen3Voice::encode(std::string_view text) const {
  EncodeOptions options;
  options.add_special = false;
  const std::vector<int> ids = tokenizer_.encode(text, options);
  return {ids.begin(), ids.end()};
}

void Qwen3Voice::check_plain(std::string_view text, const char* what) const {
  if (!is_utf8(text)) throw Error(ErrorCode::kInvalidArgument, cat(what, " is not valid UTF-8"));
  for (const AddedToken& token : tokenizer_.added_tokens()) {
    if (token.special && text.find(token.content) != std::string_view::npos) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat(what, " spells the control token ", token.content, ", which cannot be spoken"));
    }
  }
}

TtsInput Qwen3Voice::input_of(std::string_view piece, const TtsInput& shared) const {
  const std::vector<int32_t> ids = encode(cat(kBefore, piece, kBehind, kBefore));
  TtsInput input = shared;
  if (ids.size() <= kTokensBefore + kTokensBehind + kTokensLast) {
    throw Error(ErrorCode::kInvalidArgument, "there is no text to say");
  }
  input.role.assign(ids.begin(), ids.begin() + kTokensBefore);
  input.text.assign(ids.begin() + kTokensBefore, ids.end() - static_cast<ptrdiff_t>(kTokensBehind + kTokensLast));
  return input;
}

// All but the text.
TtsInput Qwen3Voice::shared_input(const SpeakOptions& options) const {
  const auto bad = [&](const std::string& what) {
    return Error(ErrorCode::kInvalidArgument, cat(facts_.label, " ", what));
  };
  const TtsConfig& config = model_->config();
  TtsInput input;
  std::string speaker;
  switch (config.kind) {
    case TtsKind::kCustomVoice:
      if (options.clone) throw bad("speaks with voices of its own; Qwen3-TTS Base models clone one");
      speaker = options.voice.empty() ? facts_.voices.front() : tts_speaker(config, options.voice);
      input.speaker = config.speakers.at(speaker);
      if (!options.description.empty() && config.is_small) throw bad("takes no instructions; the larger model does");
      break;
    case TtsKind::kVoiceDesign:
      if (options.clone || !options.voice.empty()) {
        throw bad("has no voices by name; describe one, such as \"a calm old man\"");
      }
      break;
    case TtsKind::kBase: {
      if (!options.voice.empty()) throw bad("has no voices by name; give a clip of the one to speak with");
      if (!options.description.empty()) throw bad("takes no descriptions; give a clip of the voice to speak with");
      const auto* clone = dynamic_cast<const Clone*>(options.clone.get());
      if (!clone || clone->made_by != this) throw bad("needs a clip of the voice to speak with");
      input.voice = clone->voice;
      input.reference_text = clone->text;
      input.reference_codes = clone->codes;
      break;
    }
  }
  input.language = tts_language(config, options.language, speaker);
  if (!options.description.empty()) {
    check_plain(options.description, "the description");
    input.instruction = encode(cat("<|im_start|>user\n", options.description, kBehind));
  }
  input.streams_text = !options.whole_text;
  return input;
}

std::unique_ptr<Speech> Qwen3Voice::speak(std::string_view text, const SpeakOptions& options) const {
  check_plain(text, "the text");
  std::vector<std::string> pieces = speakable_pieces(text, kLeastPiece, kMostPiece);
  if (pieces.empty()) throw Error(ErrorCode::kInvalidArgument, "there is nothing to say: the text has no words");
  return std::make_unique<SpokenText>(*this, std::move(pieces), options);
}

std::shared_ptr<const ClonedVoice> Qwen3Voice::clone(std::span<const float> samples,
                                                     std::string_view transcript) const {
  const auto bad = [](const std::string& what) { return Error(ErrorCode::kInvalidArgument, what); };
  if (!model_->speaker_encoder()) {
    throw Error(ErrorCode::kUnsupported, cat(facts_.label, " does not clone voices; Qwen3-TTS Base models do"));
  }
  const double seconds = static_cast<double>(samples.size()) / facts_.sample_rate;
  if (seconds < kShortestClip || seconds > kLongestClip) {
    throw bad(cat("the clip of the voice takes ", std::round(seconds * 100) / 100, " seconds, expected ", kShortestClip,
                  " to ", kLongestClip));
  }
  float loudest = 0;
  for (const float sample : samples) {
    if (!std::isfinite(sample)) throw bad("the clip of the voice has a sample that is no number");
    loudest = std::max(loudest, std::abs(sample));
  }
  if (loudest < kSilence) throw bad("the clip of the voice is silent");
  check_plain(transcript, "the transcript of the clip");
  auto made = std::make_shared<Clone>();
  made->made_by = this;
  const std::lock_guard computing(compute_mutex());
  made->voice = (*model_->speaker_encoder())(samples);
  if (transcript.find_first_not_of(" \n\t\r") == std::string_view::npos) return made;
  const std::vector<int32_t> ids = encode(cat(kBefore, transcript, kBehind));
  made->text.assign(ids.begin() + kTokensBefore, ids.end() - kTokensBehind);
  made->codes = model_->codec().encode(samples);
  return made;
}

}  // namespace wick
