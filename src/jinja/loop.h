#pragma once

#include <memory>

#include "jinja/interpreter.h"

namespace wick::jinja {

// The variable `loop` inside a for.
class Loop : public Object {
 public:
  // `recursive`: the statement that loop(items) runs again, or null.
  Loop(std::shared_ptr<const Items> items, int depth, const ForStatement* recursive, std::shared_ptr<Scope> outer)
      : Object(items->depth),
        items_(std::move(items)),
        loop_depth_(depth),
        recursive_(recursive),
        outer_(std::move(outer)) {}

  std::string_view type_name() const override { return "LoopContext"; }
  std::string repr() const override { return cat("<LoopContext ", index_ + 1, "/", length_of_items(), ">"); }
  std::optional<Value> attribute(std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override;
  std::optional<int64_t> length() const override { return length_of_items(); }
  void forget() override;

  void set_index(size_t index) { index_ = static_cast<int64_t>(index); }
  bool is_recursive() const { return recursive_ != nullptr; }
  int64_t length_of_items() const { return static_cast<int64_t>(items_->values.size()); }
  Value neighbour(int64_t offset) const;
  Value cycle(const Arguments& arguments) const;
  bool changed(const Arguments& arguments);

 private:
  std::shared_ptr<const Items> items_;
  int loop_depth_;
  const ForStatement* recursive_;
  std::shared_ptr<Scope> outer_;
  int64_t index_ = 0;
  std::optional<Value> last_changed_;
};

void keep_loop(Interpreter& interpreter, const std::shared_ptr<Loop>& loop);

}  // namespace wick::jinja
