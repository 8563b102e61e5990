#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "embed/hidden_rows.h"
#include "embed/sentence_folder.h"
#include "engine/text/text_model.h"
#include "tokenizer/tokenizer.h"

namespace wick {

struct EmbedOptions {
  std::string prompt;      // put before the text, as it is
  bool truncates = false;  // texts that are too long; else they are an error
  // Texts that are too long in parts: their vector is the mean of the parts', each by its tokens, normalised again.
  bool in_parts = false;

  std::string_view is_long_cut() const { return in_parts ? "parts" : truncates ? "cut" : "whole"; }
};

// Texts to vectors: an encoder, or a language model made for it, with its tokenizer, pooling and what else a folder of
// sentence-transformers has.
// Immutable and thread-safe.
class Embedder {
 public:
  // A Hugging Face folder, a .safetensors file in its folder, or a .gguf file. Throws Error naming the file and the
  // field at fault.
  static std::shared_ptr<const Embedder> load(const std::filesystem::path& path, const ModelOptions& options = {});

  const std::string& name() const { return name_; }
  const HiddenRows& rows() const { return *rows_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const SentenceFolder& settings() const { return settings_; }
  int64_t dimensions() const;
  int64_t most_tokens() const { return most_tokens_; }
  // The text of a prompt. Throws Error(kInvalidArgument) listing the names there are.
  const std::string& prompt(const std::string& name) const;

  // Throws Error(kInvalidArgument) for empty texts, and for long ones unless they are to be truncated.
  EncoderInput read(std::string_view text, const EmbedOptions& options = {}) const;
  // The same, in parts where the options say so: each begins with the prompt.
  std::vector<EncoderInput> read_parts(std::string_view text, const EmbedOptions& options) const;
  // f32 [texts, dimensions] on the host. A vector depends on its text alone, bit for bit. Passes take turns with
  // engines, and after each `done` is told how many texts are finished.
  Tensor embed(std::span<const EncoderInput> texts, const std::function<void(int64_t)>& done = {}) const;
  Tensor embed(std::span<const std::string> texts, const EmbedOptions& options = {}) const;
  // One vector for the parts of each text.
  Tensor embed_parts(std::span<const std::vector<EncoderInput>> texts,
                     const std::function<void(int64_t)>& done = {}) const;

 private:
  Embedder() = default;
  std::string name_;
  std::unique_ptr<HiddenRows> rows_;
  std::optional<Tokenizer> tokenizer_;
  SentenceFolder settings_;
  std::vector<Linear> dense_;
  int64_t most_tokens_ = 0;
};

// To length 1; zeros stay.
void normalize(std::span<float> vector);
// The first `dimensions` of each vector, normalised again: what models trained for it (Matryoshka) still tell texts
// apart by. Throws Error(kInvalidArgument) unless there are as many.
Tensor shortened(const Tensor& vectors, int64_t dimensions);
// Of two vectors of one length; 0 where one of them is zero.
double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace wick
