// Every allocation and every call on the journal's files fails once, one after the other: what was said to be accepted
// or finished is there afterwards, and the journal goes on.
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <new>

#include "base/error.h"
#include "base/text.h"
#include "faults/fault_hook.h"
#include "faults/journal_ledger.h"
#include "server/journal.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

// Runs the scenario with the Nth call failing for each N, until none is left to fail.
void fail_each(FaultKind kind, int error) {
  const TempFolder folder;
  int64_t failed = 0;
  for (int64_t at = 1;; ++at) {
    const fs::path path = folder.path() / cat(at);
    JournalLedger ledger;
    ledger.play_before(path);
    arm_fault(kind, at, error);
    ledger.play(path);
    const bool has_failed = disarm_fault();
    SCOPED_TRACE(cat("call ", at, ", ", failed_call(), ", errno ", error));
    EXPECT_EQ(ledger.problem(), "");
    EXPECT_EQ(ledger.problem_after_restart(path), "");
    fs::remove_all(path);
    if (!has_failed) break;
    ++failed;
    ASSERT_LT(at, 100'000);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failed, 10);
}

TEST(JournalFaults, Allocations) { fail_each(FaultKind::kAllocation, 0); }
TEST(JournalFaults, FailingCalls) { fail_each(FaultKind::kFile, EIO); }
TEST(JournalFaults, AFullDisk) { fail_each(FaultKind::kFile, ENOSPC); }
TEST(JournalFaults, InterruptedCalls) { fail_each(FaultKind::kFile, EINTR); }
TEST(JournalFaults, ShortWrites) { fail_each(FaultKind::kShortWrite, 0); }

}  // namespace
}  // namespace wick
