#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/task.h"

namespace wick {

// The tasks that an engine has, by the requests that listen to them, and those with events to emit. Not thread-safe.
class TaskTable {
 public:
  // Lets a task join an equal one that is being computed.
  bool try_join(Task& task);
  void open(std::shared_ptr<Task> task);
  // The task that a request is, or takes part in; null when it is over.
  std::shared_ptr<Task> find(RequestId id) const;
  void close(const std::shared_ptr<Task>& task);
  // One of several listeners goes.
  void leave(RequestId id) { tasks_.erase(id); }

  void notify_later(std::shared_ptr<Task> task) { to_notify_.push_back(std::move(task)); }
  void notify();

 private:
  std::unordered_map<RequestId, std::shared_ptr<Task>> tasks_;
  std::unordered_multimap<size_t, std::shared_ptr<Task>> by_key_;
  std::vector<std::shared_ptr<Task>> to_notify_;  // once for each pass, in order
};

}  // namespace wick
