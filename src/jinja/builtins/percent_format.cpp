#include "jinja/builtins/percent_format.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "jinja/arguments.h"
#include "jinja/builtins/number_format.h"
#include "jinja/builtins/python_format.h"

namespace wick::jinja {
namespace {

class PercentFormatter {
 public:
  PercentFormatter(const Value& format, const Value& arguments)
      : text_(format.bytes()), markup_(format.is_markup()), arguments_(arguments) {}

  Value run() {
    spend_work_on_characters(text_.size());
    std::string out;
    while (at_ < text_.size()) {
      const size_t percent = std::min(text_.find('%', at_), text_.size());
      out += text_.substr(at_, percent - at_);
      at_ = percent;
      if (at_ < text_.size()) {
        ++at_;
        directive(out);
      }
      require_memory(static_cast<int64_t>(out.size()));
    }
    const size_t given = arguments_.is_tuple() ? arguments_.items().size() : arguments_.is_dict() ? used_ : 1;
    const bool may_ignore = arguments_.is_list() && used_ == 0;
    if (used_ < given && !named_ && !may_ignore) {
      throw problem("not all arguments converted during string formatting");
    }
    return {std::move(out), markup_};
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  const Value& next_argument() {
    if (arguments_.is_tuple() ? used_ >= arguments_.items().size() : used_ >= 1) {
      throw problem("not enough arguments for format string");
    }
    return arguments_.is_tuple() ? arguments_.items()[used_++] : (++used_, arguments_);
  }

  int64_t number_or_star() {
    if (peek() == '*') {
      ++at_;
      return to_index(next_argument());
    }
    int64_t number = 0;
    while (peek() >= '0' && peek() <= '9') {
      number = number * 10 + (text_[at_++] - '0');
      if (number > int64_t{1} << 40) throw problem("a width in a format string is too big");
    }
    return number;
  }

  void directive(std::string& out) {
    const Value* named = nullptr;
    if (peek() == '(') {
      const size_t end = text_.find(')', at_);
      if (end == text_.npos) throw problem("incomplete format key");
      if (!arguments_.is_dict()) throw problem("format requires a mapping");
      const std::string_view key = text_.substr(at_ + 1, end - at_ - 1);
      named = arguments_.as_dict().find(key);
      if (!named) throw problem("the format names ", in_quotes(key), ", which is not given");
      at_ = end + 1;
      named_ = true;
    }
    spend_work();
    FormatSpec spec;
    bool left = false, zero = false;
    for (; std::string_view("#0- +").find(peek()) != std::string_view::npos && peek(); ++at_) {
      switch (peek()) {
        case '#': spec.alternate = true; break;
        case '0': zero = true; break;
        case '-': left = true; break;
        case '+': spec.sign = '+'; break;
        default:
          if (spec.sign != '+') spec.sign = ' ';
      }
    }
    spec.width = number_or_star();
    if (spec.width < 0) left = true, spec.width = -spec.width;
    if (peek() == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(number_or_star(), 0);
    }
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    if (at_ >= text_.size()) throw problem("incomplete format");
    spec.type = text_[at_++];
    if (spec.type == '%') {
      out += '%';
      return;
    }
    spec.align = left ? '<' : '>';
    out += convert(named ? *named : next_argument(), spec, zero && !left);
  }

  std::string convert(const Value& value, FormatSpec spec, bool zero) const {
    constexpr std::string_view kIntegers = "diuoxX", kFloats = "eEfFgG";
    switch (spec.type) {
      case 's': return text(markup_ ? escape(value) : to_text_value(value), spec);
      case 'r': return text(repr(value), spec);
      case 'a': {
        std::string out;
        if (value.is_text()) {
          append_text_repr(out, value.bytes(), true);
        } else {
          append_repr(out, value);
        }
        return text(out, spec);
      }
      case 'c':
        if (value.is_text() && value.as_text().length == 1) return text(value, spec);
        if (!value.is_integral()) throw problem("%c requires int or char");
        spec.precision.reset();
        return format_value(value.as_int(), spec);
      default: break;
    }
    if (value.is_undefined()) use_of_undefined(value);
    if (zero) spec.align = '=', spec.fill = "0";
    if (kIntegers.find(spec.type) != kIntegers.npos) return integer(value, spec);
    if (kFloats.find(spec.type) != kFloats.npos) {
      if (!value.is_number()) throw problem("must be real number, not ", value.type_name());
      return format_value(value.as_number(), spec);
    }
    throw problem("unsupported format character ", in_quotes(std::string(1, spec.type)));
  }

  static std::string text(const Value& value, FormatSpec spec) {
    spec.type = 's';
    return format_value(value, spec);
  }

  static std::string integer(const Value& value, FormatSpec spec) {
    if (!value.is_number()) {
      throw problem("%", spec.type, " format: a number is required, not ", value.type_name());
    }
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    int64_t number = 0;
    if (value.is_integral()) {
      number = value.as_int();
    } else {
      if (spec.type != 'd') throw problem("%", spec.type, " format: an integer is required, not float");
      if (!(std::abs(value.as_number()) < 9e18))
        throw problem("integer overflow: the number does not fit into 64 bits");
      number = static_cast<int64_t>(value.as_number());
    }
    std::string digits = integer_digits(magnitude_of(number), spec.type);
    if (const auto least = static_cast<size_t>(spec.precision.value_or(0)); digits.size() < least) {
      require_memory(static_cast<int64_t>(least));
      digits.insert(0, least - digits.size(), '0');
    }
    std::string sign = number < 0 ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    if (spec.alternate && spec.type != 'd') sign += {'0', spec.type};
    return pad(sign, digits, spec, '>');
  }

  std::string_view text_;
  bool markup_;
  const Value& arguments_;
  size_t at_ = 0;
  size_t used_ = 0;
  bool named_ = false;
};

}  // namespace

Value percent_format(const Value& format, const Value& arguments) {
  if (arguments.is_undefined()) {
    // A single undefined is one argument like any other.
    return PercentFormatter(format, Value::tuple({arguments})).run();
  }
  return PercentFormatter(format, arguments).run();
}

}  // namespace wick::jinja
