#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/task.h"
#include "models/model_options.h"

namespace wick {

struct VoiceFacts {
  std::string label;   // the folder's name
  std::string family;  // "qwen3_tts"
  int sample_rate = 0;
  std::vector<std::string> voices;     // by name; empty: the model has none of its own
  std::vector<std::string> languages;  // those that can be asked for; it finds out by itself, too
  bool clones = false;                 // speaks as somebody in a clip does
  bool designs = false;                // speaks as is described in words
  bool takes_instructions = false;     // how to speak, beside a voice
  int64_t parameters = 0, weight_bytes = 0;
};

// A voice taken from a clip, for the model that made it.
class ClonedVoice {
 public:
  virtual ~ClonedVoice() = default;
};

struct SpeakOptions {
  std::string voice;        // a name; empty: the first, of models that have some
  std::string description;  // of the voice, for models that design one; elsewhere how to speak
  std::shared_ptr<const ClonedVoice> clone;
  std::string language;  // empty or "auto": found out
  uint64_t seed = 0;     // the same seed, the same speech
  std::optional<float> temperature;
  std::optional<int64_t> most_frames;  // of one sentence
  bool whole_text = true;              // a sentence is known before it is spoken
  Client client;
  Priority priority = Priority::kNormal;
};

// Speech on its way, mono at VoiceFacts::sample_rate. What comes out does not depend on how it is read. One thread at a
// time; whoever lets go of it cancels what was not spoken yet.
class Speech {
 public:
  virtual ~Speech() = default;
  // Waits for samples and gives those there are, at most `most`; none at the end. Throws what the model threw.
  virtual std::vector<float> read(size_t most) = 0;
  virtual double done() const = 0;  // the share of the text that was spoken, 0 to 1
};

// A model that speaks. Any number of threads may use one at once; each text is spoken as it would be alone.
class SpeechSynthesizer {
 public:
  virtual ~SpeechSynthesizer() = default;
  virtual const VoiceFacts& facts() const = 0;
  // Begins to speak, sentence by sentence. The synthesizer must live longer. Throws Error(kInvalidArgument) for a text
  // without words, one that spells control tokens, and voices and languages that there are not, with those there are.
  virtual std::unique_ptr<Speech> speak(std::string_view text, const SpeakOptions& options) const = 0;
  // The voice of a clip (mono at the model's rate); with what is said in it, its way of speaking, too. Throws
  // Error(kInvalidArgument) for clips that are silent, too short or too long, Error(kUnsupported) for models that do
  // not clone.
  virtual std::shared_ptr<const ClonedVoice> clone(std::span<const float> samples,
                                                   std::string_view transcript) const = 0;
};

// The model in a folder. Throws Error naming the file and the field at fault, Error(kUnsupported) for models that do
// not speak.
std::shared_ptr<const SpeechSynthesizer> load_voice(const std::filesystem::path& path,
                                                    const ModelOptions& options = {});
bool is_voice(const std::filesystem::path& path);

// A text in pieces that are spoken one after the other: whole sentences of at least `least` letters together and at
// most `most`, unless one alone is longer, which is cut between words. Pieces without letters or digits are left out.
std::vector<std::string> speakable_pieces(std::string_view text, size_t least, size_t most);

}  // namespace wick
