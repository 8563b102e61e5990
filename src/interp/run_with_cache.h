#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "interp/activation_cache.h"
#include "interp/interp_model.h"

namespace wick {

// What to keep of a run, and how much of it.
struct CaptureOptions {
  std::vector<std::string> points;  // names of HookSite::parse; "blocks.*." means every layer
  std::vector<int64_t> positions;   // rows to keep, below zero counted from the end of each text; empty: all
  std::vector<size_t> texts;        // of the batch; empty: all
  bool may_lack = false;            // a point that the model does not have is left out; false: it is an error
  LogitRows logits = LogitRows::kLast;
  int64_t most_bytes = int64_t{1} << 30;  // kept in memory
  // Where tensors beyond that go, as safetensors. Empty: they are an Error(kOutOfMemory) instead.
  std::filesystem::path spill;
};

struct CachedRun {
  ActivationCache cache;
  std::vector<Tensor> logits;  // one per text, f32 [rows, vocabulary]; undefined for LogitRows::kNone
};

// Runs texts and keeps what their points show, after the edits of their hooks. Capturing changes no result. Throws
// Error(kInvalidArgument) for layers and positions that are not there and for points that the model does not have.
CachedRun run_with_cache(const InterpModel& model, std::span<const InterpText> texts, const CaptureOptions& options);
// One text, without edits.
CachedRun run_with_cache(const InterpModel& model, std::span<const int32_t> tokens, const CaptureOptions& options);

}  // namespace wick
