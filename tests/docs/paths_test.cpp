// Every file or folder of this repository that a document names must be there, so that nobody follows a dead end.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "support/places.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = WICK_SOURCE_DIR;

// "a/{b,c}.{h,cpp}" is four names.
std::vector<std::string> expanded(const std::string& name) {
  const size_t open = name.find('{'), close = name.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {name};
  std::vector<std::string> all;
  for (size_t begin = open + 1; begin <= close;) {
    const size_t end = std::min(name.find(',', begin), close);
    for (const std::string& rest : expanded(name.substr(close + 1))) {
      all.push_back(name.substr(0, open) + name.substr(begin, end - begin) + rest);
    }
    begin = end + 1;
  }
  return all;
}

bool matches(const std::string& name, const std::string& pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') return matches(name, pattern.substr(1)) || (!name.empty() && matches(name.substr(1), pattern));
  return !name.empty() && name[0] == pattern[0] && matches(name.substr(1), pattern.substr(1));
}

// "tests/server/*_test.cpp" names what lies there; "benches/cuda/cuda_bench.cpp:12" a line of a file.
bool is_there(const fs::path& folder, const std::string& name) {
  const size_t slash = name.find('/');
  const std::string first = name.substr(0, slash);
  if (first.find('*') == std::string::npos) {
    const fs::path path = folder / first;
    if (slash == std::string::npos || slash + 1 == name.size()) return fs::exists(path);
    return is_there(path, name.substr(slash + 1));
  }
  if (!fs::is_directory(folder)) return false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!matches(entry.path().filename().string(), first)) continue;
    if (slash == std::string::npos || slash + 1 == name.size() || is_there(entry.path(), name.substr(slash + 1))) {
      return true;
    }
  }
  return false;
}

struct Named {
  std::string name;  // as it is written
  size_t line;
};

// Names that begin with a folder of the repository; in backticks also those that leave out "src/"; targets of links.
std::vector<Named> names_in(const std::string& text) {
  static const std::regex kFull(
      R"((^|[^A-Za-z0-9_/.-])((src|tests|docs|tools|benches|cmake|web|examples|include)/[A-Za-z0-9_./{},*-]*))");
  static const std::regex kShort(R"(`([a-z0-9_]+/[A-Za-z0-9_./{},*-]+\.(h|cpp|cu|cuh|inc|js|mjs|css|py|md))"
                                 R"(|[a-z0-9_]+/[A-Za-z0-9_./-]*\{[^`]*\})`)");
  static const std::regex kLink(R"(\]\(([^)#: ]+)(#[^)]*)?\))");
  std::vector<Named> names;
  size_t number = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ++number;
    for (const auto& [pattern, group] : {std::pair(&kFull, 2), std::pair(&kShort, 1), std::pair(&kLink, 1)}) {
      for (std::sregex_iterator at(line.begin(), line.end(), *pattern), end; at != end; ++at) {
        std::string name = (*at)[static_cast<size_t>(group)];
        while (name.ends_with('.') || name.ends_with(',') || name.ends_with('-')) name.pop_back();
        const bool again = !names.empty() && std::any_of(names.begin(), names.end(), [&](const Named& each) {
          return each.line == number && each.name == name;
        });
        if (!again) names.push_back({name, number});
      }
    }
  }
  return names;
}

bool is_named_rightly(const std::string& name, const fs::path& document) {
  for (const std::string& each : expanded(name)) {
    if (!is_there(kRoot, each) && !is_there(kRoot / "src", each) && !is_there(kRoot / "include", each) &&
        !is_there(document.parent_path(), each))
      return false;
  }
  return true;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> problems_of(const fs::path& document, const std::string& text) {
  std::vector<std::string> problems;
  for (const Named& named : names_in(text)) {
    if (!is_named_rightly(named.name, document)) {
      problems.push_back(cat(fs::relative(document, kRoot), ":", named.line, ": there is no ", named.name));
    }
  }
  return problems;
}

TEST(DocumentsTest, NameFilesThatExist) {
  std::vector<fs::path> documents = {kRoot / "README.md", kRoot / "CONTRIBUTING.md"};
  for (const char* folder : {"docs", "examples", "src"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().extension() == ".md") documents.push_back(entry.path());
    }
  }
  size_t names = 0;
  for (const fs::path& document : documents) {
    const std::string text = contents(document);
    names += names_in(text).size();
    for (const std::string& problem : problems_of(document, text)) ADD_FAILURE() << problem;
  }
  EXPECT_GT(documents.size(), 10u);
  EXPECT_GT(names, 200u);  // else they are not recognised any more
}

// In architecture.md and cuda.md, too, names of files without a folder must be those of some file.
TEST(DocumentsTest, NameFilesWithoutFoldersThatExist) {
  std::set<std::string> known;
  for (const char* folder : {"src", "tests", "benches", "cmake", "docs", "web", "tools", "examples", "include"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      known.insert(entry.path().filename().string());
    }
  }
  static const std::regex kFile(R"(`([A-Za-z0-9_*{},-]+\.(h|cpp|cu|cuh|inc|js|mjs|css)|[a-z0-9_]+\.\{h,cpp\})`)");
  for (const char* document :
       {"docs/architecture.md", "docs/cuda.md", "docs/cpu.md", "docs/speech.md", "docs/web.md", "docs/grammars.md"}) {
    const std::string text = contents(kRoot / document);
    EXPECT_FALSE(text.empty()) << document;
    for (std::sregex_iterator at(text.begin(), text.end(), kFile), end; at != end; ++at) {
      for (const std::string& name : expanded((*at)[1])) {
        const bool found =
            std::any_of(known.begin(), known.end(), [&](const auto& each) { return matches(each, name); });
        EXPECT_TRUE(found) << document << ": there is no file " << name;
      }
    }
  }
}

// The test itself: what is wrong must be found, and what is right let through.
TEST(DocumentsTest, WrongNamesAreFound) {
  const fs::path document = kRoot / "docs" / "some.md";
  const auto problems = [&](const std::string& text) { return problems_of(document, text); };
  EXPECT_EQ(problems("`src/ops/unary.{h,cpp}`, tests/ops/*_test.cpp, [cuda](cuda.md), `ops/unary.h`, src/ops/."),
            std::vector<std::string>{});
  EXPECT_EQ(problems("a line\nRead `src/ops/silu.{h,cpp}` first."),
            std::vector<std::string>{"docs/some.md:2: there is no src/ops/silu.{h,cpp}"});
  EXPECT_EQ(problems("`ops/no_such.h`").size(), 1u);
  EXPECT_EQ(problems("[here](cuda.md#dispatch), [there](no_such.md#part), [far](https://example.org/no_such.md)"),
            std::vector<std::string>{"docs/some.md:1: there is no no_such.md"});
  EXPECT_EQ(problems("see [it](../docs/no_such.md) and tools/no-such-tool").size(), 2u);
  EXPECT_EQ(problems("src/ops/unary.{h,cu}").size(), 1u);
  EXPECT_EQ(problems("src/no_*.cpp").size(), 1u);
  EXPECT_EQ(expanded("a/{b,c}.{h,cpp}"), (std::vector<std::string>{"a/b.h", "a/b.cpp", "a/c.h", "a/c.cpp"}));
}

}  // namespace
}  // namespace wick
