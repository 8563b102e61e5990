#include "cli/terminal/interrupt.h"

namespace wick {
namespace {

volatile std::sig_atomic_t caught = 0;
volatile std::sig_atomic_t patience_left = 0;
volatile std::sig_atomic_t asked_to_reload = 0;

void note(int number) {
  caught = number;
  patience_left = patience_left - 1;
  std::signal(number, patience_left > 0 ? note : SIG_DFL);
}

void note_reload(int number) {
  asked_to_reload = 1;
  std::signal(number, note_reload);
}

}  // namespace

InterruptWatch::InterruptWatch(int patience) {
  caught = 0;
  patience_left = patience;
  for (size_t i = 0; i < std::size(kSignals); ++i) previous_[i] = std::signal(kSignals[i], note);
}

InterruptWatch::~InterruptWatch() {
  for (size_t i = 0; i < std::size(kSignals); ++i) std::signal(kSignals[i], previous_[i]);
}

int InterruptWatch::signal() const { return caught; }

ReloadWatch::ReloadWatch() : previous_(std::signal(SIGHUP, note_reload)) { asked_to_reload = 0; }
ReloadWatch::~ReloadWatch() { std::signal(SIGHUP, previous_); }

bool ReloadWatch::take() {
  if (!asked_to_reload) return false;
  asked_to_reload = 0;
  return true;
}

}  // namespace wick
