#include <exception>
#include <iostream>

#include "base/error.h"
#include "cli/commands.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

int run(int argc, char** argv) {
  CLI::App app("Wick runs models natively: language, speech, vision and image generation.", "wick");
  app.set_version_flag("--version", "wick " WICK_VERSION, "Show the version");
  app.footer("Exit codes: 0 ok, 1 failed, 2 wrong usage.");
  app.require_subcommand(1);
  wick::Action action;
  wick::add_doctor(app, action);
  wick::add_bench(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const wick::Error& error) {
    std::cerr << "wick: " << error.what() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "wick: unexpected problem: " << error.what() << "\n";
  }
  return kFailed;
}
