#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "jinja/budget.h"
#include "jinja/builtins/local_time.h"
#include "jinja/lexer.h"
#include "jinja/value.h"

namespace wick::jinja {

struct RenderOptions {
  Limits limits;
  std::function<LocalTime()> clock = local_time_now;  // for strftime_now
};

// A Jinja2 template, parsed. Rendering runs in a sandbox: no host access, bounded steps, depth, memory and output.
// Thread-safe. A value: copies share the tree.
class Template {
 public:
  // `name` starts every message: "chat template, line 3: ...". Throws Error(kBadFile) when it cannot be read.
  static Template parse(std::string_view source, std::string name = "template", const LexerOptions& options = {});

  // Throws Error(kInvalidArgument) with the line: what the template raised, what is undefined, which limit was met.
  std::string render(const Dict& variables, const RenderOptions& options = {}) const;

 private:
  struct Tree;
  std::shared_ptr<const Tree> tree_;
};

}  // namespace wick::jinja
