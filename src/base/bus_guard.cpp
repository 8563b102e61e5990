#include "base/bus_guard.h"

#ifndef __EMSCRIPTEN__
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#endif

namespace wick {

#ifndef __EMSCRIPTEN__

// Places are never freed, since the handler may look at one at any time: they are used again.
struct BusGuard::Place {
  std::atomic<uintptr_t> begin{0}, end{0};  // equal: free
  std::atomic<bool> has_lost_bytes{false};
  Place* next = nullptr;
};

namespace {

std::atomic<BusGuard::Place*> places{nullptr};
struct sigaction handler_before {};
uintptr_t page_bytes = 4096;

// Of this nothing may wait or allocate.
void on_bus_error(int number, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (BusGuard::Place* place = places.load(); place; place = place->next) {
    const uintptr_t end = place->end.load();
    if (at < place->begin.load() || at >= end) continue;
    const uintptr_t from = at / page_bytes * page_bytes;
    void* const zeros = mmap(reinterpret_cast<void*>(from), end - from, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) break;
    place->has_lost_bytes.store(true);
    return;
  }
  sigaction(number, &handler_before, nullptr);  // the instruction runs again and meets that one
}

void install() {
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &handler_before);
}

}  // namespace

BusGuard::BusGuard(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static const bool is_installed = (install(), true);
  static_cast<void>(is_installed);
  for (place_ = places.load(); place_ && place_->end.load() != 0; place_ = place_->next) continue;
  if (!place_) {
    place_ = new Place;
    place_->next = places.load();
    places.store(place_);
  }
  place_->has_lost_bytes.store(false);
  place_->begin.store(reinterpret_cast<uintptr_t>(bytes.data()));
  place_->end.store(reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()));
}

BusGuard::~BusGuard() {
  if (!place_) return;
  place_->begin.store(UINTPTR_MAX);
  place_->end.store(0);
}

bool BusGuard::has_lost_bytes() const { return place_ && place_->has_lost_bytes.load(); }

#else

BusGuard::BusGuard(std::span<const std::byte>) {}
BusGuard::~BusGuard() = default;
bool BusGuard::has_lost_bytes() const { return false; }

#endif

}  // namespace wick
