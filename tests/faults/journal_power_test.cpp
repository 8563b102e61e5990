// What a journal did to its file is played again as disks that lose power may have kept it: of what was not flushed,
// any part in any order, torn between sectors, and names old or new. Whatever was said before the loss is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "faults/fault_hook.h"
#include "faults/journal_ledger.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSector = 512;

// A file as it is on the disk, and what has been done to it since.
struct DiskFile {
  std::string durable;
  std::vector<DiskEvent> since;

  void apply(std::string& contents, const DiskEvent& event) const {
    const auto offset = static_cast<size_t>(event.offset);
    if (event.kind == DiskEvent::Kind::kTruncate) {
      contents.resize(offset);
    } else {
      contents.resize(std::max(contents.size(), offset + event.bytes.size()));
      std::copy(event.bytes.begin(), event.bytes.end(), contents.begin() + static_cast<std::ptrdiff_t>(offset));
    }
  }

  void sync() {
    for (const DiskEvent& event : since) apply(durable, event);
    since.clear();
  }

  std::string after_power_loss(std::mt19937& random) const {
    std::string contents = durable;
    for (const DiskEvent& event : since) {
      if (event.kind == DiskEvent::Kind::kTruncate) {
        if (random() % 2 == 0) apply(contents, event);
        continue;
      }
      // Its sectors, each kept or not; the file may have grown without them.
      const size_t begin = static_cast<size_t>(event.offset), end = begin + event.bytes.size();
      const int mood = static_cast<int>(random() % 4);  // nothing, all, any sectors, the first bytes
      if (mood == 1) apply(contents, event);
      if (mood == 3) {
        DiskEvent part = event;
        part.bytes.resize(random() % (event.bytes.size() + 1));
        apply(contents, part);
      }
      if (mood != 2) continue;
      if (random() % 2 == 0) contents.resize(std::max(contents.size(), begin + random() % (event.bytes.size() + 1)));
      for (size_t at = begin; at < end;) {
        const size_t next = std::min(end, (at / kSector + 1) * kSector);
        if (random() % 2 == 0) {
          DiskEvent part = event;
          part.offset = static_cast<int64_t>(at);
          part.bytes = event.bytes.substr(at - begin, next - at);
          apply(contents, part);
        }
        at = next;
      }
    }
    return contents;
  }
};

void take_note(std::map<std::string, JournalLedger::Said>& said, const std::string& note) {
  const size_t line = note.find('\n');
  auto& one = said[note.substr(0, line)];
  const std::string what = note.substr(line + 1);
  if (what == "accepted") one.is_accepted = true;
  if (what == "may be finished") one.may_be_finished = true;
  if (what == "finished") one.response = cat("the response to ", note.substr(0, line));
  if (what == "may be erased") one.may_be_erased = true;
  if (what == "erased") one.is_erased = true;
}

TEST(JournalPower, NothingThatWasSaidIsLost) {
  const TempFolder folder;
  JournalLedger ledger;
  record_disk(true);
  ledger.play_before(folder.path() / "journal");
  ledger.play(folder.path() / "journal");
  record_disk(false);
  ASSERT_EQ(ledger.problem(), "");
  const std::vector<DiskEvent> events = recorded_disk();
  ASSERT_GT(events.size(), 50u);

  std::mt19937 random(7);
  std::map<uint64_t, DiskFile> files;
  std::vector<uint64_t> names;  // of the journal: the one that is on the disk, then those it may have instead
  std::map<std::string, JournalLedger::Said> said;
  int tried = 0;
  for (const DiskEvent& event : events) {
    DiskFile& file = files[event.file];
    switch (event.kind) {
      case DiskEvent::Kind::kNew: file = {}; break;
      case DiskEvent::Kind::kWrite:
      case DiskEvent::Kind::kTruncate: file.since.push_back(event); break;
      case DiskEvent::Kind::kSync: file.sync(); break;
      case DiskEvent::Kind::kRename: names.push_back(event.file); break;
      case DiskEvent::Kind::kSyncFolder:
        if (!names.empty()) names.erase(names.begin(), names.end() - 1);
        break;
      case DiskEvent::Kind::kNote: take_note(said, event.bytes); break;
    }
    if (names.empty()) continue;
    for (int round = 0; round < 12; ++round) {
      const fs::path image = folder.path() / "image";
      fs::remove_all(image);
      fs::create_directory(image);
      const uint64_t kept = names[random() % names.size()];
      std::ofstream(image / "journal.wick", std::ios::binary) << files[kept].after_power_loss(random);
      JournalLedger after;
      after.set_said(said);
      ASSERT_EQ(after.problem_after_restart(image), "") << "round " << round << ", after " << tried;
      ++tried;
    }
  }
  EXPECT_GT(tried, 500);
}

}  // namespace
}  // namespace wick
