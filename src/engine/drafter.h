#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace wick {

class Generator;
class TextModel;
struct GeneratorOptions;

// Guesses how a text goes on, so that a model can check several tokens in one pass. Wrong guesses cost time, never
// correctness.
class Drafter {
 public:
  virtual ~Drafter() = default;
  // Up to `most` tokens that may follow `text`; fewer or none when there is nothing to go by.
  virtual std::vector<int32_t> propose(std::span<const int32_t> text, int64_t most) = 0;
};

// What followed the last time the text's end occurred in it: the longest end of up to `longest` tokens counts.
class LookupDrafter final : public Drafter {
 public:
  explicit LookupDrafter(int64_t shortest = 2, int64_t longest = 5) : shortest_(shortest), longest_(longest) {}
  std::vector<int32_t> propose(std::span<const int32_t> text, int64_t most) override;

 private:
  int64_t shortest_, longest_;
};

// The most likely tokens of a smaller model with the same vocabulary.
class ModelDrafter final : public Drafter {
 public:
  // Throws Error(kInvalidArgument) when the vocabularies differ.
  ModelDrafter(std::shared_ptr<const TextModel> draft, const TextModel& target, const GeneratorOptions& options);
  ~ModelDrafter() override;
  std::vector<int32_t> propose(std::span<const int32_t> text, int64_t most) override;

 private:
  std::unique_ptr<Generator> generator_;
};

}  // namespace wick
