#pragma once

#include <functional>
#include <memory>

#include "interp/interp_model.h"
#include "models/language_model.h"
#include "tensor/arena.h"

namespace wick {

struct LanguageInterpOptions {
  DType kv_dtype = DType::kF32;  // of keys and values; f16 is what chats use
  int64_t rows_per_pass = 512;   // tokens of several texts that run together; a text is never cut
  // Runs each pass, which it must call once: a server waits for its turn here, and throws to cancel. May be empty.
  std::function<void(FunctionRef<void()> pass)> around_pass;
};

// Any language model, seen by the tools. Where several texts are the same tokens and edits name their positions, what
// comes before the first of them is computed once. Thread-safe.
class LanguageInterp final : public InterpModel {
 public:
  explicit LanguageInterp(std::shared_ptr<const LanguageModel> model, LanguageInterpOptions options = {});

  const InterpFacts& facts() const override { return facts_; }
  void forward(std::span<const InterpText> texts, LogitRows rows, EachLogits each) const override;
  Tensor project_to_vocab(const Tensor& rows, bool final_norm = true) const override;
  StreamReader reader() const override { return model_->stream_reader(); }
  StreamWriter writer(int layer, HookPoint point) const override;

 private:
  class Passes;

  void run_pass(FunctionRef<void()> pass) const;

  std::shared_ptr<const LanguageModel> model_;
  LanguageInterpOptions options_;
  InterpFacts facts_;
  mutable Arena arena_;
};

// The first position whose row the hooks look at or change: 0 unless all they do is edit positions that they name,
// outside attention maps. `tokens` when they do nothing.
int64_t first_hooked_position(const HookSpec& hooks, int64_t tokens);

}  // namespace wick
