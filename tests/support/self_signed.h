#pragma once

#include <filesystem>

namespace wick {

// Writes a new key and a certificate for "localhost" signed with it, both in PEM.
void write_self_signed(const std::filesystem::path& certificate, const std::filesystem::path& key);

}  // namespace wick
