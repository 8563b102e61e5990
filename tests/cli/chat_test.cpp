// Talks with `wick chat`: through a pipe, and at a terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/process.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/pseudo_terminal.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class ChatCommand : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  ProcessResult chat(const std::string& lines, const std::vector<std::string>& arguments = {"-t", "0"}) const {
    std::vector<std::string> words = {
        "-c", "text=$1; shift; printf '%s' \"$text\" | \"$@\"", "sh", lines, WICK_PROGRAM, "chat"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_process("/bin/sh", words, {state_});
  }
  PseudoTerminal at_terminal(std::vector<std::string> arguments = {"-t", "0"}, int columns = 80) const {
    arguments.insert(arguments.begin(), "chat");
    return PseudoTerminal(WICK_PROGRAM, arguments, {state_}, columns);
  }

  TempFolder folder_;
  std::string state_ = cat("XDG_STATE_HOME=", path("state"));
};

TEST_F(ChatCommand, PipesGetAnswersAndNothingElse) {
  const auto result = chat("My name is Tom.\n\nWhat is my name?\nSay this: \\\nfox\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "");
  EXPECT_TRUE(contains(result.output, "\nYour name is Tom.\n")) << result.output;
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 3) << result.output;
  EXPECT_FALSE(contains(result.output, "\033")) << "escape codes in a pipe";
  EXPECT_FALSE(contains(result.output, ">")) << "a prompt in a pipe";
  EXPECT_FALSE(fs::exists(path("state"))) << "no history";
  EXPECT_EQ(chat("Who are you?").exit_code, 0) << "without a last line break";
  EXPECT_EQ(chat("").output, "");
}

TEST_F(ChatCommand, CommandsWorkInAPipe) {
  const std::string file = path("saved.json");
  const auto result =
      chat(cat("My name is Tom.\n/save ", file, "\n/clear\nWhat is my name?\n/load ", file,
               "\nWhat is my name?\n/undo\n/system Be brief.\n/set temperature 0\n/show\n/exit\nHello\n"));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(contains(result.output, "You did not tell me.\nYour name is Tom.\n")) << result.output;
  EXPECT_TRUE(contains(result.output, "Be brief.")) << result.output;
  EXPECT_TRUE(contains(result.output, "temperature        0")) << result.output;
  EXPECT_FALSE(contains(result.output, "Hello! How")) << "nothing after /exit";
  std::ifstream saved(file);
  const auto messages = nlohmann::json::parse(saved);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].at("content"), "My name is Tom.");
}

TEST_F(ChatCommand, ProblemsAreTold) {
  const auto result = chat("/nope\n/set topp 1\n/set top-p 7\n/load /no/such/file\n/undo\n/regenerate\nWho are you?\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.output.starts_with("I am Ember")) << "it goes on: " << result.output;
  for (const char* part :
       {"there is no command '/nope'", "there is no setting 'topp'; did you mean top-p?",
        "top_p must be from 0 to 1, not 7", "/no/such/file", "no message to take back", "no message to answer"}) {
    EXPECT_TRUE(contains(result.errors, part)) << part << " in\n" << result.errors;
  }
}

TEST_F(ChatCommand, ALongMessageIsNotTaken) {
  std::string message = "Say this: ";
  for (int i = 0; i < 100; ++i) message += "fox ";
  const auto result = chat(cat("My name is Tom.\n", message, "\nWhat is my name?\n"), {"-t", "0", "--context", "64"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "tokens, the context 64. The message was not taken")) << result.errors;
  EXPECT_TRUE(result.output.ends_with("\nYour name is Tom.\n")) << result.output;
  const auto full = chat("Tell me a story.\n", {"--context", "40"});
  EXPECT_TRUE(contains(full.errors, "The context of 40 tokens is full; /clear")) << full.errors;
}

TEST_F(ChatCommand, ModelsWithoutTemplateAreExplained) {
  const fs::path model = folder_.path() / "plain";
  fs::create_directories(model);
  for (const char* name : {"model.safetensors", "config.json", "tokenizer.json"}) {
    fs::create_symlink(fs::path(WICK_SOURCE_DIR "/models/ember") / name, model / name);
  }
  const auto result = chat("Hello\n", {model.string()});
  EXPECT_EQ(result.exit_code, 1);
  for (const char* part : {"plain has no chat template", "--template (chatml", "wick run --raw"}) {
    EXPECT_TRUE(contains(result.errors, part)) << result.errors;
  }
  EXPECT_TRUE(contains(chat("Who are you?\n", {model.string(), "--template", "chatml", "-t", "0"}).output, "Ember"));
}

TEST_F(ChatCommand, TheLastConversationGoesOn) {
  EXPECT_NE(chat("Hi\n", {"-c"}).errors.find("no conversation to continue yet"), std::string::npos);
  {
    PseudoTerminal terminal = at_terminal();
    terminal.wait_for("> ");
    terminal.type("My name is Tom.\r");
    terminal.wait_for("of 4096");
    terminal.type("\x04");
    EXPECT_EQ(terminal.wait(), 0);
  }
  const fs::path kept = fs::path(path("state")) / "wick" / "conversation.json";
  ASSERT_TRUE(fs::exists(kept));
  EXPECT_EQ(fs::status(kept).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(chat("What is my name?\n", {"-c", "-t", "0"}).output, "Your name is Tom.\n");
  PseudoTerminal terminal = at_terminal({"--continue", "-t", "0"});
  terminal.wait_for("The last conversation goes on; it has 2 messages.");
  terminal.type("What is my name?\r");
  terminal.wait_for("Your name is Tom.");
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatCommand, FilesAreAttached) {
  std::ofstream(path("note.txt")) << "My name is Tom.";
  std::ofstream(path("sound.wav"), std::ios::binary) << std::string("RIFF\0\0", 6);
  const auto result = chat(cat("/attach ", path("note.txt"), "\n/attach ", path("sound.wav"),
                               "\n/attach\nHello\n/save ", path("saved.json"), "\n"));
  EXPECT_TRUE(contains(result.errors, "sound.wav: is no text in UTF-8")) << result.errors;
  EXPECT_TRUE(contains(result.errors, "a file is given as /attach FILE")) << result.errors;
  std::ifstream saved(path("saved.json"));
  EXPECT_EQ(nlohmann::json::parse(saved).at(0).at("content"), "note.txt:\n```\nMy name is Tom.\n```\n\nHello");
}

TEST_F(ChatCommand, TabAndCtrlRAtATerminal) {
  PseudoTerminal terminal = at_terminal();
  terminal.wait_for("> ");
  terminal.type("/s\t");
  terminal.wait_for("/system  /set  /show  /save");
  terminal.type("et tempe\t0.5\r");
  terminal.wait_for("temperature is 0.5 now.");
  terminal.type("\x12");
  terminal.wait_for("(search '') ");
  terminal.type("tempe\r");
  terminal.wait_for("temperature is 0.5 now.");
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatCommand, AnswersAreWrappedAtWords) {
  PseudoTerminal terminal = at_terminal({"-t", "0"}, 40);
  terminal.wait_for("> ");
  terminal.type("Who are you?\r");
  // The word that did not fit was taken back.
  terminal.wait_for("I am Ember, the small model that comes ");
  terminal.wait_for("with Wick.");
  terminal.wait_for("of 4096");
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatCommand, AnswersAtATerminal) {
  PseudoTerminal terminal = at_terminal();
  terminal.wait_for("Ember");
  terminal.wait_for("> ");
  terminal.type("What is 348 plus 276");
  terminal.type(
      "\x7f"
      "5?\r");
  terminal.wait_for("348 + 275 = 623\r\n");
  terminal.wait_for("first after ");
  terminal.wait_for("of 4096");
  terminal.wait_for("> ");
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatCommand, InterruptStopsTheAnswerAndNotTheProgram) {
  PseudoTerminal terminal = at_terminal({"--ignore-end", "--seed", "1"});
  terminal.wait_for("> ");
  terminal.type("Tell me a story.\r");
  terminal.wait_for("the");
  terminal.type("\x03");
  terminal.wait_for("stopped; ");
  terminal.wait_for("> ");
  terminal.type("half a line\x03");  // forgets the line
  terminal.type("/show\r");
  terminal.wait_for("messages\033[0m           2");
  terminal.wait_for("> ");
  terminal.type("\x03");
  terminal.wait_for("again");
  terminal.type("\x03");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatCommand, PastesAndContinuedLinesAreOneMessage) {
  PseudoTerminal terminal = at_terminal();
  terminal.wait_for("\033[?2004h");
  terminal.type("\033[200~Give me JSON with name and age:\rTom is 7 years old.\033[201~\r");
  terminal.wait_for("{\"name\": \"Tom\", \"age\": 7}");
  terminal.wait_for("> ");
  terminal.type(
      "What is \\\r348 plus\x0a"
      "275?\r");
  terminal.wait_for("348 + 275 = 623");
  terminal.wait_for("> ");
  terminal.type(cat("/save ", path("saved.json"), "\r"));
  terminal.wait_for("4 messages");
  terminal.type("/exit\r");
  EXPECT_EQ(terminal.wait(), 0);
  std::ifstream saved(path("saved.json"));
  const auto messages = nlohmann::json::parse(saved);
  EXPECT_EQ(messages[0].at("content"), "Give me JSON with name and age:\nTom is 7 years old.");
  EXPECT_EQ(messages[2].at("content"), "What is \n348 plus\n275?");
}

TEST_F(ChatCommand, HistoryOutlivesTheProgram) {
  {
    PseudoTerminal terminal = at_terminal();
    terminal.wait_for("> ");
    terminal.type("What is 3 plus 4?\r");
    terminal.wait_for("3 + 4 = 7");
    terminal.wait_for("> ");
    terminal.type("\x04");
    EXPECT_EQ(terminal.wait(), 0);
  }
  EXPECT_EQ(fs::status(path("state/wick/history")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  PseudoTerminal terminal = at_terminal();
  terminal.wait_for("> ");
  terminal.type("\033[A");
  terminal.wait_for("What is 3 plus 4?");
  terminal.type("\r");
  terminal.wait_for("3 + 4 = 7");
}

TEST_F(ChatCommand, TypingAheadWaits) {
  PseudoTerminal terminal = at_terminal();
  terminal.wait_for("> ");
  terminal.type("Who are you?\rWhat is 348 plus 275?\r/exit\r");
  terminal.wait_for("I am Ember");
  terminal.wait_for("348 + 275 = 623");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatCommand, TerminalIsPutBack) {
  // The shell's own echo works again afterwards.
  PseudoTerminal terminal("/bin/sh", {"-c", cat("'", WICK_PROGRAM, "' chat; stty -a")}, {state_});
  terminal.wait_for("> ");
  terminal.type("/exit\r");
  const std::string settings = terminal.wait_for("echoke");
  EXPECT_TRUE(contains(settings, " icanon")) << settings;
  EXPECT_FALSE(contains(settings, "-icanon")) << settings;
  EXPECT_FALSE(contains(settings, "-echo ")) << settings;
  EXPECT_TRUE(contains(settings, "\033[?2004l")) << "pastes without brackets";
}

TEST(ChatHelp, GivesExamples) {
  for (const char* command : {"run", "chat"}) {
    const auto result = run_process(WICK_PROGRAM, {command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(contains(result.output, "Examples:")) << result.output;
    for (const char* option :
         {"--temperature", "--dry-multiplier", "--xtc-threshold", "--speculate", "--json-schema"}) {
      EXPECT_TRUE(contains(result.output, option)) << option;
    }
  }
}

}  // namespace
}  // namespace wick
