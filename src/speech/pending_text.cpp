#include "speech/pending_text.h"

#include <chrono>
#include <thread>

namespace wick {

PendingText::PendingText(TextEngine& engine, EngineRequest request) : engine_(engine) {
  const auto listener = [state = state_](const RequestEvent& event) {
    const std::lock_guard lock(state->mutex);
    state->text += event.text;
    if (event.token) state->logprob_sum += event.token->logprob;
    if (event.result) state->result = *event.result;
    if (event.error) state->error = *event.error;
    state->news.notify_all();
  };
  constexpr std::chrono::milliseconds kPatience{20};
  while (true) {
    if (const auto id = engine_.submit(request, listener)) {
      id_ = *id;
      return;
    }
    std::this_thread::sleep_for(kPatience);
  }
}

PendingText::~PendingText() {
  if (!is_over()) cancel();
}

void PendingText::cancel() { engine_.cancel(id_); }

bool PendingText::is_over() const {
  const std::lock_guard lock(state_->mutex);
  return state_->is_over();
}

std::string PendingText::wait_for_more(size_t seen) const {
  std::unique_lock lock(state_->mutex);
  state_->news.wait(lock, [&] { return state_->is_over() || state_->text.size() > seen; });
  return state_->text;
}

GenerateResult PendingText::result() const {
  std::unique_lock lock(state_->mutex);
  state_->news.wait(lock, [&] { return state_->is_over(); });
  if (state_->error) throw *state_->error;
  return *state_->result;
}

double PendingText::logprob_sum() const {
  const std::lock_guard lock(state_->mutex);
  return state_->logprob_sum;
}

}  // namespace wick
