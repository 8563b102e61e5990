#pragma once

#include <span>
#include <vector>

#include "interp/interp_model.h"

namespace wick {

// The length of the residual stream's vectors, f32 [layers + 1, tokens]: what enters each layer, and what leaves the
// last.
Tensor residual_norms(const InterpModel& model, std::span<const int32_t> tokens, const HookSpec& hooks = {});

// -log of the probability of each token given those before it, in nats: value i is of token i + 1. Holds the vocabulary
// for some rows at a time only.
std::vector<double> token_losses(const InterpModel& model, std::span<const int32_t> tokens, const HookSpec& hooks = {});

}  // namespace wick
