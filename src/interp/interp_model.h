#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "hooks/sequence_hooks.h"
#include "models/stream_weights.h"
#include "tensor/tensor.h"

namespace wick {

// What the tools of this folder need to know of a model.
struct InterpFacts {
  std::string family;
  int layers = 0;
  int64_t hidden = 0, vocabulary = 0;
  int64_t max_context = 0;            // 0: any
  int64_t heads = 0;                  // of each layer with attention; 0: none has
  std::vector<int> attention_layers;  // those whose attention has heads
};

// One text of a pass, with hooks of its own. What it points to must outlive the pass.
struct InterpText {
  std::span<const int32_t> tokens;
  const HookSpec* hooks = nullptr;  // null: none
  HookCache* cache = nullptr;       // where the captures of `hooks` go; may be null
};

enum class LogitRows : uint8_t { kNone, kLast, kAll };

// A model as the tools see it. Whoever implements this gets all of them; LanguageInterp does for language models.
class InterpModel {
 public:
  virtual ~InterpModel() = default;

  virtual const InterpFacts& facts() const = 0;

  // Runs texts, several at a time, each from its first token and as if it were alone, bit for bit. Hooks see the rows
  // of a text in one piece; a text without captures may be run from the first position that its edits name. `each` gets
  // the number of a text and its logits, f32 [rows, vocabulary] on the host, in order, and is not called for kNone.
  // Throws Error(kInvalidArgument) for empty texts, tokens outside the vocabulary and hooks that do not fit.
  using EachLogits = FunctionRef<void(size_t text, const Tensor& logits)>;
  virtual void forward(std::span<const InterpText> texts, LogitRows rows, EachLogits each) const = 0;

  // The logits [rows, vocabulary] that rows [rows, hidden] of the residual stream, from any layer, would give: behind
  // the last norm, or as they are. Both f32 on the host.
  virtual Tensor project_to_vocab(const Tensor& rows, bool final_norm = true) const = 0;

  // The weights that attribution goes back through. A writer without a linear has no smaller parts.
  virtual StreamReader reader() const = 0;
  virtual StreamWriter writer(int layer, HookPoint point) const = 0;  // kAttnOut or kMlpOut

  // One text: logits [rows, vocabulary], undefined for kNone.
  Tensor run(std::span<const int32_t> tokens, const HookSpec& hooks = {}, LogitRows rows = LogitRows::kAll,
             HookCache* cache = nullptr) const;
};

// Throw Error(kInvalidArgument) with both numbers when there is no such layer, head, position or token. A position
// below zero counts from the end; check_position gives it counted from the start.
void check_layer(const InterpModel& model, int layer);
void check_head(const InterpModel& model, int head);
int64_t check_position(int64_t position, size_t tokens);
void check_token(const InterpModel& model, int32_t token);
// The same for the layers that hooks name.
void check_hooks(const InterpModel& model, const HookSpec& hooks);
// Has a pass fail with Error(kInvalidArgument) when it comes to its last norm and did not meet the point of an edit
// that the spec has by now: the model has none, and nothing would be changed.
void require_points(const InterpModel& model, HookSpec& hooks);
// The positions counted from the start; all of them when none are given.
std::vector<int64_t> check_positions(std::span<const int64_t> positions, size_t tokens);

}  // namespace wick
