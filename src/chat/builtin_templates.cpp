#include "chat/builtin_templates.h"

namespace wick {
namespace {

// Contents may be text or a list of parts: every template starts with this macro.
#define WICK_TEXT_OF                                            \
  "{%- macro text_of(content) -%}\n"                            \
  "  {%- if content is string -%}\n"                            \
  "    {{- content -}}\n"                                       \
  "  {%- elif content is iterable -%}\n"                        \
  "    {%- for part in content -%}\n"                           \
  "      {{- part if part is string else part.text or '' -}}\n" \
  "    {%- endfor -%}\n"                                        \
  "  {%- endif -%}\n"                                           \
  "{%- endmacro -%}\n"

constexpr std::string_view kChatMl = WICK_TEXT_OF
    R"({%- if tools %}
    {%- set first = messages[0] if messages and messages[0].role == 'system' else none %}
    {{- '<|im_start|>system\n' }}
    {%- if first %}
        {{- text_of(first.content) + '\n\n' }}
    {%- endif %}
    {{- '# Tools\n\nThese functions can be called:\n<tools>\n' }}
    {%- for tool in tools %}
        {{- tool | tojson + '\n' }}
    {%- endfor %}
    {{- '</tools>\n\nTo call one, answer with a JSON object inside tags:\n<tool_call>\n' }}
    {{- '{"name": <the function>, "arguments": <an object>}\n</tool_call><|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if not (tools and loop.first and message.role == 'system') %}
        {{- '<|im_start|>' + ('user' if message.role == 'tool' else message.role) + '\n' }}
        {%- if message.role == 'tool' %}
            {{- '<tool_response>\n' + text_of(message.content) + '\n</tool_response>' }}
        {%- else %}
            {{- text_of(message.content) }}
            {%- for call in message.tool_calls or [] %}
                {%- set function = call.function or call %}
                {{- '\n' if message.content or not loop.first }}
                {{- '<tool_call>\n{"name": ' + function.name | tojson + ', "arguments": ' }}
                {{- function.arguments if function.arguments is string else function.arguments | tojson }}
                {{- '}\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %})";

constexpr std::string_view kLlama3 = WICK_TEXT_OF
    R"({{- bos_token or '<|begin_of_text|>' }}
{%- if tools and not (messages and messages[0].role == 'system') %}
    {%- set messages = [{'role': 'system', 'content': ''}] + messages %}
{%- endif %}
{%- for message in messages %}
    {{- '<|start_header_id|>' + ('ipython' if message.role == 'tool' else message.role) + '<|end_header_id|>\n\n' }}
    {%- if message.tool_calls %}
        {%- for call in message.tool_calls %}
            {%- set function = call.function or call %}
            {{- '{"name": ' + function.name | tojson + ', "parameters": ' }}
            {{- function.arguments if function.arguments is string else function.arguments | tojson }}
            {{- '}' }}
        {%- endfor %}
    {%- else %}
        {{- text_of(message.content) | trim }}
    {%- endif %}
    {%- if tools and loop.first %}
        {{- '\n\nThese functions can be called; to call one, answer only with JSON of the form ' }}
        {{- '{"name": <the function>, "parameters": <an object>}.' }}
        {%- for tool in tools %}
            {{- '\n\n' + tool | tojson(indent=4) }}
        {%- endfor %}
    {%- endif %}
    {{- '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})";

constexpr std::string_view kGemma = WICK_TEXT_OF
    R"({{- bos_token or '<bos>' }}
{%- set state = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set state.system = state.system + text_of(message.content) | trim + '\n\n' %}
    {%- else %}
        {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\n' }}
        {%- if message.role != 'assistant' %}
            {{- state.system }}
            {%- set state.system = '' %}
        {%- endif %}
        {{- text_of(message.content) | trim + '<end_of_turn>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\n' }}
{%- endif %})";

constexpr std::string_view kMistral = WICK_TEXT_OF
    R"({{- bos_token or '<s>' }}
{%- set state = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set state.system = state.system + text_of(message.content) + '\n\n' %}
    {%- elif message.role == 'user' %}
        {%- if tools and loop.last %}
            {{- '[AVAILABLE_TOOLS] ' + tools | tojson + '[/AVAILABLE_TOOLS]' }}
        {%- endif %}
        {{- '[INST] ' + state.system + text_of(message.content) + ' [/INST]' }}
        {%- set state.system = '' %}
    {%- elif message.role == 'tool' %}
        {{- '[TOOL_RESULTS] ' + {'content': text_of(message.content)} | tojson + '[/TOOL_RESULTS]' }}
    {%- elif message.tool_calls %}
        {{- '[TOOL_CALLS] [' }}
        {%- for call in message.tool_calls %}
            {%- set function = call.function or call %}
            {{- ', ' if not loop.first }}
            {{- '{"name": ' + function.name | tojson + ', "arguments": ' }}
            {{- function.arguments if function.arguments is string else function.arguments | tojson }}
            {{- '}' }}
        {%- endfor %}
        {{- ']' + (eos_token or '</s>') }}
    {%- else %}
        {{- ' ' + text_of(message.content) | trim + (eos_token or '</s>') }}
    {%- endif %}
{%- endfor %})";

constexpr std::string_view kPhi3 = WICK_TEXT_OF
    R"({%- for message in messages %}
    {{- '<|' + message.role + '|>\n' + text_of(message.content) + '<|end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n' }}
{%- endif %})";

constexpr BuiltinTemplate kTemplates[] = {
    {"chatml", kChatMl}, {"llama-3", kLlama3}, {"gemma", kGemma}, {"mistral", kMistral}, {"phi-3", kPhi3},
};

}  // namespace

std::span<const BuiltinTemplate> builtin_templates() { return kTemplates; }

}  // namespace wick
