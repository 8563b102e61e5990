#include "jinja/builtins/globals.h"

#include "jinja/builtins/python_format.h"
#include "jinja/interpreter.h"
#include "jinja/objects.h"

namespace wick::jinja {
namespace {

Value make_range(Interpreter&, const Value&, const Arguments& arguments) {
  const Bound bound("range", arguments, {"start", "stop", "step"}, 1);
  const int64_t first = to_index(*bound[0]);
  const int64_t step = bound[2] ? to_index(*bound[2]) : 1;
  if (!bound[1]) return Value(std::make_shared<Range>(0, first, step));
  return Value(std::make_shared<Range>(first, to_index(*bound[1]), step));
}

Value call_dict(Interpreter&, const Value&, const Arguments& arguments) { return {make_dict("dict", arguments)}; }

Value make_namespace(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  auto space = std::make_shared<Namespace>(make_dict("namespace", arguments));
  interpreter.keep(space);
  return Value(space);
}

Value make_cycler(Interpreter&, const Value&, const Arguments& arguments) {
  if (arguments.positional.empty()) throw problem("at least one item has to be provided");
  return Value(std::make_shared<Cycler>(make_items(arguments.positional)));
}

Value make_joiner(Interpreter&, const Value&, const Arguments& arguments) {
  return Value(std::make_shared<Joiner>(Bound("joiner", arguments, {"sep"}).get(0, ", ")));
}

Value raise_exception(Interpreter&, const Value&, const Arguments& arguments) {
  throw problem(to_text(*Bound("raise_exception", arguments, {"message"}, 1)[0]));
}

Value strftime_now(Interpreter& interpreter, const Value&, const Arguments& arguments) {
  const Bound bound("strftime_now", arguments, {"format"}, 1);
  return format_time(interpreter.now(), bound.text(0));
}

Value make_lipsum(Interpreter&, const Value&, const Arguments&) {
  throw problem("lipsum() is not available in a chat template");
}

constexpr NamedFunction kGlobals[] = {
    {"range", make_range},         {"dict", call_dict},
    {"namespace", make_namespace}, {"cycler", make_cycler},
    {"joiner", make_joiner},       {"raise_exception", raise_exception},
    {"lipsum", make_lipsum},       {"strftime_now", strftime_now},
};

}  // namespace

std::optional<Value> global_function(std::string_view name) {
  for (const NamedFunction& function : kGlobals) {
    if (function.name == name) return make_function(function);
  }
  return std::nullopt;
}

Dict make_dict(std::string_view function, const Arguments& arguments) {
  if (arguments.positional.size() > 1) throw problem(function, "() takes at most one positional argument");
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is_dict()) {
      dict = source.as_dict();
    } else {
      for (const Value& pair : each(source)) {
        const auto parts = iterate(pair);
        if (parts->values.size() != 2) throw problem(function, "() takes pairs of a name and a value");
        dict.set(parts->values[0], parts->values[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) dict.set(name, value);
  return dict;
}

}  // namespace wick::jinja
