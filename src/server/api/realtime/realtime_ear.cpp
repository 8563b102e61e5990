#include "server/api/realtime/realtime_ear.h"

#include <array>
#include <span>
#include <utility>

#include "base/text.h"
#include "media/pcm.h"
#include "server/api/generation/answer_head.h"
#include "speech/joined_text.h"

namespace wick {
namespace {

constexpr int kHeardRate = 16000;
constexpr size_t kSlice = 20 * kHeardRate;  // bytes; who stops listening waits no longer than one takes

double seconds_of(std::string_view pcm, int rate) { return static_cast<double>(pcm.size()) / (2.0 * rate); }

}  // namespace

RealtimeEar::RealtimeEar(SpeechHost& host, std::string client, std::weak_ptr<EarOwner> owner, EarSettings settings,
                         double most_unheard_seconds)
    : host_(host),
      client_(std::move(client)),
      owner_(std::move(owner)),
      most_unheard_seconds_(most_unheard_seconds),
      pushed_rate_(settings.sample_rate),
      finds_turns_(settings.finds_turns),
      settings_(std::move(settings)) {}

bool RealtimeEar::push(std::string_view pcm) {
  if (pcm.empty()) return true;
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return true;
  unheard_seconds_ += seconds_of(pcm, pushed_rate_);
  if (unheard_seconds_ > most_unheard_seconds_) return false;
  if (next_item_.empty()) next_item_ = make_id("item_");
  if (tasks_.empty() || tasks_.back().kind != Task::Kind::kSound) {
    tasks_.push_back({Task::Kind::kSound, next_item_, {}, {}, {}});
  }
  tasks_.back().pcm += pcm;
  start_work();  // when too many wait, the next sound tries again
  return true;
}

bool RealtimeEar::commit(std::string& item, const std::string& tag) {
  const std::lock_guard lock(mutex_);
  item = std::exchange(next_item_, {});
  return item.empty() || add({Task::Kind::kCommit, item, {}, tag, {}});
}

bool RealtimeEar::set(EarSettings settings) {
  const std::lock_guard lock(mutex_);
  pushed_rate_ = settings.sample_rate;
  if (std::exchange(finds_turns_, settings.finds_turns) != settings.finds_turns) next_item_.clear();
  return add({Task::Kind::kSet, {}, {}, {}, std::move(settings)});
}

bool RealtimeEar::clear() {
  const std::lock_guard lock(mutex_);
  next_item_.clear();
  return add({Task::Kind::kClear, {}, {}, {}, {}});
}

void RealtimeEar::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  tasks_.clear();
}

bool RealtimeEar::add(Task task) {
  if (is_stopped_) return true;
  tasks_.push_back(std::move(task));
  return start_work();
}

bool RealtimeEar::start_work() {
  if (is_working_) return true;
  is_working_ = host_.run(client_, [self = shared_from_this()] { self->work(); });
  return is_working_;
}

// One task per job, so that a session with much to say does not keep others waiting.
void RealtimeEar::work() {
  while (true) {
    Task task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) {
        is_working_ = false;
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    run(task);
    const std::lock_guard lock(mutex_);
    unheard_seconds_ -= seconds_of(task.pcm, settings_.sample_rate);
    if (!tasks_.empty() && host_.run(client_, [self = shared_from_this()] { self->work(); })) return;
  }
}

void RealtimeEar::run(Task& task) {
  try {
    switch (task.kind) {
      case Task::Kind::kSound: return hear(task);
      case Task::Kind::kSet:
        end_stream();
        if (!settings_.finds_turns && task.settings.finds_turns) end_turn();
        break;
      case Task::Kind::kClear: return forget();
      case Task::Kind::kCommit:
        if (settings_.finds_turns) return end_speech(task.tag);
        item_ = task.item;
        if (is_deaf_) return fail(why_deaf_);
        end_stream();
        return end_turn();
    }
  } catch (const std::exception& error) {
    fail(error.what());
  }
  if (task.kind != Task::Kind::kSet) return;
  settings_ = std::move(task.settings);
  is_deaf_ = false;
}

void RealtimeEar::hear(const Task& task) {
  if (is_deaf_) return;
  if (!settings_.finds_turns) item_ = task.item;
  if (!stream_) {
    try {
      stream_ = std::make_unique<SpeechStream>(host_.use(settings_.model), settings_.options, settings_.pauses);
      resampler_ = std::make_unique<Resampler>(settings_.sample_rate, kHeardRate);
    } catch (const std::exception& error) {
      is_deaf_ = true;
      why_deaf_ = error.what();
      return tell([&](EarOwner& owner) { owner.on_deaf(why_deaf_); });
    }
  }
  for (std::string_view rest = task.pcm; !rest.empty() && !is_stopped();) {
    const std::string_view slice = rest.substr(0, kSlice);
    rest.remove_prefix(slice.size());
    feed(slice);
  }
}

void RealtimeEar::feed(std::string_view pcm) {
  std::vector<float> samples(pcm.size() / 2);
  decode_pcm(SampleFormat::kS16, std::as_bytes(std::span(pcm)), samples);
  resampler_->push(samples);
  std::vector<float> heard(samples.size() * kHeardRate / static_cast<size_t>(settings_.sample_rate) + 1024);
  heard.resize(static_cast<size_t>(resampler_->read(heard)));
  stream_->push(heard, [this](const StreamEvent& event) { on_event(event); });
}

void RealtimeEar::end_stream() {
  if (!stream_) return;
  const auto hears = [this](const StreamEvent& event) { on_event(event); };
  resampler_->finish();
  std::array<float, 1024> rest;
  while (const int64_t count = resampler_->read(rest)) {
    stream_->push(std::span(rest).first(static_cast<size_t>(count)), hears);
  }
  stream_->finish(hears);
  before_ += stream_->seconds();
  stream_.reset();
}

// Where turns are found.
void RealtimeEar::end_speech(const std::string& tag) {
  const int64_t before = turns_told_;
  end_stream();
  if (turns_told_ == before) tell([&](EarOwner& owner) { owner.on_silence(tag); });
}

// Between commits.
void RealtimeEar::end_turn() {
  const std::string item = std::exchange(item_, {}), text = std::exchange(text_, {});
  if (!item.empty()) tell([&](EarOwner& owner) { owner.on_heard(item, before_, text); });
}

void RealtimeEar::forget() {
  if (stream_) before_ += stream_->seconds();
  stream_.reset();
  item_.clear();
  text_.clear();
}

void RealtimeEar::on_event(const StreamEvent& event) {
  if (!settings_.finds_turns) {
    switch (event.kind) {
      case StreamEvent::Kind::kSpeech: return;
      case StreamEvent::Kind::kPartial: {
        std::string all = text_;
        JoinedText(all, settings_.options.language).finish(event.text);
        return tell([&](EarOwner& owner) { owner.on_partial(item_, all); });
      }
      case StreamEvent::Kind::kSegment: JoinedText(text_, event.language).finish(event.text); return;
    }
  }
  if (item_.empty()) {  // the first that is told of a piece
    item_ = make_id("item_");
    tell([&](EarOwner& owner) { owner.on_speech(item_, before_ + event.begin); });
  }
  if (event.kind == StreamEvent::Kind::kPartial) {
    tell([&](EarOwner& owner) { owner.on_partial(item_, std::string(event.text)); });
  }
  if (event.kind == StreamEvent::Kind::kSegment) {
    const std::string item = std::exchange(item_, {});
    ++turns_told_;
    tell([&](EarOwner& owner) { owner.on_heard(item, before_ + event.segment->end, std::string(event.text)); });
  }
}

void RealtimeEar::fail(const std::string& message) {
  const std::string item = item_;
  forget();
  tell([&](EarOwner& owner) { owner.on_failed(item, message); });
}

bool RealtimeEar::is_stopped() {
  const std::lock_guard lock(mutex_);
  return is_stopped_;
}

template <typename Tell>
void RealtimeEar::tell(const Tell& tell) {
  if (is_stopped()) return;
  if (const auto owner = owner_.lock()) tell(*owner);
}

}  // namespace wick
