#include "cli/bench/plan_names.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += cat(text.empty() ? "" : " ", name);
  return text;
}

std::string check_plan_name(std::string& name, const std::vector<std::string_view>& names) {
  name = lower_ascii(name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return "";
  const std::string_view near = nearest(name, names);
  return cat("there is no type ", in_quotes(name), near.empty() ? "" : cat(" (did you mean ", near, "?)"),
             "; there are: ", listed(names));
}

}  // namespace wick
