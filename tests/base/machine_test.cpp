#include "base/machine.h"

#include <gtest/gtest.h>

#include "base/thread_pool.h"

namespace wick {
namespace {

TEST(Machine, TellsWhatEveryLinuxKnows) {
  const MachineInfo info = machine_info();
  EXPECT_FALSE(info.os.empty());
  EXPECT_FALSE(info.cpu.empty());
  EXPECT_GE(info.cpus_allowed, 1);
  EXPECT_GE(info.cpus_total, info.cpus_allowed);
  ASSERT_TRUE(info.memory_total && info.memory_available);
  EXPECT_GT(*info.memory_available, 0);
  EXPECT_GE(*info.memory_total, *info.memory_available);
  EXPECT_GT(spare_memory(), 0);
  EXPECT_LE(spare_memory(), *info.memory_total);
  for (const CacheSize& cache : info.caches) EXPECT_GT(cache.bytes, 0) << cache.name;
}

TEST(Machine, WritesBytesForPeople) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1.0 KiB");
  EXPECT_EQ(bytes_text(32 << 10), "32 KiB");
  EXPECT_EQ(bytes_text(1536 << 10), "1.5 MiB");
  EXPECT_EQ(bytes_text(int64_t{24} << 30), "24 GiB");
  EXPECT_EQ(bytes_text((int64_t{24} << 30) - (300 << 20)), "23.7 GiB");
}

}  // namespace
}  // namespace wick
