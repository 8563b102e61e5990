#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace wick {

class Engine;
class LanguageModel;
class TextModel;
struct EngineOptions;

// What one sequence wants drafted: how its text may go on.
struct Draft {
  std::span<const int32_t> text;
  int64_t most = 0;             // tokens
  std::vector<int32_t> tokens;  // as many or fewer
};

// Speculative decoding: proposes how texts go on, so that a model can check several tokens in one pass. Wrong drafts
// cost time, never correctness. Layers that ship with a model to predict several tokens (MTP) would be one more of
// these.
class Drafter {
 public:
  virtual ~Drafter() = default;
  // Of all sequences of a pass at once.
  virtual void propose(std::span<Draft> drafts) = 0;
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

}  // namespace wick
