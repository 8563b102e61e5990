#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace wick {

// Pages of a mapping, for MappedFile. On systems other than Linux nothing is done and nothing is found.

// Asks for large pages wherever the system will read these bytes from now on.
void advise_large_pages(std::span<std::byte> bytes);
// Whether the system holds the file that is mapped here in memory; looks at samples.
bool is_in_memory(std::span<std::byte> bytes);
// Whether bytes in memory are mapped in large pages; touches samples.
bool has_large_pages(std::span<const std::byte> bytes);
// Replaces the pages of a read-only mapping by private large ones with the same bytes, in place. A thread that reads
// meanwhile sees either. False when the system would not for some or all, or `stop` became true.
bool copy_to_large_pages(std::span<std::byte> bytes, const std::atomic<bool>* stop = nullptr);
// Maps pages that are in memory, so that touching them costs nothing later.
void map_pages(std::span<std::byte> bytes);

}  // namespace wick
