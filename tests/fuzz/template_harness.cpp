#include "fuzz/template_harness.h"

#include <cstdlib>

#include "chat/chat_template.h"
#include "chat/response_parser.h"

namespace wick {
namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void read_as_answer(std::string_view text) {
  for (int shape = 0; shape < kToolCallShapes; ++shape) {
    ResponseFormat format;
    format.tool_calls = static_cast<ToolCallShape>(shape);
    format.reasoning_open = "<think>";
    format.reasoning_close = "</think>";
    ResponseParser pieces(format);
    for (size_t at = 0; at < text.size(); at += 7) pieces.feed(text.substr(at, 7));
    pieces.finish();
    const Response whole = parse_response(text, format);
    require(whole.content == pieces.response().content && whole.reasoning == pieces.response().reasoning);
    require(whole.tool_calls.size() == pieces.response().tool_calls.size());
  }
}

}  // namespace

void fuzz_template(std::string_view source) {
  static const Json messages = Json::parse(
      R"([{"role": "user", "content": "Hi <b>é</b>", "n": [1, 2.5, null, true]},
          {"role": "assistant", "content": [{"type": "text", "text": "a\nb"}], "tool_calls": [{"name": "f", "arguments": "{\"a\": 1}"}]}])",
      "messages");
  std::string text(source.substr(0, 4096));
  try {
    ChatInput input;
    input.messages = jinja::Value(messages);
    input.tools = jinja::Value(messages);
    jinja::RenderOptions options;
    options.limits.work = 200'000;
    options.limits.memory = 8 << 20;
    options.limits.output = 1 << 20;
    options.clock = [] { return jinja::LocalTime{2026, 3, 9, 14, 5, 7}; };
    text = ChatTemplate::parse(source).render(input, options);
    require(text.size() <= 1 << 20);
  } catch (const Error& error) {
    require(*error.what() != '\0');
  }
  read_as_answer(std::string_view(text).substr(0, 4096));
}

std::vector<std::string> template_seeds() {
  return {
      "{% for m in messages if m.role %}{{ loop.index }}{{ loop.cycle(1, 2) }}{{ loop.previtem }}{% else %}{% endfor "
      "%}",
      "{% for m in messages recursive %}{{ loop.depth }}{{ loop(m.n) }}{% break %}{% continue %}{% endfor %}",
      "{% macro m(a, b=1) %}{{ caller(a) }}{{ varargs }}{{ kwargs }}{% endmacro %}{% call(x) m(1, 2, c=3) %}{{ x }}{% "
      "endcall %}",
      "{% set ns = namespace(a=1) %}{% set ns.a = ns.a ~ [1, (2,), {'a': -1.5e3}] %}{{ ns.a[1:-1:2] }}{{ ns }}",
      "{% set x | upper %}a{% endset %}{% filter indent(2) %}{{ x }}{% endfilter %}{% with a = 1 %}{{ a }}{% endwith "
      "%}",
      "{{ messages | tojson(indent=2) }}{{ messages | map(attribute='role') | join(',') }}{{ tools | list | length }}",
      "{{ messages[0].content.split('<', 1) }}{{ '%5.2f|%-4s|%x' % (1.5, 'a', 255) }}{{ '{:>8,.2f} "
      "{a[0]!r}'.format(1234.5, a=[1]) }}",
      "{{ 1 if 2 is odd and not 3 in [4] or 5 < 6 <= 7 else 8 ** 2 // 3 % 4 }}{{ -1 | abs | round(1, 'floor') }}",
      "{{ 'abc' | title | replace('a', 'b') | center(9) | truncate(5, true) | wordwrap(3) | urlize | e | striptags }}",
      "{{ messages | groupby('role') }}{{ [3, 1] | sort | unique | batch(2, 0) | list }}{{ {'b': 1} | dictsort | "
      "pprint }}",
      "{%- raw %}{{ x }}{% endraw -%}{# c #}{% generation %}{{ strftime_now('%Y-%m-%d') }}{% endgeneration %}",
      "{{ raise_exception('x') }}{{ cycler(1, 2).next() }}{{ joiner()() }}{{ dict(a=1) }}{{ range(3) | sum }}",
      "<think>a</think><tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>[TOOL_CALLS]f[ARGS]{}",
      "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call><｜DSML｜tool_calls><｜DSML｜invoke "
      "name=\"f\">"
      "<｜DSML｜parameter name=\"a\" string=\"true\">x</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",
      "{% block a %}{{ self.b() }}{% endblock %}{% block b scoped %}{{ self.a is defined }}{% endblock %}",
      "<|channel|>analysis<|message|>a<|end|><|start|>assistant "
      "to=functions.f<|message|>{}<|call|><|python_tag|>a.call(b=1)",
  };
}

}  // namespace wick
