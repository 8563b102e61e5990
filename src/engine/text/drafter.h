#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

class Engine;
class KvCache;
class LanguageModel;
class TextModel;
struct EngineOptions;

// What one sequence wants drafted: how its text may go on.
struct Draft {
  std::span<const int32_t> text;
  int64_t most = 0;             // tokens
  std::vector<int32_t> tokens;  // as many or fewer
  // For drafts by the model itself: what it keeps of the sequence (Lookahead::last), and the cache, with blocks for
  // `most` more tokens.
  Tensor last = {};
  std::span<const int32_t> blocks = {};
  const KvCache* cache = nullptr;
};

// Speculative decoding: proposes how texts go on, so that a model can check several tokens in one pass. Wrong drafts
// cost time, never correctness.
class Drafter {
 public:
  virtual ~Drafter() = default;
  // Of all sequences of a pass at once.
  virtual void propose(std::span<Draft> drafts) = 0;
  // Whether it is a part of the model that it drafts for, and needs room in its cache.
  virtual bool is_own() const { return false; }
};

// What followed the last time the text's end occurred in it: the longest end of up to `longest` tokens counts.
class LookupDrafter final : public Drafter {
 public:
  explicit LookupDrafter(int64_t shortest = 2, int64_t longest = 5) : shortest_(shortest), longest_(longest) {}
  void propose(std::span<Draft> drafts) override;

 private:
  std::vector<int32_t> find(std::span<const int32_t> text, int64_t most) const;
  int64_t shortest_, longest_;
};

// The most likely tokens of a smaller model with the same vocabulary, for all sequences in one set of passes. It has an
// engine of its own, whose prefix cache follows what is accepted and what is not.
class ModelDrafter final : public Drafter {
 public:
  // `options`: of the engine that drafts for. Throws Error(kInvalidArgument) when the vocabularies differ.
  ModelDrafter(std::shared_ptr<const TextModel> draft, const TextModel& target, const EngineOptions& options);
  // The same for a model that is known to have the vocabulary.
  ModelDrafter(std::shared_ptr<const LanguageModel> draft, const EngineOptions& options);
  ~ModelDrafter() override;
  void propose(std::span<Draft> drafts) override;

 private:
  std::shared_ptr<const LanguageModel> draft_;
  std::unique_ptr<Engine> engine_;
};

// The layer that a model has for predicting a token further (multi-token prediction), several times over.
class MtpDrafter final : public Drafter {
 public:
  static constexpr int64_t kMost = 3;  // tokens at a time: each is drafted behind the last, and less likely right

  // The model must live longer. Throws Error(kUnsupported) where it was loaded without such a layer.
  explicit MtpDrafter(const LanguageModel& model);
  void propose(std::span<Draft> drafts) override;
  bool is_own() const override { return true; }

 private:
  const LanguageModel& model_;
};

}  // namespace wick
