#include "jinja/budget.h"

#include <utility>

namespace wick::jinja {
namespace {

constexpr int64_t kBytesPerWork = 64, kCharactersPerWork = 8;

std::shared_ptr<Budget>& thread_budget() {
  thread_local std::shared_ptr<Budget> budget;
  return budget;
}

}  // namespace

void Budget::work(int64_t units) {
  work_ += units;
  if (work_ > limits_.work) throw problem("the template does not end within ", limits_.work, " steps");
}

void Budget::require(int64_t bytes) const {
  if (bytes < 0 || bytes > limits_.memory - memory_) {
    throw problem("the template needs more than ", limits_.memory, " bytes of memory");
  }
}

void Budget::take(int64_t bytes) {
  require(bytes);
  memory_ += bytes;
}

BudgetScope::BudgetScope(std::shared_ptr<Budget> budget)
    : previous_(std::exchange(thread_budget(), std::move(budget))) {}

BudgetScope::~BudgetScope() { thread_budget() = std::move(previous_); }

Charge::Charge(int64_t bytes) {
  const std::shared_ptr<Budget>& budget = thread_budget();
  if (!budget) return;
  budget->work(bytes / kBytesPerWork);
  budget->take(bytes);
  budget_ = budget;
  bytes_ = bytes;
}

Charge::~Charge() {
  if (budget_) budget_->give_back(bytes_);
}

void spend_work(int64_t units) {
  if (const auto& budget = thread_budget()) budget->work(units);
}

void spend_work_on_bytes(size_t bytes) { spend_work(1 + static_cast<int64_t>(bytes) / kBytesPerWork); }

void spend_work_on_characters(size_t bytes) { spend_work(1 + static_cast<int64_t>(bytes) / kCharactersPerWork); }

void require_memory(int64_t bytes) {
  if (const auto& budget = thread_budget()) budget->require(bytes);
}

}  // namespace wick::jinja
