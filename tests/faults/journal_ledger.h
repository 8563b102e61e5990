#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "faults/fault_hook.h"
#include "server/journal.h"

namespace wick {

// A journal at work, with an account of what it has said: that is what must be true afterwards.
class JournalLedger {
 public:
  struct Said {
    bool is_accepted = false, is_erased = false;
    bool may_be_erased = false, may_be_finished = false;  // it was tried and failed: both are right
    std::string response;                                 // of which it said that it is kept
  };

  // What an earlier process left: two entries, and the beginning of a record.
  void play_before(const std::filesystem::path& folder) {
    const FaultFree quiet;
    {
      Journal journal(options(folder));
      accept(journal, "old-a", "key-a");
      accept(journal, "old-b", "");
      finish(journal, {"old-b"});
    }
    append_to(folder / "journal.wick", std::string("\xFFWJ1\x07", 5));
  }

  // All that a server does with it. What fails is tried once more, and must then succeed.
  void play(const std::filesystem::path& folder) {
    std::optional<Journal> journal;
    if (!twice([&] { journal.emplace(options(folder)); })) return fail("the journal cannot be opened");
    twice([&] { accept(*journal, "a", "key-1"); });
    twice([&] { accept(*journal, "b", "key-2"); });
    twice([&] { accept(*journal, "c", ""); });
    twice([&] { finish(*journal, {"a", "old-a"}); });
    twice([&] { erase(*journal, "a"); });
    twice([&] { journal->tidy(); });
    twice([&] { accept(*journal, "d", "key-1"); });
    twice([&] { accept(*journal, "e", "key-3"); });
    twice([&] { finish(*journal, {"b", "d"}); });
    twice([&] { journal->tidy(); });
    twice([&] { finish(*journal, {"e"}); });
    const FaultFree quiet;
    check(*journal, "in memory");
    // The same request again is known by its key, and another one is not taken for it.
    for (const auto& [key, id] : ids_by_key_) {
      if (!said_[id].is_accepted || said_[id].may_be_erased) continue;
      const auto again = journal->accept(entry("again", key, id));
      if (again.verdict != Journal::Verdict::kKnown || again.entry.id != id) fail(cat(id, " is not known by its key"));
    }
  }

  // Empty when all is as it was said.
  const std::string& problem() const { return problem_; }
  std::string problem_after_restart(const std::filesystem::path& folder) {
    const FaultFree quiet;
    problem_.clear();
    try {
      const Journal journal(options(folder));
      check(journal, "after a restart");
    } catch (const std::exception& error) {
      fail(cat("it cannot be opened again: ", error.what()));
    }
    return problem_;
  }
  const std::map<std::string, Said>& said() const { return said_; }
  void set_said(std::map<std::string, Said> said) { said_ = std::move(said); }

  static JournalOptions options(const std::filesystem::path& folder) {
    JournalOptions options;
    options.folder = folder;
    options.compact_from_bytes = 1;  // so that tidy() writes the file anew
    options.now = [] { return int64_t{1'700'000'000}; };
    return options;
  }

 private:
  static JournalEntry entry(const std::string& id, const std::string& key, const std::string& body) {
    JournalEntry entry;
    entry.id = id;
    entry.key = key;
    entry.model = "ember";
    entry.body = std::make_shared<const std::string>(cat("the body of ", body));
    return entry;
  }

  void accept(Journal& journal, const std::string& id, const std::string& key) {
    const auto result = journal.accept(entry(id, key, id));
    const FaultFree quiet;
    if (result.verdict != Journal::Verdict::kNew) return fail(cat(id, " is not new"));
    said_[id].is_accepted = true;
    if (!key.empty()) ids_by_key_[key] = id;
    tell(id, "accepted");
  }

  void finish(Journal& journal, const std::vector<std::string>& ids) {
    std::vector<Journal::Result> results;
    {
      const FaultFree quiet;
      for (const std::string& id : ids) {
        results.push_back({id, cat("the response to ", id)});
        said_[id].may_be_finished = true;
        tell(id, "may be finished");
      }
    }
    const auto finished = journal.finish(std::move(results));
    const FaultFree quiet;
    for (const std::string& id : finished) {
      said_[id].response = cat("the response to ", id);
      tell(id, "finished");
    }
  }

  void erase(Journal& journal, const std::string& id) {
    {
      const FaultFree quiet;
      said_[id].may_be_erased = true;
      tell(id, "may be erased");
    }
    const bool was_there = journal.erase(id);
    const FaultFree quiet;
    if (!was_there) fail(cat(id, " was not there to erase"));
    said_[id].is_erased = true;
    ids_by_key_.erase("key-1");
    tell(id, "erased");
  }

  void check(const Journal& journal, const char* when) {
    for (const auto& [id, said] : said_) {
      const auto entry = journal.find(id);
      const bool must_be_there = said.is_accepted && !said.may_be_erased;
      if (must_be_there && !entry) fail(cat(id, " was accepted and is not there ", when));
      if (said.is_erased && entry) fail(cat(id, " was erased and is there ", when));
      if (!entry) continue;
      if (!said.response.empty() && (!entry->response || *entry->response != said.response)) {
        fail(cat(id, " was finished and has no response ", when));
      }
      if (entry->response && !said.may_be_finished) fail(cat(id, " has a response that nobody gave it ", when));
      if (!entry->response && *entry->body != cat("the body of ", id)) fail(cat(id, " has another body ", when));
    }
  }

  // True when it went well, the first time or the second.
  bool twice(const std::function<void()>& act) {
    for (int left = 2; left > 0; --left) {
      try {
        act();
        return true;
      } catch (const Error& error) {
        if (left == 1) fail(cat("fails again: ", error.what()));
      } catch (const std::bad_alloc&) {
        if (left == 1) fail("fails again: no memory");
      } catch (const std::exception& error) {
        fail(cat("another exception than Error: ", error.what()));
      }
    }
    return false;
  }

  void fail(const std::string& what) {
    const FaultFree quiet;
    problem_ += cat(problem_.empty() ? "" : "; ", what);
  }
  static void tell(const std::string& id, const char* what) { note_disk(cat(id, "\n", what)); }
  static void append_to(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
  }

  std::map<std::string, Said> said_;
  std::map<std::string, std::string> ids_by_key_;
  std::string problem_;
};

}  // namespace wick
