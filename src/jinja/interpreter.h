#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/builtins/local_time.h"
#include "jinja/nodes.h"
#include "jinja/scope.h"

namespace wick::jinja {

// One render: variables, output, limits. Errors thrown inside carry no line; `line()` tells where it was.
class Interpreter {
 public:
  Interpreter(const Dict& variables, const Blocks& blocks, std::function<LocalTime()> clock,
              std::shared_ptr<Budget> budget);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  std::string render(const Body& body);
  int line() const { return line_; }

  // Used by nodes.
  Value evaluate(const Expression& expression);
  Flow execute(const Body& body);
  std::string capture(const Body& body, std::shared_ptr<Scope> scope);  // what the body writes
  void write(std::string_view text);
  void write(const Value& value);
  Value lookup(std::string_view name);
  void assign(const Expression& target, const Value& value);
  Value call(const Value& callee, const Arguments& arguments);
  void run_loop(const ForStatement& loop, const Value& iterable, int depth, const std::shared_ptr<Scope>& outer);
  std::string run_loop_captured(const ForStatement& loop, const Value& iterable, int depth,
                                const std::shared_ptr<Scope>& outer);

  // Used by nodes, filters and methods.
  Value attribute(const Value& object, std::string_view name);  // object.name
  Value item(const Value& object, const Value& key);            // object[key]
  LocalTime now() const { return clock_(); }
  uint64_t next_random();

  const std::shared_ptr<Scope>& scope() const { return scope_; }
  const std::shared_ptr<Scope>& root() const { return root_; }
  bool autoescape = false;
  // Closures and namespaces may hold each other: what is kept here is emptied at the end of the render.
  void keep(std::shared_ptr<Object> object) { kept_.push_back(std::move(object)); }
  void keep(std::shared_ptr<Scope> scope);

  // Makes `scope` the current one until the end of the C++ scope.
  class Enter {
   public:
    Enter(Interpreter& interpreter, std::shared_ptr<Scope> scope)
        : interpreter_(interpreter), previous_(std::exchange(interpreter.scope_, std::move(scope))) {}
    ~Enter() { interpreter_.scope_ = std::move(previous_); }
    Enter(const Enter&) = delete;
    Enter& operator=(const Enter&) = delete;

   private:
    Interpreter& interpreter_;
    std::shared_ptr<Scope> previous_;
  };

 private:
  class Deeper;   // counts evaluations inside one another
  class Capture;  // redirects the output

  const Dict& variables_;
  const Blocks& blocks_;
  std::function<LocalTime()> clock_;
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<Scope> root_, scope_;
  std::string* output_ = nullptr;
  std::vector<std::shared_ptr<Object>> kept_;
  std::vector<std::shared_ptr<Scope>> kept_scopes_;
  int line_ = 1;
  int depth_ = 0;
  uint64_t random_ = 0;
};

}  // namespace wick::jinja
