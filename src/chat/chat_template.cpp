#include "chat/chat_template.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/utf8.h"
#include "chat/builtin_templates.h"
#include "chat/tool_arguments.h"
#include "tokenizer/tokenizer_files.h"

namespace wick {

// Special tokens that the files name become variables. Empty when there are no templates.
std::optional<ChatTemplate> ChatTemplate::from_files(TokenizerFiles files) {
  if (files.templates.empty()) return std::nullopt;
  ChatTemplate result;
  for (TemplateSource& each : files.templates) {
    jinja::Template parsed = jinja::Template::parse(each.text, each.place);
    result.templates_.push_back({std::move(each.name), std::move(each.text), std::move(parsed)});
  }
  for (const Json* tokens : {&files.special_tokens, &files.tokenizer_config}) {
    if (!tokens->is_object()) continue;
    for (const auto& [name, value] : tokens->as_object()) {
      const bool is_token = name.ends_with("_token") && (value.is_text() || value.is_object());
      if (is_token) result.set_variable(name, files.special(name));
    }
  }
  return result;
}

ChatTemplate ChatTemplate::parse(std::string_view source, std::string name) {
  TokenizerFiles files;
  files.templates = {{"default", std::string(source), std::move(name)}};
  return *from_files(std::move(files));
}

std::optional<ChatTemplate> ChatTemplate::from_config(const Json& config) {
  TokenizerFiles files;
  files.tokenizer_config = config;
  files.templates = TokenizerFiles::templates_in(config);
  return from_files(std::move(files));
}

std::optional<ChatTemplate> ChatTemplate::load(const std::filesystem::path& folder) {
  return from_files(TokenizerFiles::load(folder));
}

std::vector<std::string_view> ChatTemplate::built_in_names() {
  std::vector<std::string_view> names;
  for (const BuiltinTemplate& known : builtin_templates()) names.push_back(known.name);
  return names;
}

ChatTemplate ChatTemplate::built_in(std::string_view name) {
  for (const BuiltinTemplate& known : builtin_templates()) {
    if (known.name == name) return parse(known.source, cat("template '", name, "'"));
  }
  std::string all;
  const auto names = built_in_names();
  for (const std::string_view known : names) all += cat(all.empty() ? "" : ", ", known);
  const std::string_view near = nearest(name, names);
  throw Error(ErrorCode::kInvalidArgument, cat("there is no built-in template ", in_quotes(name), ": they are ", all,
                                               near.empty() ? "" : cat("; did you mean '", near, "'?")));
}

const ChatTemplate::Named& ChatTemplate::pick(bool with_tools) const {
  const auto find = [&](std::string_view name) {
    return std::find_if(templates_.begin(), templates_.end(), [&](const Named& each) { return each.name == name; });
  };
  if (with_tools && find("tool_use") != templates_.end()) return *find("tool_use");
  return find("default") != templates_.end() ? *find("default") : templates_.front();
}

const std::string& ChatTemplate::source(bool with_tools) const { return pick(with_tools).source; }

std::string ChatTemplate::render(const ChatInput& input, const jinja::RenderOptions& options) const {
  jinja::Dict variables = variables_;
  variables.set("tools", input.tools);
  variables.set("documents", input.documents);
  variables.set("add_generation_prompt", input.add_generation_prompt);
  const jinja::Template& chosen = pick(!input.tools.is_none()).parsed;
  const auto render_with = [&](const jinja::Value& messages) {
    variables.set("messages", messages);
    for (const auto& [name, value] : input.variables.entries()) variables.set(name, value);
    return chosen.render(variables, options);
  };
  const auto parsed = with_parsed_arguments(input.messages);
  if (!parsed) return render_with(input.messages);
  try {
    std::string result = render_with(*parsed);
    if (!shows_python_arguments(result, *parsed)) return result;
    std::string other = render_with(input.messages);
    return shows_argument_texts(other, input.messages) ? other : result;
  } catch (const Error& error) {
    try {
      return render_with(input.messages);  // it joins the text to others
    } catch (const Error&) {
      throw error;
    }
  }
}

}  // namespace wick
