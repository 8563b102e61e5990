#include "engine/beams/beams.h"

#include <algorithm>
#include <utility>

#include "engine/sequence.h"
#include "ops/softmax.h"
#include "tensor/create.h"

namespace wick {
namespace {

// Indices of the largest values, largest first; of equal ones the first.
std::vector<size_t> largest_of(std::span<const float> values, size_t count) {
  std::vector<size_t> best;
  for (size_t i = 0; i < values.size(); ++i) {
    if (best.size() == count && values[i] <= values[best.back()]) continue;
    const auto behind = std::upper_bound(best.begin(), best.end(), values[i],
                                         [&](float value, size_t other) { return value > values[other]; });
    best.insert(behind, i);
    if (best.size() > count) best.pop_back();
  }
  return best;
}

}  // namespace

void Beam::append(int32_t token) {
  const float logprob = next[static_cast<size_t>(token)];
  tokens.push_back(token);
  logprobs.push_back(logprob);
  sum += logprob;
}

std::vector<float> log_probabilities(std::vector<float> logits) {
  const auto count = static_cast<int64_t>(logits.size());
  return log_softmax(from_vector(logits, {1, count}), -1).to_vector<float>();
}

std::vector<BeamCandidate> beam_candidates(std::span<const Beam> beams, size_t each) {
  std::vector<BeamCandidate> candidates;
  for (size_t i = 0; i < beams.size(); ++i) {
    for (const size_t token : largest_of(beams[i].next, each)) {
      candidates.push_back({i, static_cast<int32_t>(token), beams[i].sum + beams[i].next[token]});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const BeamCandidate& a, const BeamCandidate& b) { return a.sum > b.sum; });
  return candidates;
}

Beam ended(const Beam& beam, const BeamCandidate& candidate) {
  Beam over = beam;
  over.append(candidate.token);
  over.sequence = nullptr;
  return over;
}

std::vector<Beam> follow(std::vector<Beam> beams, std::span<const BeamCandidate> chosen, const Sequence& base,
                         TaskHost& host) {
  std::vector<Beam> next;
  std::vector<bool> goes_on(beams.size());
  for (const BeamCandidate& candidate : chosen) {
    Beam beam = beams[candidate.beam];
    beam.append(candidate.token);
    if (!beam.sequence || goes_on[candidate.beam]) {
      beam.sequence = &fork_of(beam.sequence ? *beam.sequence : base, host);
    }
    goes_on[candidate.beam] = true;
    next.push_back(std::move(beam));
  }
  for (size_t i = 0; i < beams.size(); ++i) {
    if (beams[i].sequence && !goes_on[i]) host.drop(*beams[i].sequence);
  }
  return next;
}

Sequence& fork_of(const Sequence& from, TaskHost& host) {
  auto sequence = std::make_unique<Sequence>();
  sequence->tokens = from.tokens;
  return host.fork(from, std::move(sequence));
}

void feed(std::span<Beam> beams, TaskHost& host) {
  for (Beam& beam : beams) {
    beam.next.clear();
    beam.sequence->tokens.push_back(beam.tokens.back());
    host.yielded(*beam.sequence);
  }
}

void drop(std::span<Beam> beams, TaskHost& host) {
  for (Beam& beam : beams) {
    if (beam.sequence) host.drop(*std::exchange(beam.sequence, nullptr));
  }
}

bool are_all_computed(std::span<const Beam> beams) {
  return std::none_of(beams.begin(), beams.end(), [](const Beam& beam) { return beam.next.empty(); });
}

}  // namespace wick
