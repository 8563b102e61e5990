// The journal as a file: what survives a cut or a damage at every byte, and what never becomes visible.
#include "server/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "base/crc32c.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;
using Verdict = Journal::Verdict;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

JournalEntry request(const std::string& id, const std::string& body, const std::string& key = "") {
  JournalEntry entry;
  entry.id = id;
  entry.key = key;
  entry.model = "ember";
  entry.seed = 7;
  entry.body = std::make_shared<const std::string>(body);
  return entry;
}

// Thousands of journals are opened here, and a disk takes its time to flush each.
fs::path quick_place() { return fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path(); }

// What can be seen of a journal: per id, the body of what is pending or the response of what is not.
using View = std::map<std::string, std::string>;
View view_of(const Journal& journal, const std::vector<std::string>& ids) {
  View view;
  for (const std::string& id : ids) {
    const auto entry = journal.find(id);
    if (entry) view[id] = entry->is_finished() ? "response " + *entry->response : "body " + *entry->body;
  }
  return view;
}

class JournalTest : public testing::Test {
 protected:
  fs::path folder() const { return folder_.path() / "journal"; }
  fs::path file() const { return folder() / "journal.wick"; }
  JournalOptions options() {
    JournalOptions options;
    options.folder = folder();
    options.now = [this] { return now_; };
    return options;
  }
  std::vector<fs::path> copies() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder())) {
      if (entry.path().filename().string().starts_with("journal.wick.damaged-")) found.push_back(entry.path());
    }
    return found;
  }

  TempFolder folder_{quick_place()};
  int64_t now_ = 1'800'000'000;
};

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);  // the check value of its definition
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
}

TEST(JournalFrame, HasTheDocumentedLayout) {
  const std::string frame = journal_frame("123456789");
  ASSERT_EQ(frame.size(), 16u + 9u);
  EXPECT_EQ(frame.substr(0, 8), std::string("\xFFWJ1\x09\0\0\0", 8));
  EXPECT_EQ(frame.substr(8, 4), "\x83\x92\x06\xE3");
  EXPECT_EQ(frame.substr(16), "123456789");
  EXPECT_ERROR(journal_frame("a\xFF"), kInternal, "not UTF-8");
}

TEST_F(JournalTest, KeepsWhatItWasTold) {
  const std::string body = "{\"input\": \"\\u0000 \\\"quoted\\\" \xE2\x82\xAC\"}\n";
  {
    Journal journal(options());
    JournalEntry entry = request("a", body, "key");
    entry.owner = "tom";
    entry.seed = -5;
    EXPECT_EQ(journal.accept(entry).verdict, Verdict::kNew);
    journal.accept(request("b", "{}"));
    now_ += 10;
    EXPECT_EQ(journal.finish({{"b", "{\"status\": \"completed\"}"}}), (std::vector<std::string>{"b"}));
  }
  Journal journal(options());
  EXPECT_EQ(journal.findings(), std::vector<std::string>());
  const auto a = journal.find("a"), b = journal.find("b");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a->body, body);
  EXPECT_EQ(a->owner, "tom");
  EXPECT_EQ(a->key, "key");
  EXPECT_EQ(a->model, "ember");
  EXPECT_EQ(a->seed, -5);
  EXPECT_EQ(a->created, 1'800'000'000);
  EXPECT_EQ(*b->response, "{\"status\": \"completed\"}");
  EXPECT_EQ(b->finished, 1'800'000'010);
  EXPECT_FALSE(journal.find("c"));
  ASSERT_EQ(journal.pending().size(), 1u);
  EXPECT_EQ(journal.pending()[0].id, "a");
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// A journal written step by step, with the end of its file after each.
struct Steps {
  std::vector<std::function<void(Journal&)>> steps = {
      [](Journal& j) { j.accept(request("a", "{\"input\": \"one\"}")); },
      [](Journal& j) { j.accept(request("b", "{\"input\": \"two\"}", "key")); },
      [](Journal& j) {
        j.finish({{"a", "{\"status\": \"completed\"}"}});
      },
      [](Journal& j) { j.erase("b"); },
      [](Journal& j) { j.accept(request("c", "{\"input\": \"three\"}", "key")); },
  };
  std::vector<std::string> ids = {"a", "b", "c"};
  std::vector<size_t> ends = {0};
  std::vector<View> views;  // after so many steps

  explicit Steps(const JournalOptions& options) {
    Journal journal(options);
    views.push_back({});
    for (const auto& step : steps) {
      step(journal);
      ends.push_back(static_cast<size_t>(journal.size().file_bytes));
      views.push_back(view_of(journal, ids));
    }
  }
};

TEST_F(JournalTest, ACutAtEveryByteLosesTheLastRecordOnly) {
  const Steps steps(options());
  const std::string whole = bytes_of(file());
  ASSERT_EQ(whole.size(), steps.ends.back());
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    write_bytes(file(), whole.substr(0, cut));
    size_t done = 0;
    while (done + 1 < steps.ends.size() && steps.ends[done + 1] <= cut) ++done;
    {
      const Journal journal(options());
      ASSERT_EQ(view_of(journal, steps.ids), steps.views[done]) << "cut at " << cut;
      ASSERT_EQ(journal.findings().size(), steps.ends[done] == cut ? 0u : 1u) << "cut at " << cut;
      if (steps.ends[done] != cut) {
        ASSERT_NE(journal.findings()[0].find(cat("at byte ", steps.ends[done], ", was never finished")),
                  std::string::npos)
            << journal.findings()[0];
      }
    }
    ASSERT_EQ(bytes_of(file()), whole.substr(0, steps.ends[done]));
  }
  EXPECT_TRUE(copies().empty());
}

TEST_F(JournalTest, RoomWithoutContentsIsATornEnd) {
  const Steps steps(options());
  const std::string whole = bytes_of(file());
  for (const size_t zeros : {1u, 15u, 16u, 4096u}) {
    write_bytes(file(), whole + std::string(zeros, '\0'));
    const Journal journal(options());
    EXPECT_EQ(view_of(journal, steps.ids), steps.views.back());
    EXPECT_EQ(journal.size().file_bytes, std::ssize(whole));
  }
  EXPECT_TRUE(copies().empty());
}

// The state without step `lost`: each record stands for itself.
View without(const Steps& steps, size_t lost) {
  TempFolder folder(quick_place());
  JournalOptions options;
  options.folder = folder.path();
  options.now = [] { return int64_t{1'800'000'000}; };
  Journal journal(options);
  for (size_t i = 0; i < steps.steps.size(); ++i) {
    if (i != lost) steps.steps[i](journal);
  }
  View view = view_of(journal, steps.ids);
  // Its response is known although the request is lost.
  if (lost == 0) view["a"] = steps.views.back().at("a");
  return view;
}

TEST_F(JournalTest, ADamageAtEveryByteCostsOneRecord) {
  const Steps steps(options());
  const std::string whole = bytes_of(file());
  std::vector<View> expected;
  for (size_t i = 0; i < steps.steps.size(); ++i) expected.push_back(without(steps, i));
  // Where the deletion of b is lost, c was accepted under the key of a request that is still there.
  expected[3]["c"] = steps.views.back().at("c");
  std::mt19937 random(1);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 + random() % 255));
    fs::remove_all(folder());
    write_bytes(file(), damaged);
    size_t record = 0;
    while (steps.ends[record + 1] <= at) ++record;
    {
      const Journal journal(options());
      ASSERT_EQ(view_of(journal, steps.ids), expected[record]) << "byte " << at;
      ASSERT_EQ(journal.findings().size(), 1u) << "byte " << at;
      const std::string sentence = cat("journal.wick: ", steps.ends[record + 1] - steps.ends[record], " bytes at byte ",
                                       steps.ends[record], " are damaged and left out; a copy of the file is ");
      ASSERT_NE(journal.findings()[0].find(sentence), std::string::npos) << journal.findings()[0];
    }
    ASSERT_EQ(copies().size(), 1u);
    ASSERT_EQ(bytes_of(copies()[0]), damaged);
    const Journal again(options());  // the file is whole again
    ASSERT_EQ(again.findings().size(), 0u);
    ASSERT_EQ(view_of(again, steps.ids), expected[record]) << "byte " << at;
  }
}

// Bytes are changed, left out, doubled and moved. Whatever happens, no text is read that was not written.
TEST_F(JournalTest, InventsNothing) {
  const Steps steps(options());
  const std::string whole = bytes_of(file());
  std::vector<std::string> texts;
  scan_journal(whole, [&](std::string_view text, int64_t) { return texts.emplace_back(text), true; });
  ASSERT_EQ(texts.size(), steps.steps.size());
  std::mt19937 random(2);
  const auto up_to = [&](size_t most) { return static_cast<size_t>(random() % (most + 1)); };
  size_t read = 0, damaged = 0, torn = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (size_t change = up_to(4); change-- > 0 && !bytes.empty();) {
      const size_t at = up_to(bytes.size() - 1), count = up_to(std::min<size_t>(bytes.size() - at, 200));
      switch (up_to(4)) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes.erase(at, count); break;
        case 2: bytes.insert(up_to(bytes.size()), bytes.substr(at, count)); break;
        case 3: bytes.replace(at, count, std::string(count, '\0')); break;
        case 4: bytes.insert(at, journal_frame("{}").substr(0, up_to(18))); break;
      }
    }
    int64_t covered = 0;
    const JournalScan scan = scan_journal(bytes, [&](std::string_view text, int64_t record_bytes) {
      covered += record_bytes;
      const bool known = std::find(texts.begin(), texts.end(), text) != texts.end();
      EXPECT_TRUE(known || text == "{}") << text;
      ++read;
      return true;
    });
    for (const JournalScan::Piece& piece : scan.damage) covered += piece.bytes;
    ASSERT_EQ(covered, scan.good_bytes);
    ASSERT_EQ(scan.good_bytes + (scan.torn ? scan.torn->bytes : 0), std::ssize(bytes));
    damaged += scan.damage.empty() ? 0 : 1;
    torn += scan.torn ? 1 : 0;
  }
  EXPECT_GT(read, 20'000u);
  EXPECT_GT(damaged, 1'000u);
  EXPECT_GT(torn, 100u);
}

TEST_F(JournalTest, WhatIsNoRecordIsKeptAside) {
  const std::string foreign = "This is somebody's shopping list.\n";
  const std::string records[] = {journal_frame("[1, 2]"),
                                 journal_frame(R"({"record":"accepted","id":""})"),
                                 journal_frame(R"({"record":"accepted","id":"x","created":"now"})"),
                                 journal_frame(R"({"record":"praised","id":"x","created":1,"owner":"","key":"",
                                                  "model":"","seed":1,"body_hash":"1"})"),
                                 journal_frame(R"({"record":"finished","id":"x","created":1,"owner":"","key":"",
                                                  "model":"","seed":1,"body_hash":"1x","finished":1,"response":""})"),
                                 foreign};
  for (const std::string& bytes : records) {
    fs::remove_all(folder());
    write_bytes(file(), bytes);
    Journal journal(options());
    ASSERT_EQ(journal.findings().size(), 1u) << bytes;
    EXPECT_NE(journal.findings()[0].find(cat(bytes.size(), " bytes at byte 0 are damaged")), std::string::npos);
    ASSERT_EQ(copies().size(), 1u);
    EXPECT_EQ(bytes_of(copies()[0]), bytes);
    EXPECT_EQ(journal.size().entries, 0);
    EXPECT_EQ(journal.accept(request("a", "{}")).verdict, Verdict::kNew);
  }
}

TEST_F(JournalTest, ALengthThatLiesIsDamage) {
  for (const uint32_t length : {0x7FFFFFFFu, 0xFFFFFFF0u, (1u << 28) + 1}) {
    std::string header = "\xFFWJ1";
    const auto add = [&](uint32_t value) {
      for (int shift = 0; shift < 32; shift += 8) header += static_cast<char>(value >> shift);
    };
    add(length);
    add(0);
    add(crc32c(header));  // the sum is right
    const std::string good = journal_frame("{}");
    const JournalScan scan = scan_journal(header + "abc" + good, [](std::string_view, int64_t) { return true; });
    ASSERT_EQ(scan.damage.size(), 1u);
    EXPECT_EQ(scan.damage[0].bytes, 19);
    EXPECT_EQ(scan.good_bytes, 19 + std::ssize(good));
  }
}

TEST_F(JournalTest, TheFirstResponseCounts) {
  Journal journal(options());
  journal.accept(request("a", "{}"));
  EXPECT_EQ(journal.finish({{"a", "first"}, {"nobody", "x"}}), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(journal.finish({{"a", "second"}}).empty());
  EXPECT_EQ(*journal.find("a")->response, "first");
  EXPECT_TRUE(journal.erase("a"));
  EXPECT_FALSE(journal.erase("a"));
  EXPECT_TRUE(journal.finish({{"a", "third"}}).empty());
  EXPECT_FALSE(journal.find("a"));
}

TEST_F(JournalTest, AKeyGivesTheSameResponse) {
  for (const bool is_new : {true, false}) {  // also after a restart
    Journal journal(options());
    EXPECT_EQ(journal.accept(request(is_new ? "a" : "a2", "{}", "key")).verdict,
              is_new ? Verdict::kNew : Verdict::kKnown);
    const auto again = journal.accept(request("b", "{}", "key"));
    EXPECT_EQ(again.verdict, Verdict::kKnown);
    EXPECT_EQ(again.entry.id, "a");
    EXPECT_EQ(journal.accept(request("b", "{} ", "key")).verdict, Verdict::kOtherBody);
    JournalEntry other = request(is_new ? "c" : "c2", "{\"x\": 1}", "key");
    other.owner = "somebody else";
    EXPECT_EQ(journal.accept(other).verdict, is_new ? Verdict::kNew : Verdict::kKnown);
    journal.finish({{"a", "done"}});
    EXPECT_EQ(journal.accept(request("b", "{}", "key")).verdict, Verdict::kKnown);
    EXPECT_EQ(journal.accept(request("b", "[]", "key")).verdict, Verdict::kOtherBody);
  }
  Journal journal(options());
  journal.erase("a");
  EXPECT_EQ(journal.accept(request("b", "[]", "key")).verdict, Verdict::kNew);
}

TEST_F(JournalTest, ForgetsWhatWasKeptLongEnough) {
  JournalOptions wanted = options();
  wanted.keep_seconds = 100;
  {
    Journal journal(wanted);
    journal.accept(request("old", "{}", "key"));
    journal.accept(request("pending", "{}"));
    journal.finish({{"old", "done"}});
    now_ += 99;
    EXPECT_TRUE(journal.find("old"));
    journal.accept(request("young", "{}"));
    journal.finish({{"young", "done"}});
    now_ += 1;
    EXPECT_FALSE(journal.find("old"));
    EXPECT_TRUE(journal.find("young"));
    EXPECT_FALSE(journal.erase("old"));
    EXPECT_EQ(journal.accept(request("new", "{}", "key")).verdict, Verdict::kNew);
  }
  now_ += 98;
  Journal journal(wanted);
  EXPECT_EQ(view_of(journal, {"old", "pending", "young", "new"}),
            (View{{"pending", "body {}"}, {"young", "response done"}, {"new", "body {}"}}));
  now_ += 1'000'000;
  journal.tidy();
  EXPECT_EQ(view_of(journal, {"old", "pending", "young", "new"}), (View{{"pending", "body {}"}, {"new", "body {}"}}));
}

TEST_F(JournalTest, AClockThatWasAheadKeepsNothingForever) {
  JournalOptions wanted = options();
  wanted.keep_seconds = 100;
  {
    Journal journal(wanted);
    journal.accept(request("a", "{}"));
    now_ += 1'000'000;
    journal.finish({{"a", "done"}});
    now_ -= 1'000'000;
  }
  Journal journal(wanted);
  EXPECT_TRUE(journal.find("a"));
  now_ += 100;
  EXPECT_FALSE(journal.find("a"));
}

TEST_F(JournalTest, HasLimits) {
  JournalOptions wanted = options();
  wanted.most_entries = 3;
  wanted.most_bytes = 2000;
  wanted.keep_seconds = 100;
  Journal journal(wanted);
  EXPECT_EQ(journal.accept(request("a", std::string(1000, 'x'))).verdict, Verdict::kNew);
  EXPECT_EQ(journal.accept(request("b", std::string(1000, 'x'))).verdict, Verdict::kTooLarge);
  journal.accept(request("b", "{}"));
  journal.accept(request("c", "{}"));
  EXPECT_EQ(journal.accept(request("d", "{}")).verdict, Verdict::kTooMany);
  EXPECT_FALSE(journal.find("d"));
  journal.finish({{"a", "done"}});
  EXPECT_EQ(journal.accept(request("d", "{}")).verdict, Verdict::kTooMany);
  now_ += 100;  // makes room
  EXPECT_EQ(journal.accept(request("d", "{}")).verdict, Verdict::kNew);
}

TEST_F(JournalTest, BecomesSmallerAndStaysTheSame) {
  JournalOptions wanted = options();
  wanted.compact_from_bytes = 20'000;
  std::vector<std::string> ids;
  View expected;
  {
    Journal journal(wanted);
    int64_t largest = 0;
    for (int i = 0; i < 300; ++i) {
      const std::string id = cat("id-", i);
      ids.push_back(id);
      journal.accept(request(id, std::string(200, 'b'), cat("key-", i)));
      if (i % 3 != 0) journal.finish({{id, cat("response ", i)}});
      if (i % 10 != 0) journal.erase(id);
      journal.tidy();
      largest = std::max(largest, journal.size().file_bytes);
    }
    EXPECT_EQ(journal.size().entries, 30);
    EXPECT_LT(largest, 30'000);
    EXPECT_EQ(journal.size().file_bytes, static_cast<int64_t>(fs::file_size(file())));
    expected = view_of(journal, ids);
    EXPECT_EQ(expected.size(), 30u);
  }
  Journal journal(wanted);
  EXPECT_TRUE(journal.findings().empty());
  EXPECT_EQ(view_of(journal, ids), expected);
  const std::vector<JournalEntry> pending = journal.pending();
  ASSERT_EQ(pending.size(), 10u);  // every thirtieth, in the order they came
  for (size_t i = 0; i < pending.size(); ++i) EXPECT_EQ(pending[i].id, cat("id-", 30 * i));
  EXPECT_EQ(journal.accept(request("again", std::string(200, 'b'), "key-0")).entry.id, "id-0");
}

TEST_F(JournalTest, BelongsToOneServer) {
  {
    const Journal journal(options());
    EXPECT_ERROR(Journal(options()), kIo, "another server uses this journal");
  }
  const Journal journal(options());
  JournalOptions wanted = options();
  wanted.folder = "/proc/no/such/folder";
  EXPECT_ERROR(Journal(wanted), kIo, "/proc/no/such/folder/lock: cannot open");
}

// A full disk, as far as a test can make one.
TEST_F(JournalTest, WhatCannotBeWrittenHasNotHappened) {
  Journal journal(options());
  journal.accept(request("a", "{}"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{static_cast<rlim_t>(journal.size().file_bytes + 20), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  std::string sentences;
  const auto attempt = [&](const std::function<void()>& act) {
    try {
      act();
      sentences += "no error\n";
    } catch (const Error& error) {
      sentences += cat(error.what(), "\n");
    }
  };
  attempt([&] { journal.accept(request("b", "{}")); });
  attempt([&] { journal.finish({{"a", "done"}}); });
  attempt([&] { journal.erase("a"); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  const std::string expected = cat(file(), ": cannot write: File too large\n");
  EXPECT_EQ(sentences, expected + expected + expected);
  EXPECT_EQ(view_of(journal, {"a", "b"}), (View{{"a", "body {}"}}));
  EXPECT_EQ(fs::file_size(file()), static_cast<uintmax_t>(journal.size().file_bytes));
  journal.finish({{"a", "done"}});
  EXPECT_EQ(journal.accept(request("b", "{}")).verdict, Verdict::kNew);
  EXPECT_EQ(view_of(journal, {"a", "b"}), (View{{"a", "response done"}, {"b", "body {}"}}));
}

TEST_F(JournalTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 4, kEach = 20;
  std::vector<std::string> ids;
  for (int i = 0; i < kThreads * kEach; ++i) ids.push_back(cat("id-", i));
  {
    Journal journal(options());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = t * kEach; i < (t + 1) * kEach; ++i) {
          const std::string& id = ids[static_cast<size_t>(i)];
          journal.accept(request(id, "{}", i % 2 ? "" : cat("key ", i)));
          if (i % 4 == 0) journal.erase(id);
          if (i % 4 != 3) journal.finish({{id, "done"}});
          journal.tidy();
          journal.pending();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const Journal journal(options());
  View expected;
  for (int i = 0; i < kThreads * kEach; ++i) {
    if (i % 4 != 0) expected[ids[static_cast<size_t>(i)]] = i % 4 == 3 ? "body {}" : "response done";
  }
  EXPECT_EQ(view_of(journal, ids), expected);
}

}  // namespace
}  // namespace wick
