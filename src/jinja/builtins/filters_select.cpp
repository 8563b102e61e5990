// map, select and reject: filters and tests applied to each element.
#include "jinja/attribute_path.h"
#include "jinja/builtins/filters.h"
#include "jinja/builtins/tests.h"
#include "jinja/interpreter.h"
#include "jinja/objects.h"

namespace wick::jinja {
namespace {

std::string_view name_of(const Value& value, std::string_view what) {
  if (!value.is_text()) throw problem("the name of a ", what, " must be text, not ", value.type_name());
  return value.bytes();
}

Arguments after(const Arguments& arguments, size_t skipped) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(skipped),
                         arguments.positional.end());
  rest.named = arguments.named;
  return rest;
}

Value map(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  std::vector<Value> result;
  if (!value.truthy()) return generator({});
  if (arguments.positional.empty()) {
    const Bound bound("map", arguments, {"attribute", "default"});
    if (!bound[0]) throw problem("map requires a filter argument");
    const AttributePath path(*bound[0]);
    for (const Value& item : each(value)) {
      spend_work();
      result.push_back(path.follow(interpreter, item, bound.get(1)));
    }
    return generator(std::move(result));
  }
  const std::string_view name = name_of(arguments.positional[0], "filter");
  const Filter filter = find_filter(name);
  if (!filter) throw problem("No filter named '", name, "'.");
  const Arguments rest = after(arguments, 1);
  for (const Value& item : each(value)) {
    spend_work();
    result.push_back(filter(interpreter, item, rest));
  }
  return generator(std::move(result));
}

template <bool kKeep, bool kAttribute>
Value choose(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  if (!value.truthy()) return generator({});
  constexpr size_t kSkipped = kAttribute ? 1 : 0;
  if (arguments.positional.size() < kSkipped) throw problem("Missing parameter for attribute name");
  const AttributePath path(kAttribute ? arguments.positional[0] : Value());
  Test test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > kSkipped) {
    const std::string_view name = name_of(arguments.positional[kSkipped], "test");
    test = find_test(name);
    if (!test) throw problem("No test named '", name, "'.");
    rest = after(arguments, kSkipped + 1);
  }
  std::vector<Value> result;
  for (const Value& item : each(value)) {
    spend_work();
    const Value subject = path.follow(interpreter, item);
    if ((test ? test(subject, rest) : subject.truthy()) == kKeep) result.push_back(item);
  }
  return generator(std::move(result));
}

constexpr NamedFilter kSelectFilters[] = {
    {"map", map},
    {"select", choose<true, false>},
    {"reject", choose<false, false>},
    {"selectattr", choose<true, true>},
    {"rejectattr", choose<false, true>},
};

}  // namespace

std::span<const NamedFilter> select_filters() { return kSelectFilters; }

}  // namespace wick::jinja
