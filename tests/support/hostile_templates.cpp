#include "support/hostile_templates.h"

namespace wick {
namespace {

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// A loop that does not end soon.
std::string looped(const std::string& before, const std::string& body) {
  return before + "{% for i in range(99999) %}{% for j in range(99999) %}" + body + "{% endfor %}{% endfor %}";
}

std::string many_variables(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "{% set v" + std::to_string(i) + " = 1 %}";
  return out;
}

const char* const kBig = "{% set s = 'a' * 10000000 %}";

}  // namespace

std::vector<HostileTemplate> hostile_templates() {
  const std::string big = kBig;
  return {
      {"a macro that calls itself", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"},
      {"macros that call each other",
       "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}"},
      {"a caller that calls back",
       "{% macro m() %}{{ caller() }}{% endmacro %}{% macro r() %}{% call m() %}{{ r() }}{% endcall %}{% endmacro %}{{ "
       "r() }}"},
      {"a recursive loop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"},
      {"a big range", "{{ range(10**9) }}"},
      {"a range past 64 bits", "{{ range(-9223372036854775807, 9223372036854775807) }}"},
      {"nested loops",
       "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% "
       "endfor %}"},
      {"a big text", "{{ 'a' * 10**9 }}"},
      {"a text of a size past 64 bits", "{{ 'abcd' * 9223372036854775807 }}"},
      {"a big list", "{{ [1] * 10**9 }}"},
      {"doubling a text",
       "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"},
      {"doubling with ~",
       "{% set ns = namespace(s='a') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"},
      {"doubling a list",
       "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"},
      {"a shared list printed",
       "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}"},
      {"a shared list as JSON",
       "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|tojson "
       "}}"},
      {"shared lists compared",
       "{% set ns = namespace(s=[1], t=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% set ns.t = "
       "[ns.t, ns.t] %}{% endfor %}{{ ns.s == ns.t }}"},
      {"a shared tuple as a key",
       "{% set ns = namespace(s=(1,)) %}{% for i in range(60) %}{% set ns.s = (ns.s, ns.s) %}{% endfor %}{{ {ns.s: 1} "
       "}}"},
      {"a shared list pretty-printed",
       "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|pprint "
       "}}"},
      {"a list in a list in a list",
       "{% set ns = namespace(s=[]) %}{% for i in range(99999) %}{% set ns.s = [ns.s] %}{% endfor %}"},
      {"a dict in a dict in a dict",
       "{% set ns = namespace(s={}) %}{% for i in range(99999) %}{% set ns.s = {'a': ns.s} %}{% endfor %}"},
      {"cyclers in cyclers",
       "{% set ns = namespace(s=1) %}{% for i in range(99999) %}{% set ns.s = cycler(ns.s) %}{% endfor %}"},
      {"methods of methods",
       "{% set ns = namespace(s=[1]) %}{% for i in range(99999) %}{% set ns.s = joiner(ns.s) %}{% endfor %}"},
      {"much output", "{% for a in range(99999) %}{% for b in range(99999) %}0123456789{% endfor %}{% endfor %}"},
      {"much output inside macros",
       "{% macro m(n) %}{% for i in range(99999) %}0123456789012345678901234567890123456789{% endfor %}{{ m(n) }}{% "
       "endmacro %}{{ m(1) }}"},
      {"many kept texts", big + "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = ns.l + [s + "
                                "i|string] %}{% endfor %}"},
      {"many kept lists",
       "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l[:9], range(99999)|list, ns.l] "
       "%}{% endfor %}"},
      {"wide padding", "{{ 'a'.center(10**12) }}"},
      {"wide filter padding", "{{ 'a'|center(10**12) }}"},
      {"wide format", "{{ '{:>1000000000}'.format(1) }}"},
      {"wider format", "{{ '{:>99999999999999999999}'.format(1) }}"},
      {"wide percent format", "{{ '%1000000000d' % 1 }}"},
      {"wide percent star", "{{ '%*d' % (10**12, 1) }}"},
      {"precise percent format", "{{ '%.1000000000f' % 1.5 }}"},
      {"precise integers", "{{ '%.1000000000d' % 1 }}"},
      {"zfill", "{{ '1'.zfill(10**12) }}"},
      {"tabs", "{{ '\\t'.expandtabs(10**12) }}"},
      {"indent", "{{ 'a\\nb'|indent(10**12) }}"},
      {"indent of many lines", "{{ ('a\\n' * 1000000)|indent(1000000) }}"},
      {"json indent", "{{ [1]|tojson(indent=10**12) }}"},
      {"deep json indent", "{{ [[[[1]]]]|tojson(indent=100000000) }}"},
      {"growing replace", big + "{{ s.replace('a', s) }}"},
      {"replace of nothing", big + "{{ s.replace('', s) }}"},
      {"a big join", big + "{{ s.join(range(99999)|map('string')) }}"},
      {"a big join filter", big + "{{ range(99999)|join(s) }}"},
      {"many words", "{{ ('a ' * 50000000).split() }}"},
      {"many characters", "{{ ('a' * 100000000)|list }}"},
      {"many lines", "{{ ('\\n' * 100000000).splitlines() }}"},
      {"a slow search",
       "{% set s = 'a' * 1000000 %}{% set t = 'a' * 500000 + 'b' %}{% for i in range(99999) %}{{ s.find(t) }}{% endfor "
       "%}"},
      {"a slow backward search",
       "{% set s = 'a' * 1000000 %}{% set t = 'b' + 'a' * 500000 %}{% for i in range(99999) %}{{ s.rfind(t) }}{% "
       "endfor %}"},
      {"slow comparisons",
       "{% set s = 'a' * 1000000 %}{% set t = s + '' %}{% for i in range(99999) %}{% for j in range(99999) %}{% if s "
       "== t %}{% endif %}{% endfor %}{% endfor %}"},
      {"slow strips", "{% set s = 'a' * 10000000 %}{% for i in range(99999) %}{% set t = s.strip('a') %}{% endfor %}"},
      {"slow case changes",
       "{% set s = 'a' * 10000000 %}{% for i in range(99999) %}{% set t = s.upper() %}{% endfor %}"},
      {"slow membership",
       looped("{% set s = 'a' * 1000000 %}{% set t = 'a' * 500000 + 'b' %}", "{% if t in s %}{% endif %}")},
      {"slow counts", looped("{% set s = 'a' * 1000000 %}", "{% if s.count('aab') %}{% endif %}")},
      {"slow replaces", looped("{% set s = 'a' * 1000000 %}", "{% set t = s.replace('ab', 'c') %}")},
      {"slow splits", looped("{% set s = 'a' * 1000000 %}", "{% set t = s.split('ab') %}")},
      {"slow backward splits", looped("{% set s = 'a' * 1000000 %}", "{% set t = s.rsplit('ba') %}")},
      {"slow partitions", looped("{% set s = 'a' * 1000000 %}", "{% set t = s.rpartition('ba') %}")},
      {"slow prefixes",
       looped("{% set s = 'a' * 1000000 %}{% set t = s + '' %}", "{% if s.startswith(t) %}{% endif %}")},
      {"slow orders", looped("{% set s = 'a' * 1000000 %}{% set t = s + 'b' %}", "{% if s < t %}{% endif %}")},
      {"slow keys", looped("{% set s = 'a' * 1000000 %}{% set d = {1: 1} %}", "{% if s in d %}{% endif %}")},
      {"slow slices", looped("{% set s = 'é' * 1000000 %}", "{% set t = s[999999] %}")},
      {"slow steps", looped("{% set s = 'a' * 1000000 %}", "{% set t = s[::-1] %}")},
      {"slow strips of space", looped("{% set s = ' ' * 1000000 %}", "{% set t = s.strip() %}")},
      {"slow questions", looped("{% set s = '1' * 1000000 %}", "{% if s.isdigit() %}{% endif %}")},
      {"slow numbers", looped("{% set s = '1' * 1000000 %}", "{% set t = s|float %}")},
      {"slow wraps", looped("{% set s = 'a' * 1000000 %}", "{% set t = s|wordwrap(1) %}")},
      {"slow entities", looped("{% set s = '&' * 1000000 %}", "{% set t = s|striptags %}")},
      {"slow joins of nothing", looped("{% set l = [''] * 99999 %}", "{% set t = l|join %}")},
      {"slow sums", looped("{% set l = [1] * 99999 %}", "{% set t = l|sum %}")},
      {"slow arguments",
       looped("{% set d = dict(range(9999)|map('string')|batch(2)|list) %}", "{% set t = dict(**d) %}")},
      {"slow named formats", looped("{% set s = '{1x}' * 9999 %}", "{% set t = s.replace('1', 'a').format(ax=1) %}")},
      {"slow output into variables", looped("{% set s = 'a' * 1000000 %}", "{% set t %}{{ s }}{% endset %}")},
      {"slow changes of a text that others hold",
       looped("{% set s = 'a' * 1000000 %}{% set s = s + 'b' %}", "{% set t = s + 'c' %}{% set t = s + 'd' %}")},
      {"many variables", many_variables(20000) + looped("", "{% set x = v1 %}{% set y = nothing %}")},
      {"a block that calls itself", "{% block a %}{{ self.a() }}{% endblock %}"},
      {"a list that would hold itself",
       "{% set ns = namespace(l=[1] * 20) %}{% for i in range(9999) %}{% set ns.l = ns.l + [[ns.l]] %}{% endfor %}"},
      {"lists behind lists",
       "{% set ns = namespace(l=[1] * 20) %}{% for i in range(99999) %}{% set ns.b = [1] * 10 + [1] * 10 %}{% set ns.t "
       "= "
       "ns.b + [ns.l] %}{% set ns.l = ns.b %}{% endfor %}{{ 'a' * 10**10 }}"},
      {"batch", "{{ [1]|batch(10**12, 0)|list }}"},
      {"slices", "{{ [1]|slice(10**12)|list }}"},
      {"a power", "{{ 10 ** 100 }}"},
      {"a power of powers", "{{ 2 ** 2 ** 2 ** 2 ** 2 ** 2 ** 2 }}"},
      {"integer overflow", "{{ 9223372036854775807 + 1 }}"},
      {"the smallest integer negated", "{{ -(-9223372036854775807 - 1) }}"},
      {"the smallest integer divided", "{{ (-9223372036854775807 - 1) // -1 }}"},
      {"a huge literal", "{{ 99999999999999999999 }}"},
      {"a namespace in itself, printed",
       "{% set ns = namespace() %}{% set ns.a = ns %}{% set ns.b = [ns, ns, ns, ns] %}{{ ns }}" + big +
           "{{ s * 100 }}"},
      {"a chain of namespaces",
       "{% set h = namespace(c=none) %}{% for i in range(99999) %}{% set h.c = namespace(p=h.c) %}{% endfor %}{% for a "
       "in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"},
      {"a loop that holds itself",
       "{% set ns = namespace() %}{% for i in [1] %}{% set ns.l = loop %}{{ loop.changed([loop, ns]) }}{% endfor %}{{ "
       "'a' * 10**10 }}"},
      {"a macro that holds itself",
       "{% set ns = namespace() %}{% macro m() %}{% endmacro %}{% set ns.m = m %}{% for i in [1] %}{% macro k() %}{{ "
       "ns }}{% endmacro %}{% set ns.k = k %}{% endfor %}{{ 'a' * 10**10 }}"},
      {"deep parentheses", "{{ " + repeated("(", 100000) + "1" + repeated(")", 100000) + " }}"},
      {"deep lists", "{{ " + repeated("[", 100000) + repeated("]", 100000) + " }}"},
      {"deep dicts", "{{ " + repeated("{1:", 100000) + "1" + repeated("}", 100000) + " }}"},
      {"many minuses", "{{ " + repeated("-", 100000) + "1 }}"},
      {"many nots", "{{ " + repeated("not ", 100000) + "1 }}"},
      {"a long sum", "{{ 1" + repeated(" + 1", 100000) + " }}"},
      {"a long and", "{{ 1" + repeated(" and 1", 100000) + " }}"},
      {"a long chain of attributes", "{{ a" + repeated(".a", 100000) + " }}"},
      {"a long chain of filters", "{{ 'a'" + repeated("|upper", 100000) + " }}"},
      {"a long chain of calls", "{{ a" + repeated("()", 100000) + " }}"},
      {"a long chain of elses", "{{ 1" + repeated(" if 0 else 1", 100000) + " }}"},
      {"a long chain of ifs", "{{ 1" + repeated(" if 1", 100000) + " }}"},
      {"deep ifs", repeated("{% if 1 %}", 100000)},
      {"deep fors", repeated("{% for a in [1] %}", 100000)},
      {"deep macros", repeated("{% macro m() %}", 100000)},
      {"deep targets", "{% set " + repeated("(", 100000) + "a" + repeated(")", 100000) + " = 1 %}"},
      {"a deep format", "{{ '" + repeated("{:", 10000) + repeated("}", 10000) + "'.format(1) }}"},
      {"a template of many bytes", std::string(9 << 20, 'a')},
  };
}

}  // namespace wick
