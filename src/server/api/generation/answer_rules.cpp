#include "server/api/generation/answer_rules.h"

#include "server/api/json_copy.h"

namespace wick {
namespace {

constexpr std::string_view kCallOpen = "<tool_call>";

// References are from the document's root, which the schema no longer is.
void move_references(OrderedJson& schema, const std::string& to) {
  if (schema.is_array()) {
    for (OrderedJson& item : schema) move_references(item, to);
  }
  if (!schema.is_object()) return;
  for (const auto& [name, value] : schema.items()) {
    if (name == "$ref" && value.is_string() && value.get_ref<const std::string&>().starts_with('#')) {
      value = cat("#", to, value.get_ref<const std::string&>().substr(1));
    } else {
      move_references(value, to);
    }
  }
}

int32_t id_or_none(const Tokenizer& tokenizer, std::string_view piece) {
  return piece.empty() ? -1 : tokenizer.id_of(piece).value_or(-1);
}

// Rethrows what a grammar says of the text that a client sent, with the field it stood in.
template <typename Make>
Grammar grammar_of(const std::string& param, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    const std::string_view said = error.what();  // "grammar: there is no rule 'root'" names it already
    throw RequestError(param, said.starts_with(cat(param, ": ")) ? std::string(said) : cat(param, ": ", said));
  }
}

void let_think_first(GrammarStart& start, const ResponseFormat& format, const TextModel& model,
                     const std::string& param) {
  if (format.tool_calls == ToolCallShape::kHarmony) {
    throw RequestError(param, cat(param, " is not supported for ", model.name(), ", which answers in channels"),
                       "unsupported_value");
  }
  if (!format.is_reasoning_off) start.think_open = id_or_none(model.tokenizer(), format.reasoning_open);
  start.think_close = id_or_none(model.tokenizer(), format.reasoning_close);
  start.is_thinking = format.starts_in_reasoning;
  if (start.think_close < 0) start.think_open = -1;
  if (start.is_thinking && start.think_close < 0) {
    throw RequestError(param,
                       cat(param, " is not supported for ", model.name(), ", the end of whose thinking is no token"),
                       "unsupported_value");
  }
}

AnswerRules forced_call(const ChatRequest& request, const TextModel& model, const ResponseFormat& format,
                        GrammarCache& grammars) {
  AnswerRules rules;
  let_think_first(rules.start, format, model, "tool_choice");
  const std::string& source = model.chat_template()->source(true);
  const bool tagged = format.tool_calls == ToolCallShape::kTagged && source.find("<function=") == source.npos;
  if (!tagged && format.tool_calls != ToolCallShape::kLlama3) {
    throw RequestError("tool_choice",
                       cat("tool_choice can only be 'auto' or 'none' for ", model.name(),
                           ": its way of writing calls cannot be enforced"),
                       "unsupported_value");
  }
  if (tagged) {
    EncodeOptions options;
    options.add_special = false;
    rules.start.forced = model.tokenizer().encode(cat(kCallOpen, "\n"), options);
  }
  const std::string_view only = request.tool_choice->mode == ToolChoice::Mode::kNamed
                                    ? std::string_view(request.tool_choice->name)
                                    : std::string_view();
  const OrderedJson schema = call_schema(request.tools, only, tagged ? "arguments" : "parameters");
  rules.grammar = grammar_of("tools", [&] { return grammars.json_schema(to_json(schema, "tools")); });
  return rules;
}

}  // namespace

OrderedJson call_schema(const std::vector<ToolRequest>& tools, std::string_view only, std::string_view arguments_name) {
  OrderedJson options = OrderedJson::array();
  for (const ToolRequest& tool : tools) {
    if (!only.empty() && tool.function.name != only) continue;
    OrderedJson arguments = {{"type", "object"}};
    if (tool.function.parameters) arguments = to_ordered(*tool.function.parameters);
    move_references(arguments, cat("/anyOf/", options.size(), "/properties/", arguments_name));
    OrderedJson properties = {{"name", {{"const", tool.function.name}}}};
    properties[std::string(arguments_name)] = std::move(arguments);
    options.push_back({{"type", "object"},
                       {"properties", std::move(properties)},
                       {"required", {"name", arguments_name}},
                       {"additionalProperties", false}});
  }
  return {{"anyOf", std::move(options)}};
}

AnswerRules answer_rules(const ChatRequest& request, const TextModel& model, const ResponseFormat& format,
                         GrammarCache& grammars) {
  const bool wants_json = request.response_format.type != "text";
  const bool forces_call = request.tool_choice && request.tool_choice->forces();
  if (request.grammar && (wants_json || forces_call)) {
    throw RequestError("grammar",
                       cat("grammar cannot be combined with ", forces_call ? "tool_choice" : "response_format"));
  }
  if (forces_call) return forced_call(request, model, format, grammars);
  AnswerRules rules;
  if (!request.grammar && !wants_json) return rules;
  const std::string param = request.grammar ? "grammar" : "response_format";
  let_think_first(rules.start, format, model, param);
  if (format.tool_calls != ToolCallShape::kNone) {  // there are tools, and it may call one instead
    rules.start.leave = format.tool_calls == ToolCallShape::kTagged ? id_or_none(model.tokenizer(), kCallOpen) : -1;
    if (rules.start.leave < 0) {
      throw RequestError(
          param, cat(param, " cannot be combined with tools for ", model.name(), ": where a call begins is no token"),
          "unsupported_value");
    }
  }
  rules.grammar = grammar_of(param, [&] {
    if (request.grammar) return grammars.gbnf(*request.grammar);
    const Json* schema = request.response_format.wanted_schema();
    if (!schema) return grammars.json_object();
    const bool is_any = request.response_format.member_order == "any";
    return grammars.json_schema(*schema, is_any ? MemberOrder::kAny : MemberOrder::kSchema);
  });
  return rules;
}

}  // namespace wick
