#include "jinja/builtins/tests.h"

#include "jinja/arithmetic.h"
#include "jinja/builtins/characters.h"
#include "jinja/builtins/filters.h"
#include "jinja/builtins/python_format.h"
#include "jinja/compare.h"

namespace wick::jinja {
namespace {

const Value& other(const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty()) throw problem("the test takes one argument");
  return arguments.positional[0];
}

bool divides(const Value& value, int64_t number, int64_t rest) { return equal(modulo(value, number), rest); }

bool cased(const Value& value, bool (*wanted)(char32_t)) {
  bool found = false;
  const Value text = to_text_value(value);
  spend_work_on_characters(text.bytes().size());
  for (const std::string_view character : Characters(text.bytes())) {
    const char32_t code = code_point(character);
    if (is_cased(code) && !wanted(code)) return false;
    found = found || wanted(code);
  }
  return found;
}

bool is_sequence(const Value& value) {
  if (value.is_object()) return value.as_object().length().has_value() && value.as_object().has_items();
  return length_of(value).has_value();
}

bool is_equal(const Value& value, const Arguments& arguments) { return equal(value, other(arguments)); }
bool is_unequal(const Value& value, const Arguments& arguments) { return !equal(value, other(arguments)); }
bool is_less(const Value& value, const Arguments& arguments) { return less(value, other(arguments)); }
bool is_at_most(const Value& value, const Arguments& arguments) { return less_or_equal(value, other(arguments)); }
bool is_greater(const Value& value, const Arguments& arguments) { return less(other(arguments), value, ">"); }
bool is_at_least(const Value& value, const Arguments& arguments) {
  return less_or_equal(other(arguments), value, ">=");
}

struct NamedTest {
  std::string_view name;
  Test test;
};
constexpr NamedTest kTests[] = {
    {"defined", [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
    {"undefined", [](const Value& v, const Arguments&) { return v.is_undefined(); }},
    {"none", [](const Value& v, const Arguments&) { return v.is_none(); }},
    {"boolean", [](const Value& v, const Arguments&) { return v.is_bool(); }},
    {"true", [](const Value& v, const Arguments&) { return v.is_bool() && v.as_bool(); }},
    {"false", [](const Value& v, const Arguments&) { return v.is_bool() && !v.as_bool(); }},
    {"integer", [](const Value& v, const Arguments&) { return v.is_int(); }},
    {"float", [](const Value& v, const Arguments&) { return v.is_float(); }},
    {"number", [](const Value& v, const Arguments&) { return v.is_number(); }},
    {"string", [](const Value& v, const Arguments&) { return v.is_text(); }},
    {"mapping", [](const Value& v, const Arguments&) { return v.is_dict(); }},
    {"sequence", [](const Value& v, const Arguments&) { return is_sequence(v); }},
    {"iterable", [](const Value& v, const Arguments&) { return is_iterable(v); }},
    {"callable",
     [](const Value& v, const Arguments&) { return v.is_undefined() || (v.is_object() && v.as_object().callable()); }},
    {"escaped", [](const Value& v, const Arguments&) { return v.is_markup(); }},
    {"odd", [](const Value& v, const Arguments&) { return divides(v, 2, 1); }},
    {"even", [](const Value& v, const Arguments&) { return divides(v, 2, 0); }},
    {"divisibleby", [](const Value& v, const Arguments& a) { return equal(modulo(v, other(a)), 0); }},
    {"lower", [](const Value& v, const Arguments&) { return cased(v, is_lower); }},
    {"upper", [](const Value& v, const Arguments&) { return cased(v, is_upper); }},
    {"sameas", [](const Value& v, const Arguments& a) { return v.same_as(other(a)); }},
    {"in", [](const Value& v, const Arguments& a) { return contains(other(a), v); }},
    {"filter", [](const Value& v, const Arguments&) { return v.is_text() && find_filter(v.bytes()) != nullptr; }},
    {"test", [](const Value& v, const Arguments&) { return v.is_text() && find_test(v.bytes()) != nullptr; }},
    {"==", is_equal},
    {"eq", is_equal},
    {"equalto", is_equal},
    {"!=", is_unequal},
    {"ne", is_unequal},
    {"<", is_less},
    {"lt", is_less},
    {"lessthan", is_less},
    {"<=", is_at_most},
    {"le", is_at_most},
    {">", is_greater},
    {"gt", is_greater},
    {"greaterthan", is_greater},
    {">=", is_at_least},
    {"ge", is_at_least},
};

}  // namespace

Test find_test(std::string_view name) {
  for (const NamedTest& known : kTests) {
    if (known.name == name) return known.test;
  }
  return nullptr;
}

}  // namespace wick::jinja
