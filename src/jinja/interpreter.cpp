#include "jinja/interpreter.h"

#include "base/philox.h"
#include "jinja/block_reference.h"
#include "jinja/builtins/globals.h"
#include "jinja/builtins/python_format.h"
#include "jinja/loop.h"
#include "jinja/objects.h"

namespace wick::jinja {

class Interpreter::Deeper {
 public:
  explicit Deeper(Interpreter& interpreter) : interpreter_(interpreter) {
    const int most = interpreter.budget_->limits().depth;
    if (++interpreter_.depth_ > most) {
      --interpreter_.depth_;
      throw problem("the template goes deeper than ", most, " levels of recursion");
    }
  }
  ~Deeper() { --interpreter_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Interpreter& interpreter_;
};

// Pending output counts as memory until it becomes a value.
class Interpreter::Capture {
 public:
  explicit Capture(Interpreter& interpreter)
      : interpreter_(interpreter), previous_(std::exchange(interpreter.output_, &text)) {}
  ~Capture() {
    interpreter_.output_ = previous_;
    interpreter_.budget_->give_back(static_cast<int64_t>(text.size()));
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::string take() {
    interpreter_.budget_->give_back(static_cast<int64_t>(text.size()));
    return std::exchange(text, {});
  }

  std::string text;

 private:
  Interpreter& interpreter_;
  std::string* previous_;
};

Interpreter::Interpreter(const Dict& variables, const Blocks& blocks, std::function<LocalTime()> clock,
                         std::shared_ptr<Budget> budget)
    : variables_(variables),
      blocks_(blocks),
      clock_(std::move(clock)),
      budget_(std::move(budget)),
      root_(std::make_shared<Scope>(nullptr)),
      scope_(root_) {}

Interpreter::~Interpreter() {
  // Everything is emptied while all of it is still held here, so nothing is freed by long recursion.
  root_->variables.clear();
  for (const auto& object : kept_) object->forget();
  for (const auto& scope : kept_scopes_) scope->variables.clear();
}

void Interpreter::keep(std::shared_ptr<Scope> scope) {
  for (; scope && !scope->kept; scope = scope->parent) {
    scope->kept = true;
    kept_scopes_.push_back(scope);
  }
}

std::string Interpreter::render(const Body& body) {
  Capture capture(*this);
  execute(body);
  return capture.take();
}

Value Interpreter::evaluate(const Expression& expression) {
  const Deeper deeper(*this);
  budget_->work(1);
  return expression.evaluate(*this);
}

Flow Interpreter::execute(const Body& body) {
  const Deeper deeper(*this);
  for (const StatementPtr& statement : body) {
    budget_->work(1);
    line_ = statement->line;
    const Flow flow = statement->execute(*this);
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

std::string Interpreter::capture(const Body& body, std::shared_ptr<Scope> scope) {
  Capture capture(*this);
  const Enter enter(*this, std::move(scope));
  execute(body);
  return capture.take();
}

void Interpreter::write(std::string_view text) {
  const auto most = static_cast<size_t>(budget_->limits().output);
  if (text.size() > most || output_->size() > most - text.size()) {
    throw problem("the template writes more than ", most, " bytes");
  }
  budget_->take(static_cast<int64_t>(text.size()));
  output_->append(text);
}

void Interpreter::write(const Value& value) {
  if (autoescape) {
    write(escape(value).bytes());
  } else if (value.is_text()) {
    write(value.bytes());
  } else {
    write(std::string_view(to_text(value)));
  }
}

Value Interpreter::lookup(std::string_view name) {
  budget_->work(static_cast<int64_t>(name.size() / 64));
  for (const Scope* scope = scope_.get(); scope; scope = scope->parent.get()) {
    budget_->work(static_cast<int64_t>(scope->variables.size() / 16));
    if (const Value* value = scope->find(name)) return *value;
  }
  if (name == "self") return Value(std::make_shared<TemplateReference>(blocks_));
  if (const Value* value = variables_.find(name)) return *value;
  if (auto value = global_function(name)) return *value;
  return Value::undefined_name(name);
}

void Interpreter::assign(const Expression& target, const Value& value) {
  if (const auto* name = dynamic_cast<const Name*>(&target)) {
    budget_->work(static_cast<int64_t>(scope_->variables.size() / 16));
    scope_->set(name->name, value);
    return;
  }
  if (const auto* field = dynamic_cast<const NamespaceField*>(&target)) {
    const Value holder = lookup(field->name);
    auto* space = holder.object_as<Namespace>();
    if (!space) throw problem("cannot assign attribute on non-namespace object '", field->name, "'");
    space->set(field->field, value);
    return;
  }
  const auto& names = dynamic_cast<const ListLiteral&>(target).items;
  const auto items = iterate(value);
  if (items->values.size() != names.size()) {
    throw problem(items->values.size() < names.size() ? "not enough" : "too many", " values to unpack (expected ",
                  names.size(), ", got ", items->values.size(), ")");
  }
  for (size_t i = 0; i < names.size(); ++i) assign(*names[i], items->values[i]);
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  const Deeper deeper(*this);
  if (callee.is_undefined()) use_of_undefined(callee);
  if (!callee.is_object()) throw problem("'", callee.type_name(), "' object is not callable");
  const Value alive = callee;  // a macro may replace the variable that holds it
  return alive.as_object().call(*this, arguments);
}

void Interpreter::run_loop(const ForStatement& loop, const Value& iterable, int depth,
                           const std::shared_ptr<Scope>& outer) {
  auto items = iterate(iterable);
  if (loop.test) {
    std::vector<Value> chosen;
    for (const Value& item : items->values) {
      const Enter enter(*this, std::make_shared<Scope>(outer));
      assign(*loop.target, item);
      if (evaluate(*loop.test).truthy()) chosen.push_back(item);
    }
    items = make_items(std::move(chosen));
  }
  const auto state =
      std::make_shared<Loop>(items, depth, loop.recursive ? &loop : nullptr, loop.recursive ? outer : nullptr);
  keep_loop(*this, state);
  for (size_t i = 0; i < items->values.size(); ++i) {
    budget_->work(1);
    state->set_index(i);
    const Enter enter(*this, std::make_shared<Scope>(outer));
    scope_->set("loop", Value(std::static_pointer_cast<Object>(state)));
    assign(*loop.target, items->values[i]);
    if (execute(loop.body) == Flow::kBreak) break;
  }
  if (items->values.empty() && !loop.otherwise.empty()) {
    const Enter enter(*this, std::make_shared<Scope>(outer));
    execute(loop.otherwise);
  }
}

std::string Interpreter::run_loop_captured(const ForStatement& loop, const Value& iterable, int depth,
                                           const std::shared_ptr<Scope>& outer) {
  Capture capture(*this);
  const Enter enter(*this, outer);
  run_loop(loop, iterable, depth, outer);
  return capture.take();
}

uint64_t Interpreter::next_random() { return philox_block(0, random_++)[0]; }

}  // namespace wick::jinja
