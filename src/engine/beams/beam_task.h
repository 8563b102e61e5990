#pragma once

#include <vector>

#include "engine/beams/beams.h"
#include "engine/text/text_source.h"
#include "engine/text/text_task.h"

namespace wick {

// Beam search: of many texts that are followed at once, the likeliest for their length are the answers. They come when
// the search is over.
class BeamTask final : public LanguageTask {
 public:
  // Throws Error(kInvalidArgument) for what can never be generated, and for parameters that say how tokens are drawn.
  BeamTask(const TextTools& tools, EngineRequest wanted, RequestListener listener);

  Client client() const override { return wanted_.client; }
  Priority priority() const override { return wanted_.priority; }
  std::optional<EngineClock::time_point> deadline() const override { return wanted_.deadline; }
  bool shares_prefix() const override { return !source_.is_there(); }
  std::string_view cache_salt() const override { return wanted_.cache_salt; }

  void begin(TaskHost& host) override;
  void settle(TaskHost& host) override;
  bool is_over() const override { return is_over_; }
  void end(StopReason reason) override;
  void fail(const Error& error) override;
  void notify() override { listeners_.notify(); }

  RowsWanted prepare(const Planned& planned) override;
  int64_t take(const Planned& planned, const PartLogits& rows, TaskHost& host) override;
  RecurrentState* encoded() override { return source_.encoded(); }

 private:
  // A text that is over.
  struct Finished {
    Beam beam;
    double score = 0;
    StopReason reason = StopReason::kEndOfText;
  };
  const BeamParams& params() const { return wanted_.params.beams; }
  int64_t steps() const { return beams_.empty() ? 0 : std::ssize(beams_.front().tokens); }
  std::vector<float> score(std::span<const float> logits, std::span<const int32_t> generated) const;
  double final_score(float sum, int64_t tokens) const;
  void step(TaskHost& host);
  void finish(Beam beam, StopReason reason);
  bool is_settled() const;
  void conclude(StopReason reason);
  void emit(int64_t choice, const Finished& finished);

  TextTools tools_;
  EngineRequest wanted_;
  TextSource source_;
  RequestListener first_listener_;  // until it begins
  TextListeners listeners_;
  int64_t most_tokens_;
  int64_t forced_;            // tokens of the prompt that count as generated
  Sequence* base_ = nullptr;  // the prompt
  std::vector<Beam> beams_;
  std::vector<Finished> finished_;  // the best first
  bool is_over_ = false;
  int64_t prompt_done_ = 0;
  std::optional<EngineClock::time_point> started_, first_token_;
};

}  // namespace wick
