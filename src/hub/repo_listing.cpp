#include "hub/repo_listing.h"

#include <set>

#include "base/json.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 50;  // of one file; keeps sums of them from overflowing
constexpr size_t kMostFiles = 100'000;

std::string percent_encoded(std::string_view text, std::string_view kept) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos || kept.find(c) != std::string::npos;
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += "0123456789ABCDEF"[byte >> 4];
      out += "0123456789ABCDEF"[byte & 15];
    }
  }
  return out;
}

RepoFile parse_file(const Json& json) {
  RepoFile file;
  file.name = json.at("rfilename").as_text();
  if (!is_safe_file_name(file.name)) {
    throw Error(ErrorCode::kBadFile, cat(json.place(), ": ", in_quotes(file.name), " is no name for a file"));
  }
  file.bytes = json.at("size").as_int();
  if (file.bytes < 0 || file.bytes > kMostBytes) {
    throw Error(ErrorCode::kBadFile, cat(json.place(), ": the size ", file.bytes, " cannot be"));
  }
  const Json* lfs = json.find("lfs");
  const bool is_large = lfs && !lfs->is_null();
  file.checksum = is_large ? lfs->at("sha256").as_text() : json.at("blobId").as_text();
  if (!is_hex(file.checksum, is_large ? 64 : 40)) {
    throw Error(ErrorCode::kBadFile, cat(json.place(), ": ", in_quotes(file.checksum), " is no checksum"));
  }
  return file;
}

}  // namespace

RepoListing parse_listing(std::string_view json, std::string_view source) {
  const Json document = Json::parse(json, source);
  RepoListing listing;
  listing.commit = document.at("sha").as_text();
  if (!is_commit(listing.commit)) {
    throw Error(ErrorCode::kBadFile, cat(source, ": 'sha' is ", in_quotes(listing.commit), ", expected a commit"));
  }
  const Json::Array& siblings = document.at("siblings").as_array();
  if (siblings.size() > kMostFiles)
    throw Error(ErrorCode::kBadFile, cat(source, ": lists ", siblings.size(), " files"));
  std::set<std::string> names;
  for (const Json& sibling : siblings) {
    listing.files.push_back(parse_file(sibling));
    if (!names.insert(listing.files.back().name).second) {
      throw Error(ErrorCode::kBadFile, cat(source, ": lists ", in_quotes(listing.files.back().name), " twice"));
    }
  }
  return listing;
}

std::string listing_url(const std::string& endpoint, const ModelName& name) {
  return cat(endpoint, "/api/models/", name.repo, "/revision/", percent_encoded(name.revision, ""), "?blobs=true");
}

std::string file_url(const std::string& endpoint, const std::string& repo, const std::string& commit,
                     const std::string& file) {
  return cat(endpoint, "/", repo, "/resolve/", commit, "/", percent_encoded(file, "/"));
}

}  // namespace wick
