#include "jinja/builtins/filters.h"

namespace wick::jinja {

Filter find_filter(std::string_view name) {
  for (const auto table :
       {general_filters(), text_filters(), list_filters(), select_filters(), number_filters(), html_filters()}) {
    for (const NamedFilter& filter : table) {
      if (filter.name == name) return filter.apply;
    }
  }
  return nullptr;
}

}  // namespace wick::jinja
