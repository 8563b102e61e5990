#include "grammar/schema/schema_formats.h"

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
// RFC 5321 limits the length of a domain, not that of its labels.
#define WICK_SUBDOMAIN "[A-Za-z0-9]+(-+[A-Za-z0-9]+)*"
#define WICK_EMAIL "^[A-Za-z0-9_+-]+(\\.[A-Za-z0-9_+-]+)*@" WICK_SUBDOMAIN "(\\." WICK_SUBDOMAIN ")+$"
#define WICK_OCTET "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define WICK_HEX "[0-9a-fA-F]"
#define WICK_IPV6                                                                                                     \
  "((" WICK_HEX "{1,4}:){7}" WICK_HEX "{1,4}|::(" WICK_HEX "{1,4}(:" WICK_HEX                                         \
  "{1,4}){0,6})?"                                                                                                     \
  "|" WICK_IPV6_GAP("1", "5") "|" WICK_IPV6_GAP("2", "4") "|" WICK_IPV6_GAP("3", "3") "|" WICK_IPV6_GAP(              \
      "4", "2") "|" WICK_IPV6_GAP("5", "1") "|" WICK_IPV6_GAP("6", "0") "|(" WICK_HEX "{1,4}:){7}:|(" WICK_HEX        \
                                                                        "{1,4}:){6}" WICK_OCTET "(\\." WICK_OCTET     \
                                                                        "){3}"                                        \
                                                                        "|::([fF]{4}:)?" WICK_OCTET "(\\." WICK_OCTET \
                                                                        "){3})"
// So many groups, "::", and up to so many more than one.
#define WICK_IPV6_GAP(before, behind) \
  "(" WICK_HEX "{1,4}:){" before "}(:|:" WICK_HEX "{1,4}(:" WICK_HEX "{1,4}){0," behind "})"
#define WICK_UCS "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF"
#define WICK_URI_CHAR(more) "([A-Za-z0-9._~:/?@!$&'()*+,;=" more "-]|%" WICK_HEX "{2})"
#define WICK_PATH_CHAR(more) "([A-Za-z0-9._~/@!$&'()*+,;=" more "-]|%" WICK_HEX "{2})"
#define WICK_SCHEME "^[A-Za-z][A-Za-z0-9+.-]*:"
#define WICK_IRI(more) WICK_SCHEME WICK_URI_CHAR(more) "+(#" WICK_URI_CHAR(more) "*)?$"
// With a scheme, or without a colon before the query.
#define WICK_REFERENCE(more) \
  "^([A-Za-z][A-Za-z0-9+.-]*:" WICK_URI_CHAR(more) "+|" WICK_PATH_CHAR(more) "*(\\?" WICK_URI_CHAR(more) "*)?)" \
  "(#" WICK_URI_CHAR(more) "*)?$"
// Expressions that every dialect reads, with groups up to three deep.
#define WICK_REGEX_ATOM                                                  \
  "([^\\\\\\[\\](){}*+?|\\n]|\\\\[dDwWsSbBnrtfv^$\\\\.*+?()\\[\\]{}|/-]" \
  "|\\[\\^?([a-zA-Z0-9_ "                                                \
  ".,:;/@#%&*+!=<>~\"'$(){}?|]|a-z|A-Z|0-9|a-f|A-F|\\\\[dDwWsSnrt.\\\\\\]\\[/^$*+?(){}|-])+-?\\])"
#define WICK_REGEX0 "(" WICK_REGEX_ATOM "([*+]\\??|\\?\\??|\\{\\d{1,3}(,)?\\})?|\\|)*"
#define WICK_REGEX_GROUP(inner)                                                         \
  "(" WICK_REGEX_ATOM "([*+]\\??|\\?\\??|\\{\\d{1,3}(,)?\\})?|\\||\\((\\?[:=!])?" inner \
  "\\)([*+?]\\??|\\{\\d{1,3}(,)?\\})?)*"
#define WICK_REGEX1 WICK_REGEX_GROUP(WICK_REGEX0)
#define WICK_REGEX2 WICK_REGEX_GROUP(WICK_REGEX1)
#define WICK_REGEX3 WICK_REGEX_GROUP(WICK_REGEX2)
#define WICK_UUID WICK_HEX "{8}-" WICK_HEX "{4}-" WICK_HEX "{4}-" WICK_HEX "{4}-" WICK_HEX "{12}"

struct NamedFormat {
  std::string_view name;
  TextFormat format;
};

constexpr NamedFormat kFormats[] = {
    {"date", {"^" WICK_DATE "$", "^" WICK_DATE "$"}},
    {"time", {"^" WICK_TIME "$", "^\\d\\d:\\d\\d:\\d\\d"}},
    {"date-time", {"^" WICK_DATE "T" WICK_TIME "$", "^\\d{4}-\\d\\d-\\d\\d[Tt\\s]\\d\\d:\\d\\d:\\d\\d"}},
    {"duration",
     {"^P((\\d+Y)(\\d+M(\\d+D)?)?|(\\d+M)(\\d+D)?|\\d+D|\\d+W)$"
      "|^P((\\d+Y)(\\d+M(\\d+D)?)?|(\\d+M)(\\d+D)?|\\d+D)?T((\\d+H)(\\d+M(\\d+S)?)?|(\\d+M)(\\d+S)?|\\d+S)$",
      "^P[0-9YMWDTHS.,]+$"}},
    {"uuid", {"^" WICK_UUID "$", "^" WICK_UUID "$"}},
    {"uuid4",
     {"^" WICK_HEX "{8}-" WICK_HEX "{4}-4" WICK_HEX "{3}-[89abAB]" WICK_HEX "{3}-" WICK_HEX "{12}$",
      "^" WICK_UUID "$"}},
    {"email", {WICK_EMAIL, "@"}},
    {"idn-email", {WICK_EMAIL, "@"}},
    {"idn-hostname", {"^" WICK_LABEL "(\\." WICK_LABEL ")*$", "^[^\\s/:@]+$"}},
    {"hostname", {"^" WICK_LABEL "(\\." WICK_LABEL ")*$", "^[^\\s/:@]+$"}},
    {"ipv4", {"^" WICK_OCTET "(\\." WICK_OCTET "){3}$", "^[0-9.]+$"}},
    {"ipv6", {"^" WICK_IPV6 "$", "^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$"}},
    {"uri", {WICK_IRI(""), WICK_SCHEME}},
    {"iri", {WICK_IRI(WICK_UCS), WICK_SCHEME}},
    {"uri-reference", {WICK_REFERENCE(""), ""}},
    {"iri-reference", {WICK_REFERENCE(WICK_UCS), ""}},
    {"uri-template", {"^(" WICK_URI_CHAR("") "|\\{[A-Za-z0-9_]+\\})*$", ""}},
    {"json-pointer", {"^(/([^~/]|~[01])*)*$", "^(/([^~/]|~[01])*)*$"}},
    {"relative-json-pointer", {"^(0|[1-9]\\d*)(#|(/([^~/]|~[01])*)*)$", "^\\d"}},
    {"regex", {"^" WICK_REGEX3 "$", ""}},
};

#undef WICK_DATE
#undef WICK_TIME
#undef WICK_LABEL
#undef WICK_SUBDOMAIN
#undef WICK_EMAIL
#undef WICK_OCTET
#undef WICK_HEX
#undef WICK_IPV6
#undef WICK_IPV6_GAP
#undef WICK_UCS
#undef WICK_URI_CHAR
#undef WICK_PATH_CHAR
#undef WICK_SCHEME
#undef WICK_IRI
#undef WICK_REFERENCE
#undef WICK_REGEX_ATOM
#undef WICK_REGEX0
#undef WICK_REGEX_GROUP
#undef WICK_REGEX1
#undef WICK_REGEX2
#undef WICK_REGEX3
#undef WICK_UUID

}  // namespace

std::optional<TextFormat> format_of(std::string_view format) {
  for (const NamedFormat& known : kFormats) {
    if (known.name == format) return known.format;
  }
  return std::nullopt;
}

}  // namespace wick::grammar
