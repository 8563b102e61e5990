#pragma once

#include <csignal>
#include <iterator>

namespace wick {

// While it lives, Ctrl-C and a request to end are noted and can be asked for; one more than `patience` of them ends the
// program at once. One at a time.
class InterruptWatch {
 public:
  explicit InterruptWatch(int patience = 1);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  int signal() const;  // the last one; 0: none

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM};
  void (*previous_[std::size(kSignals)])(int);
};

// While it lives, SIGHUP does not end the program but can be asked for. One at a time.
class ReloadWatch {
 public:
  ReloadWatch();
  ~ReloadWatch();
  ReloadWatch(const ReloadWatch&) = delete;
  ReloadWatch& operator=(const ReloadWatch&) = delete;

  bool take();  // whether there was one since the last call

 private:
  void (*previous_)(int);
};

}  // namespace wick
