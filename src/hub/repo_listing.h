#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hub/model_name.h"

namespace wick {

struct RepoFile {
  std::string name;  // safe to be a path below a folder
  int64_t bytes = 0;
  // SHA-256 (64 digits) of files that git keeps outside, else git's SHA-1 (40 digits); what the blob is called.
  std::string checksum;
};

struct RepoListing {
  std::string commit;
  std::vector<RepoFile> files;
};

// The hub's answer to /api/models/Org/Name/revision/REVISION?blobs=true. Nothing in it is trusted: throws
// Error(kBadFile) naming the field for a name that would leave the folder, a size below zero, a checksum that is none
// or a name twice.
RepoListing parse_listing(std::string_view json, std::string_view source);

std::string listing_url(const std::string& endpoint, const ModelName& name);
std::string file_url(const std::string& endpoint, const std::string& repo, const std::string& commit,
                     const std::string& file);

}  // namespace wick
