#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/task.h"

namespace wick {

// One of several texts that grow beside each other behind one prompt.
struct Beam {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  float sum = 0;
  uint64_t stream = 0;           // of its draws, if there are any
  Sequence* sequence = nullptr;  // null: it is over, or has no token yet
  std::vector<float> next;       // log-probabilities of what may come next; empty: not computed yet

  void append(int32_t token);
};

// A beam with one more token.
struct BeamCandidate {
  size_t beam = 0;
  int32_t token = 0;
  float sum = 0;
};

std::vector<float> log_probabilities(std::vector<float> logits);
// The `each` likeliest tokens of every beam, the likeliest of all first; of equal ones those of earlier beams, then
// lower ids. Those that cannot come (-infinity) may be among the last.
std::vector<BeamCandidate> beam_candidates(std::span<const Beam> beams, size_t each);
// The beam that a candidate makes, over.
Beam ended(const Beam& beam, const BeamCandidate& candidate);
// The beams that go on: a beam parts in several where more than one of its candidates is among them, and those that
// have none are dropped. `base`: the sequence of the prompt. Their new tokens are not given to their sequences yet.
std::vector<Beam> follow(std::vector<Beam> beams, std::span<const BeamCandidate> chosen, const Sequence& base,
                         TaskHost& host);
// A sequence that goes on from where another is.
Sequence& fork_of(const Sequence& from, TaskHost& host);
// Each beam's last token goes to its sequence: what comes next is to be computed.
void feed(std::span<Beam> beams, TaskHost& host);
void drop(std::span<Beam> beams, TaskHost& host);
bool are_all_computed(std::span<const Beam> beams);

}  // namespace wick
