#include "text/chat_template.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "text/builtin_templates.h"
#include "text/tool_arguments.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string file_text(const fs::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void ChatTemplate::add(std::string name, std::string_view source, const std::string& shown) {
  templates_.push_back({std::move(name), std::string(source), jinja::Template::parse(source, shown)});
}

ChatTemplate ChatTemplate::parse(std::string_view source, std::string name) {
  ChatTemplate result;
  result.add("default", source, name);
  return result;
}

void ChatTemplate::read_special_tokens(const Json& config) {
  for (const auto& [name, value] : config.as_object()) {
    if (!name.ends_with("_token")) continue;
    if (value.is_text()) set_variable(name, value.as_text());
    if (value.is_object() && value.find("content")) set_variable(name, value.at("content").as_text());
  }
}

std::optional<ChatTemplate> ChatTemplate::from_config(const Json& config) {
  const Json* given = config.find("chat_template");
  if (!given || given->is_null()) return std::nullopt;
  ChatTemplate result;
  if (given->is_text()) {
    result.add("default", given->as_text(), given->place());
  } else {
    for (const Json& item : given->as_array()) {
      const Json& source = item.at("template");
      result.add(item.at("name").as_text(), source.as_text(), source.place());
    }
  }
  if (result.templates_.empty()) return std::nullopt;
  result.read_special_tokens(config);
  return result;
}

std::optional<ChatTemplate> ChatTemplate::load(const fs::path& folder) {
  const fs::path config_path = folder / "tokenizer_config.json";
  const Json config = fs::exists(config_path) ? Json::load(config_path) : Json::parse("{}", config_path.string());
  std::optional<ChatTemplate> result;
  if (const fs::path path = folder / "chat_template.jinja"; fs::exists(path)) {
    result = parse(file_text(path), path.string());
  } else if (const fs::path json = folder / "chat_template.json"; fs::exists(json)) {
    result = from_config(Json::load(json));
  }
  if (!result) return from_config(config);
  result->read_special_tokens(config);
  return result;
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
