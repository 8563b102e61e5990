#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/text/drafter.h"
#include "tensor/dtype.h"

namespace wick {

enum class SchedulePolicy : uint8_t { kFirstCome, kPriority };

struct EngineOptions {
  int64_t context = 0;           // tokens of one sequence; 0: the model's context, at most kDefaultContext
  int64_t kv_bytes = 0;          // for keys and values; 0: from the memory that is free
  DType kv_dtype = DType::kF16;  // f32, f16, bf16 or i8
  int64_t swap_bytes = -1;       // for keys and values of preempted sequences; -1: a quarter of kv_bytes
  int64_t max_running = 64;      // sequences
  int64_t max_waiting = 256;     // requests; one more is turned away
  int64_t max_batch_tokens = 512;
  SchedulePolicy policy = SchedulePolicy::kPriority;
  double first_token_seconds = 0.25, next_token_seconds = 0.04;  // what passes are cut for; 0: passes may take any time
  bool prefix_cache = true;
  int64_t state_tokens = 256;  // of a prompt, between two places where a recurrent model's state is kept; 0: nowhere
  bool joins_equal = true;     // equal requests are computed once
  bool locks_compute = true;   // waits for others that compute; not for whoever is part of another's pass
  // Makes what drafts for the texts of the model; they are the same. Empty: nobody does.
  std::function<std::unique_ptr<Drafter>(const TextModel& model)> drafter;
  int64_t draft_tokens = 8;  // at most, at a time, per sequence
};

}  // namespace wick
