#pragma once

#include <deque>

#include "media/voice_activity.h"

namespace wick {

// Speech is what stands out of the noise: the level of 10 ms against a floor that follows the quietest moment of the
// last 3 s. The score is 0.5 at 9 dB above the floor and moves by 1 over 12 dB. Sound that keeps its level within 6 dB
// for half a second (a fan, hum, a tone) becomes the floor. Needs no model; music and clatter count as speech.
class EnergyScorer : public VoiceScorer {
 public:
  int64_t window() const override { return 160; }
  float score(std::span<const float> samples) override;
  void reset() override { *this = EnergyScorer(); }

 private:
  double level_of(std::span<const float> samples);  // in dB, full scale is 0
  void follow_steady_sound();

  float last_in_ = 0, last_out_ = 0;  // of the filter that takes out rumble
  std::deque<double> energies_;       // of the last few windows, to smooth over
  std::deque<double> levels_;         // of the last 3 s
  int64_t windows_ = 0;
  bool knows_noise_ = false;  // else a quiet room is assumed
};

}  // namespace wick
