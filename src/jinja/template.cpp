#include "jinja/template.h"

#include "base/utf8.h"
#include "jinja/interpreter.h"
#include "jinja/parser.h"

namespace wick::jinja {
namespace {

constexpr size_t kMaxSource = size_t{8} << 20;

}  // namespace

struct Template::Tree {
  std::string name;
  Body body;
  Blocks blocks;  // inside the body
};

Template Template::parse(std::string_view source, std::string name, const LexerOptions& options) {
  if (source.size() > kMaxSource) {
    throw Error(ErrorCode::kBadFile,
                cat(name, ": ", source.size(), " bytes are more than a template may have (", kMaxSource, ")"));
  }
  if (!is_utf8(source)) throw Error(ErrorCode::kBadFile, cat(name, ": not valid UTF-8"));
  try {
    Template result;
    Parser parser(tokenize(source, options));
    Body body = parser.parse_template();
    result.tree_ = std::make_shared<const Tree>(Tree{std::move(name), std::move(body), parser.take_blocks()});
    return result;
  } catch (const Error& error) {
    throw Error(error.code(), cat(name, ", ", error.what()));
  }
}

std::string Template::render(const Dict& variables, const RenderOptions& options) const {
  const auto budget = std::make_shared<Budget>(options.limits);
  const BudgetScope scope(budget);
  Interpreter interpreter(variables, tree_->blocks, options.clock, budget);
  try {
    return interpreter.render(tree_->body);
  } catch (const Error& error) {
    throw Error(error.code(), cat(tree_->name, ", line ", interpreter.line(), ": ", error.what()));
  }
}

}  // namespace wick::jinja
