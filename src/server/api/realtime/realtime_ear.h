#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "media/resampler.h"
#include "server/speech_host.h"
#include "speech/speech_stream.h"

namespace wick {

// How a realtime session listens.
struct EarSettings {
  std::string model;
  RecognizeOptions options;
  int sample_rate = 24000;
  bool finds_turns = true;  // at pauses; else a turn is what lies between two commits
  PauseOptions pauses;
};

// Who wants to know what is said. Called on threads of the SpeechHost, one call at a time; times are seconds from the
// beginning of the session.
class EarOwner {
 public:
  virtual ~EarOwner() = default;
  virtual void on_speech(const std::string& item, double begin) = 0;  // only where turns are found
  virtual void on_partial(const std::string& item, const std::string& text) = 0;
  virtual void on_heard(const std::string& item, double end, const std::string& text) = 0;
  virtual void on_failed(const std::string& item, const std::string& message) = 0;  // empty: nobody spoke
  // Where turns are found: a commit with this tag came while nobody spoke.
  virtual void on_silence(const std::string& tag) = 0;
  // The model is not to be had so, and nothing is heard until the settings change.
  virtual void on_deaf(const std::string& message) = 0;
};

// Listens to the sound of one session, on jobs of a SpeechHost: nobody who brings sound waits, and sound that comes
// faster than it is understood is taken in one go. Thread-safe. The SpeechHost must live longer than whoever calls.
class RealtimeEar : public std::enable_shared_from_this<RealtimeEar> {
 public:
  // `client`: whose jobs they are.
  RealtimeEar(SpeechHost& host, std::string client, std::weak_ptr<EarOwner> owner, EarSettings settings,
              double most_unheard_seconds);

  // These return false when the server has no room for it: too much unheard sound, or too many sessions.
  // Samples of 16 bits, little endian, at the sample rate of the settings.
  [[nodiscard]] bool push(std::string_view pcm);
  // What was pushed is a whole. `item` is the name of what it becomes between commits; empty: nothing was pushed.
  [[nodiscard]] bool commit(std::string& item, const std::string& tag);
  [[nodiscard]] bool set(EarSettings settings);
  // Forgets what was pushed and not committed.
  [[nodiscard]] bool clear();
  void stop();  // nothing more is heard

 private:
  struct Task {
    enum class Kind : uint8_t { kSound, kCommit, kSet, kClear };
    Kind kind;
    std::string item;      // of a turn between commits
    std::string pcm;       // kSound
    std::string tag;       // kCommit
    EarSettings settings;  // kSet
  };
  bool add(Task task);
  bool start_work();
  void work();  // on a job
  void run(Task& task);
  void hear(const Task& task);
  void feed(std::string_view pcm);
  bool is_stopped();
  void end_stream();
  void end_speech(const std::string& tag);
  void end_turn();
  void forget();
  void on_event(const StreamEvent& event);
  void fail(const std::string& message);
  template <typename Tell>
  void tell(const Tell& tell);

  SpeechHost& host_;
  const std::string client_;
  std::weak_ptr<EarOwner> owner_;
  const double most_unheard_seconds_;

  std::mutex mutex_;
  std::deque<Task> tasks_;
  bool is_working_ = false, is_stopped_ = false;
  double unheard_seconds_ = 0;
  int pushed_rate_;        // of the settings last set
  bool finds_turns_;       // the same
  std::string next_item_;  // of what was pushed since the last commit; empty: nothing was

  // Of the job
  EarSettings settings_;
  std::unique_ptr<Resampler> resampler_;
  std::unique_ptr<SpeechStream> stream_;  // null: a new one begins with the next sound
  bool is_deaf_ = false;
  int64_t turns_told_ = 0;
  double before_ = 0;  // seconds before this stream
  std::string item_;   // of the turn that is going on
  std::string text_;   // of it so far, between commits
  std::string why_deaf_;
};

}  // namespace wick
