#include "text/grammar/schema_formats.h"

#include <utility>

namespace wick::grammar {
namespace {

// Days that exist: 31 and 30 days, February, and its 29th in leap years.
#define WICK_DATE                                                                    \
  "(\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)" \
  "|02-(0[1-9]|1\\d|2[0-8]))"                                                        \
  "|(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
#define WICK_TIME "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
#define WICK_LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define WICK_OCTET "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define WICK_HEX "[0-9a-fA-F]"
#define WICK_UUID WICK_HEX "{8}-" WICK_HEX "{4}-" WICK_HEX "{4}-" WICK_HEX "{4}-" WICK_HEX "{12}"

constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"date", "^" WICK_DATE "$"},
    {"time", "^" WICK_TIME "$"},
    {"date-time", "^" WICK_DATE "T" WICK_TIME "$"},
    {"duration",
     "^P((\\d+Y)(\\d+M(\\d+D)?)?|(\\d+M)(\\d+D)?|\\d+D|\\d+W)$"
     "|^P((\\d+Y)(\\d+M(\\d+D)?)?|(\\d+M)(\\d+D)?|\\d+D)?T((\\d+H)(\\d+M(\\d+S)?)?|(\\d+M)(\\d+S)?|\\d+S)$"},
    {"uuid", "^" WICK_UUID "$"},
    {"uuid4", "^" WICK_HEX "{8}-" WICK_HEX "{4}-4" WICK_HEX "{3}-[89abAB]" WICK_HEX "{3}-" WICK_HEX "{12}$"},
    {"email", "^[A-Za-z0-9_+-]+(\\.[A-Za-z0-9_+-]+)*@" WICK_LABEL "(\\." WICK_LABEL ")+$"},
    {"hostname", "^" WICK_LABEL "(\\." WICK_LABEL ")*$"},
    {"ipv4", "^" WICK_OCTET "(\\." WICK_OCTET "){3}$"},
    {"ipv6", "^(" WICK_HEX "{1,4}:){7}" WICK_HEX "{1,4}$|^::$|^::(" WICK_HEX "{1,4}:){0,5}" WICK_HEX "{1,4}$"
             "|^" WICK_HEX "{1,4}::(" WICK_HEX "{1,4}:){0,4}" WICK_HEX "{1,4}$"},
    {"uri", "^[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9._~:/?@!$&'()*+,;=-]|%" WICK_HEX "{2})+$"},
    {"uri-reference", "^([A-Za-z0-9._~/?@!$&'()*+,;=-]|%" WICK_HEX "{2})+$"},
    {"byte", "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"},
    // What these say cannot be told from the characters.
    {"password", ""},
    {"binary", ""},
    {"path", ""},
    // Of numbers.
    {"int8", ""},
    {"int16", ""},
    {"int32", ""},
    {"int64", ""},
    {"uint8", ""},
    {"uint16", ""},
    {"uint32", ""},
    {"uint64", ""},
    {"float", ""},
    {"double", ""},
};

#undef WICK_DATE
#undef WICK_TIME
#undef WICK_LABEL
#undef WICK_OCTET
#undef WICK_HEX
#undef WICK_UUID

}  // namespace

std::optional<std::string_view> format_pattern(std::string_view format) {
  for (const auto& [name, pattern] : kFormats) {
    if (name == format) return pattern;
  }
  return std::nullopt;
}

}  // namespace wick::grammar
