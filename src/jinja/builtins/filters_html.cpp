// Filters for HTML: rare in chat templates, but part of the language.
#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "jinja/builtins/characters.h"
#include "jinja/builtins/filters.h"
#include "jinja/builtins/python_format.h"
#include "jinja/builtins/text_search.h"
#include "jinja/interpreter.h"

namespace wick::jinja {
namespace {

Value escape_filter(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("escape", arguments);
  return escape(value);
}

Value forceescape(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("forceescape", arguments);
  return {escape_html(to_text_value(value).bytes()), true};
}

Value safe(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("safe", arguments);
  return {to_text(value), true};
}

struct Entity {
  std::string_view name, text;
};
constexpr Entity kEntities[] = {{"amp", "&"},  {"lt", "<"},        {"gt", ">"},        {"quot", "\""},
                                {"apos", "'"}, {"nbsp", "\u00A0"}, {"copy", "\u00A9"}, {"hellip", "\u2026"}};

std::string unescape_html(std::string_view text) {
  constexpr size_t kLongest = 13;  // with & and ;
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = text[at] == '&' ? text.substr(at, kLongest).find(';') : text.npos;
    if (length == text.npos) {
      out += text[at++];
      continue;
    }
    const size_t end = at + length;
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const auto* known = std::find_if(std::begin(kEntities), std::end(kEntities),
                                     [&](const Entity& entity) { return entity.name == name; });
    uint32_t code = 0;
    const bool hex = name.starts_with("#x") || name.starts_with("#X");
    if (known != std::end(kEntities)) {
      out += known->text;
    } else if (name.starts_with('#') && name.size() > (hex ? 2u : 1u) &&
               std::all_of(name.begin() + (hex ? 2 : 1), name.end(), [&](char c) {
                 return hex ? std::isxdigit(static_cast<uint8_t>(c)) != 0 : c >= '0' && c <= '9';
               })) {
      code = static_cast<uint32_t>(std::stoul(std::string(name.substr(hex ? 2 : 1)), nullptr, hex ? 16 : 10));
      append_utf8(out, code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0xFFFD : code);
    } else {
      out += text[at++];
      continue;
    }
    at = end + 1;
  }
  return out;
}

// Cuts out what stands between two marks; an opening mark without a closing one stays.
std::string without(std::string_view text, std::string_view open, std::string_view close) {
  std::string out;
  size_t at = 0;
  for (size_t begin = 0; (begin = text.find(open, at)) != text.npos;) {
    const size_t end = text.find(close, begin + open.size());
    if (end == text.npos) break;
    out += text.substr(at, begin - at);
    at = end + close.size();
  }
  return out.append(text.substr(at));
}

Value striptags(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("striptags", arguments);
  const Value whole = to_text_value(value);
  spend_work_on_characters(whole.bytes().size() * 3);
  const std::string text = without(without(whole.bytes(), "<!--", "-->"), "<", ">");
  std::string words;
  for (std::string_view rest = strip_left(text); !rest.empty(); rest = strip_left(rest)) {
    size_t end = 0;
    while (end < rest.size() && !is_space(code_point(rest.substr(end, character_bytes(rest.substr(end)))))) {
      end += character_bytes(rest.substr(end));
    }
    words += cat(words.empty() ? "" : " ", rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return unescape_html(words);
}

std::string url_quoted(const Value& value, bool query) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  const Value whole = to_text_value(value);
  spend_work_on_characters(whole.bytes().size());
  for (const char c : whole.bytes()) {
    const auto byte = static_cast<uint8_t>(c);
    const bool plain =
        (byte < 0x80 && std::isalnum(byte)) || std::string_view("_.-~").find(c) != std::string_view::npos;
    if (plain || (c == '/' && !query)) {
      out += c;
    } else if (c == ' ' && query) {
      out += '+';
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

Value urlencode(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("urlencode", arguments);
  if (value.is_text() || !is_iterable(value)) return url_quoted(value, false);
  std::string out;
  const auto add = [&](const Value& key, const Value& item) {
    out += cat(out.empty() ? "" : "&", url_quoted(key, true), "=", url_quoted(item, true));
  };
  if (value.is_dict()) {
    for (const auto& [key, item] : value.as_dict().entries()) add(key, item);
  } else {
    for (const Value& pair : each(value)) {
      const auto parts = iterate(pair);
      if (parts->values.size() != 2) throw problem("urlencode takes pairs of a name and a value");
      add(parts->values[0], parts->values[1]);
    }
  }
  return out;
}

Value xmlattr(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("xmlattr", arguments, {"autospace"});
  if (value.is_undefined()) use_of_undefined(value);
  if (!value.is_dict()) throw problem("xmlattr takes a mapping, not ", value.type_name());
  std::string out;
  for (const auto& [key, item] : value.as_dict().entries()) {
    if (item.is_none() || item.is_undefined()) continue;
    const std::string name = to_text(key);
    if (name.find_first_of(" \t\n\r\f\v/>=") != name.npos) {
      throw problem("Invalid character in attribute name: ", in_quotes(name));
    }
    out += cat(out.empty() ? "" : " ", escape_html(name), "=\"", escape(item).bytes(), "\"");
  }
  if (!out.empty() && bound.flag(0, true)) out.insert(0, " ");
  return {std::move(out), interpreter.autoescape};
}

bool is_web_address(std::string_view word) {
  if (word.starts_with("http://") || word.starts_with("https://")) return word.find('.') != word.npos;
  if (word.starts_with("www.")) return word.size() > 4;
  const std::string_view host = word.substr(0, word.find('/'));
  const bool known = host.ends_with(".com") || host.ends_with(".net") || host.ends_with(".org") ||
                     host.ends_with(".edu") || host.ends_with(".gov") || host.ends_with(".int") ||
                     host.ends_with(".mil") || host.ends_with(".info");
  return known && host.find('@') == host.npos && host.find('.') > 0;
}

bool is_mail_address(std::string_view word) {
  const size_t at = word.find('@');
  return at != word.npos && at > 0 && word.find('@', at + 1) == word.npos && word.find('.', at + 2) != word.npos &&
         !word.ends_with('.') && word.find(':') == word.npos;
}

Value urlize(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("urlize", arguments, {"trim_url_limit", "nofollow", "target", "rel", "extra_schemes"});
  std::set<std::string, std::less<>> rels = {"noopener"};
  if (bound.flag(1)) rels.insert("nofollow");
  if (bound.has(3)) rels.emplace(bound.text(3));
  std::string rel, target;
  for (const std::string& part : rels) rel += cat(rel.empty() ? "" : " ", part);
  if (bound.has(2)) target = cat(" target=\"", escape_html(bound.text(2)), "\"");
  const auto link = [&](std::string_view href, std::string_view shown, bool mail) {
    std::string text(shown);
    if (const int64_t most = bound.integer(0, INT64_MAX); !mail && count_characters(shown) > most) {
      text = cat(shown.substr(0, byte_offset(shown, most)), "...");
    }
    const std::string attributes = mail ? "" : cat(" rel=\"", rel, "\"", target);
    return cat("<a href=\"", href, "\"", attributes, ">", text, "</a>");
  };
  const Value escaped = escape(value);
  const std::string_view text = escaped.bytes();
  spend_work_on_characters(text.size());
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find_first_of(" \t\n\r\f\v", at), text.size());
    std::string_view word = text.substr(at, end - at);
    std::string_view head = word.substr(0, std::min(word.find_first_not_of("("), word.size()));
    word.remove_prefix(head.size());
    std::string_view tail;
    while (!word.empty() && std::string_view(").,").find(word.back()) != std::string_view::npos) {
      tail = text.substr(end - tail.size() - 1, tail.size() + 1);
      word.remove_suffix(1);
    }
    out += head;
    if (is_web_address(word)) {
      out += link(word.starts_with("http") ? std::string(word) : cat("https://", word), word, false);
    } else if (is_mail_address(word)) {
      out += link(cat("mailto:", word), word, true);
    } else {
      out += word;
    }
    out += tail;
    while (end < text.size() && std::string_view(" \t\n\r\f\v").find(text[end]) != std::string_view::npos)
      out += text[end++];
    at = end;
    require_memory(static_cast<int64_t>(out.size()));
  }
  return {std::move(out), interpreter.autoescape};
}

constexpr NamedFilter kHtmlFilters[] = {
    {"e", escape_filter},     {"escape", escape_filter}, {"forceescape", forceescape}, {"safe", safe},
    {"striptags", striptags}, {"urlencode", urlencode},  {"xmlattr", xmlattr},         {"urlize", urlize},
};

}  // namespace

std::span<const NamedFilter> html_filters() { return kHtmlFilters; }

}  // namespace wick::jinja
