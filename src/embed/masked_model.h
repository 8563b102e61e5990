#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "embed/encode_texts.h"
#include "tokenizer/tokenizer.h"

namespace wick {

struct Guess {
  int32_t token = 0;
  double probability = 0;
};

// An encoder with the head it was trained with: which token stands where its text has a mask. Immutable and
// thread-safe.
class MaskedModel {
 public:
  // A Hugging Face folder of ...ForMaskedLM, or one that has such a head beside others. Throws Error naming the file
  // and the field at fault, Error(kUnsupported) for encoders whose head is not known.
  static std::shared_ptr<const MaskedModel> load(const std::filesystem::path& path, const ModelOptions& options = {});

  const std::string& name() const { return name_; }
  const TextEncoder& encoder() const { return *encoder_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const std::string& mask() const { return mask_; }  // as texts spell it: "[MASK]"

  // Throws Error(kInvalidArgument) for texts without a mask, and for long ones.
  EncoderInput read(std::string_view text) const;
  std::vector<int64_t> masks(const EncoderInput& text) const;  // their places among the tokens

  // What the head makes of rows of the last layer: f32 [rows, vocabulary] on the host. Rows of the residual stream
  // before are treated as if they were the last: behind the norm that stands behind all layers, where there is one.
  Tensor logits(const Tensor& rows, bool of_stream = false) const;
  // The likeliest tokens of each mask, the likeliest first.
  std::vector<std::vector<Guess>> fill(const EncoderInput& text, size_t most) const;
  // What each layer's stream would say already (a logit lens): [layers + 1][masks], of the embeddings first.
  std::vector<std::vector<std::vector<Guess>>> lens(const EncoderInput& text, size_t most) const;

 private:
  MaskedModel() = default;
  void load_head(const WeightSource& source, WeightLoader& loader);
  std::vector<std::vector<Guess>> guesses(const Tensor& rows, size_t most, bool of_stream) const;

  std::string name_, mask_;
  int mask_id_ = 0;
  std::unique_ptr<TextEncoder> encoder_;
  std::unique_ptr<EncoderPasses> passes_;
  std::optional<Tokenizer> tokenizer_;
  Linear dense_, vocabulary_;  // dense_ undefined: none
  Norm norm_;
  Activation activation_ = Activation::kGelu;
};

}  // namespace wick
