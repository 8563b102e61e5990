#include "engine/task_table.h"

#include <algorithm>

namespace wick {

bool TaskTable::try_join(Task& task) {
  if (task.key() == 0) return false;
  const auto [first, last] = by_key_.equal_range(task.key());
  const auto found = std::find_if(first, last, [&](const auto& each) { return each.second->try_join(task); });
  if (found == last) return false;
  tasks_.emplace(task.id, found->second);
  return true;
}

void TaskTable::open(std::shared_ptr<Task> task) {
  task->is_open = true;
  if (task->key() != 0) by_key_.emplace(task->key(), task);
  tasks_.emplace(task->id, std::move(task));
}

std::shared_ptr<Task> TaskTable::find(RequestId id) const {
  const auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : found->second;
}

void TaskTable::close(const std::shared_ptr<Task>& task) {
  task->is_open = false;
  if (task->key() == 0) {
    tasks_.erase(task->id);
    return;
  }
  std::erase_if(tasks_, [&](const auto& each) { return each.second == task; });
  const auto [first, last] = by_key_.equal_range(task->key());
  const auto found = std::find_if(first, last, [&](const auto& each) { return each.second == task; });
  if (found != last) by_key_.erase(found);
}

void TaskTable::notify() {
  for (; !to_notify_.empty(); to_notify_.erase(to_notify_.begin())) to_notify_.front()->notify();
}

}  // namespace wick
