#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/error.h"
#include "base/machine.h"
#include "base/nearest.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/chat/chat_session.h"
#include "cli/read_text.h"

namespace wick {

struct ChatSession::Command {
  std::string_view name, argument, help;
  void (ChatSession::*run)(const std::string& argument);  // null: leaves
};

const ChatSession::Command ChatSession::kCommands[] = {
    {"/help", "", "this list", &ChatSession::help},
    {"/clear", "", "a new conversation", &ChatSession::clear},
    {"/system", "TEXT", "the system message; without TEXT: none", &ChatSession::set_system},
    {"/set", "NAME VALUE", "a setting, e.g. /set temperature 0", &ChatSession::set},
    {"/show", "", "the model, the settings and the context used", &ChatSession::show_settings},
    {"/save", "FILE", "write the messages as JSON", &ChatSession::save},
    {"/load", "FILE", "take over messages from JSON", &ChatSession::load},
    {"/attach", "FILE", "put a text file before the next message", &ChatSession::attach},
    {"/image", "FILE", "show a picture with the next message", &ChatSession::add_image},
    {"/video", "FILE", "show a video with the next message", &ChatSession::add_video},
    {"/regenerate", "", "another answer to the last message", &ChatSession::regenerate},
    {"/undo", "", "take back the last message and its answer", &ChatSession::undo},
    {"/exit", "", "leave (or Ctrl-D)", nullptr},
};

bool ChatSession::command(std::string_view line) {
  const size_t space = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string_view name = line.substr(0, space);
  const std::string_view rest = line.substr(std::min(line.find_first_not_of(" \t\n", space), line.size()));
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    names.push_back(command.name);
    if (command.name != name && !(name == "/quit" && !command.run)) continue;
    if (!command.run) return false;
    try {
      (this->*command.run)(std::string(rest));
    } catch (const Error& error) {
      complain(error.what());
    }
    return true;
  }
  const std::string_view near = nearest(name, names);
  complain(cat("there is no command ", in_quotes(name), near.empty() ? "" : cat(" (did you mean ", near, "?)"),
               "; /help lists them, and // begins a message with a slash"));
  return true;
}

namespace {

constexpr size_t kMostAttached = 4 << 20;  // bytes; the context is the limit that counts

// Files whose path begins like that, folders with a slash behind them.
std::vector<std::string> paths_like(std::string_view begin) {
  namespace fs = std::filesystem;
  const fs::path typed(begin);
  const std::string name = typed.filename().string();
  std::vector<std::string> paths;
  std::error_code problem, ignored;
  const fs::path folder = typed.has_parent_path() ? typed.parent_path() : fs::path(".");
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    const std::string entry = at->path().filename().string();
    if (!entry.starts_with(name) || (name.empty() && entry.starts_with('.')) || !is_utf8(entry)) continue;
    const bool is_folder = fs::is_directory(at->path(), ignored);
    paths.push_back(cat(begin.substr(0, begin.size() - name.size()), entry, is_folder ? "/" : ""));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

// A command, the name of a setting, or a file, by what stands before the cursor.
std::vector<std::string> ChatSession::completions(std::string_view text) {
  std::vector<std::string> all;
  if (!text.starts_with('/')) return all;
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) {
    for (const Command& command : kCommands) {
      if (command.name.starts_with(text)) all.push_back(cat(command.name, command.argument.empty() ? "" : " "));
    }
    return all;
  }
  const std::string_view name = text.substr(0, space), rest = text.substr(space + 1);
  if (name == "/set" && rest.find_first_of(" =") == std::string_view::npos) {
    if (std::string_view("max-tokens").starts_with(rest)) all.emplace_back("/set max-tokens ");
    for (const SamplingSetting& setting : sampling_settings()) {
      if (std::string_view(setting.name).starts_with(rest)) all.push_back(cat("/set ", setting.name, " "));
    }
  }
  if (name == "/save" || name == "/load" || name == "/attach" || name == "/image" || name == "/video") {
    for (const std::string& path : paths_like(rest)) all.push_back(cat(name, " ", path));
  }
  return all;
}

void ChatSession::attach(const std::string& path) {
  if (path.empty()) throw Error(ErrorCode::kInvalidArgument, "a file is given as /attach FILE");
  const std::string text = read_text(path);
  const std::string shown = printable(path);
  if (text.find('\0') != std::string::npos || !is_utf8(text)) {
    throw Error(ErrorCode::kBadFile, cat(shown, ": is no text in UTF-8"));
  }
  if (attached_.size() + text.size() > kMostAttached) {
    throw Error(ErrorCode::kInvalidArgument, cat(shown, ": has ", bytes_text(std::ssize(text)), ", at most ",
                                                 bytes_text(kMostAttached), " can be attached"));
  }
  const std::string name = std::filesystem::path(path).filename().string();
  attached_ += cat(name, ":\n```\n", text, text.ends_with('\n') ? "" : "\n", "```\n\n");
  if (interactive_) say(cat(shown, " goes before the next message.\n"));
}

void ChatSession::add_image(const std::string& path) {
  if (path.empty()) throw Error(ErrorCode::kInvalidArgument, "a picture is shown with /image FILE");
  show_next({{path, load_visual(path, false)}});
}

void ChatSession::add_video(const std::string& path) {
  if (path.empty()) throw Error(ErrorCode::kInvalidArgument, "a video is shown with /video FILE");
  show_next({{path, load_visual(path, true)}});
}

void ChatSession::help(const std::string&) {
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  for (const Command& command : kCommands) {
    const std::string usage = cat("  ", command.name, command.argument.empty() ? "" : " ", command.argument);
    table.add({{usage}, {std::string(command.help), Colour::kDim}});
  }
  table.add({{"  Tab, Ctrl-R"}, {"completes a command; searches what was typed before", Colour::kDim}});
  table.add({{"  \\ and Enter"}, {"the message goes on in a new line; so do Ctrl-J and Alt-Enter", Colour::kDim}});
  std::cout << table.text(terminal_) << "\n" << std::flush;
}

void ChatSession::clear(const std::string&) {
  conversation_.clear();
  attached_.clear();
  shown_.clear();
  used_ = 0;
  if (interactive_) say("A new conversation.\n");
}

void ChatSession::set_system(const std::string& text) {
  conversation_.set_system(text);
  if (interactive_) say(text.empty() ? "No system message.\n" : "The system message is set.\n");
}

void ChatSession::set(const std::string& text) {
  const size_t space = text.find_first_of(" =");
  if (space == std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument, "a setting is given as /set NAME VALUE; /show lists them");
  }
  const std::string name = text.substr(0, space);
  const std::string value = text.substr(std::min(text.find_first_not_of(" =", space), text.size()));
  if (name == "max-tokens") {
    int64_t count = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), count);
    if (problem != std::errc() || end != value.data() + value.size() || count < -1) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("max-tokens must be a whole number from -1, not ", in_quotes(value)));
    }
    arguments_.max_tokens = params_.max_new_tokens = count;
  } else {
    arguments_.sampling.set(name, value);
    params_.sampling = arguments_.sampling.params_for(*model_);
    if (name == "seed") answers_ = 0;
  }
  if (interactive_) say(cat(name, " is ", value, " now.\n"));
}

void ChatSession::show_settings(const std::string&) {
  const ModelFacts& facts = model_->model().facts();
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  const auto row = [&](std::string_view name, const std::string& value) {
    table.add({{cat("  ", name), Colour::kDim}, {value}});
  };
  row("model", cat(printable(model_->name()), ", ", facts.family, ", ", facts.layers, " layers"));
  row("weights", cat(facts.parameters, " in ", bytes_text(facts.weight_bytes)));
  row("context", cat(used_, " of ", conversation_.context(), " tokens used"));
  row("messages", cat(conversation_.messages().size()));
  if (!conversation_.system().empty()) row("system", printable(conversation_.system(), 60));
  row("max-tokens", params_.max_new_tokens < 0 ? "no limit" : cat(params_.max_new_tokens));
  for (const SamplingSetting& setting : sampling_settings()) row(setting.name, setting.get(params_.sampling));
  std::cout << table.text(terminal_) << "\n" << std::flush;
}

void ChatSession::save(const std::string& path) {
  if (path.empty()) throw Error(ErrorCode::kInvalidArgument, "a file is given as /save FILE");
  const std::string text = conversation_.to_json() + "\n";
  OutputFile file(path);
  file.write_at(0, std::as_bytes(std::span(text)));
  file.finish();
  if (interactive_) say(cat(conversation_.messages().size(), " messages are in ", printable(path), ".\n"));
}

void ChatSession::load(const std::string& path) {
  if (path.empty()) throw Error(ErrorCode::kInvalidArgument, "a file is given as /load FILE");
  conversation_.load(Json::load(path));
  used_ = 0;
  if (interactive_) say(cat(conversation_.messages().size(), " messages are here; the conversation goes on.\n"));
}

void ChatSession::undo(const std::string&) {
  if (!conversation_.undo()) throw Error(ErrorCode::kInvalidArgument, "there is no message to take back");
  if (interactive_) say("The last message and its answer are taken back.\n");
}

}  // namespace wick
