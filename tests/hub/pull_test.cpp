// Downloads from a hub of the tests' own, as it should be and as it should not.
#include "hub/pull.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "base/text.h"
#include "hub/fake_hub.h"
#include "hub/find_model.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string noise(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 12345;
  for (char& c : bytes) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

const std::string kWeights = noise(100'003), kConfig = R"({"model_type": "llama"})";

class Pull : public testing::Test {
 protected:
  void SetUp() override {
    if (!WICK_HAS_CURL) GTEST_SKIP() << "this build has no libcurl";
    hub.add("config.json", kConfig);
    hub.add("model.safetensors", kWeights);
    hub.add("pytorch_model.bin", noise(2000));
    hub.add("sub/vocab.txt", "a\nb\n");
    hub.add("empty.txt", "");
  }
  PullOptions options() {
    PullOptions options;
    options.endpoint = hub.endpoint();
    options.piece_bytes = 16'384;
    options.first_wait = 0.001;
    options.jobs = 4;
    return options;
  }
  std::optional<PullResult> pull(const PullOptions& options, const std::string& name = "org/tiny") {
    return pull_model(*parse_model_name(name), HubCache(root()), options);
  }
  fs::path root() const { return folder_.path() / "hub"; }
  fs::path repo() const { return root() / "models--org--tiny"; }
  // Names in blobs/, sorted.
  std::vector<std::string> blobs() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(repo() / "blobs")) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  void expect_whole() {
    const fs::path snapshot = repo() / "snapshots" / hub.commit;
    EXPECT_TRUE(read(snapshot / "model.safetensors") == kWeights);
    EXPECT_EQ(read(snapshot / "config.json"), kConfig);
    EXPECT_EQ(read(snapshot / "sub/vocab.txt"), "a\nb\n");
    std::vector<std::string> expected = {sha256_text(kWeights), git_blob_text(kConfig), git_blob_text("a\nb\n"),
                                         git_blob_text("")};
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(blobs(), expected) << "and nothing else is left";
  }

  FakeHub hub;
  TempFolder folder_;
};

TEST_F(Pull, WritesTheLayoutOfHuggingfaceHub) {
  const auto result = pull(options());
  ASSERT_TRUE(result);
  const fs::path snapshot = repo() / "snapshots" / hub.commit;
  EXPECT_EQ(result->path, snapshot);
  EXPECT_EQ(result->commit, hub.commit);
  EXPECT_EQ(result->files.size(), 4U);
  EXPECT_EQ(result->downloaded, static_cast<int64_t>(kWeights.size() + kConfig.size() + 4));
  expect_whole();
  EXPECT_EQ(read(repo() / "refs/main"), hub.commit);
  EXPECT_EQ(fs::read_symlink(snapshot / "config.json"), "../../blobs/" + git_blob_text(kConfig));
  EXPECT_EQ(fs::read_symlink(snapshot / "sub/vocab.txt"), "../../../blobs/" + git_blob_text("a\nb\n"));
  EXPECT_TRUE(fs::exists(root() / ".locks/models--org--tiny" / (sha256_text(kWeights) + ".lock")));
  EXPECT_EQ(find_model("org/tiny", "", HubCache(root())).path, snapshot);
  // Large files come in pieces, at once.
  size_t ranges = 0;
  for (const auto& request : hub.file_requests()) ranges += request.range.empty() ? 0 : 1;
  EXPECT_EQ(ranges, 7U);

  const size_t before = hub.file_requests().size();
  const auto again = pull(options());
  EXPECT_EQ(again->downloaded, 0);
  EXPECT_TRUE(again->files[0].was_there);
  EXPECT_EQ(hub.file_requests().size(), before) << "what is there is not asked for";
}

TEST_F(Pull, TheTokenGoesToTheHubAlone) {
  PullOptions with = options();
  with.token = "hf_secret";
  ASSERT_TRUE(pull(with));
  size_t to_storage = 0;
  for (const auto& request : hub.requests()) {
    EXPECT_EQ(request.authorization, request.to_storage ? "" : "Bearer hf_secret") << request.path;
    to_storage += request.to_storage ? 1 : 0;
  }
  EXPECT_EQ(to_storage, 7U);
  for (const char* bad : {"two words", "a\r\nX-Evil: 1", "ä"}) {
    with.token = bad;
    EXPECT_ERROR(pull(with), kInvalidArgument, "HF_TOKEN holds a blank");
  }
  with.endpoint = "ftp://x";
  EXPECT_ERROR(pull(with), kInvalidArgument, "HF_ENDPOINT is 'ftp://x'");
}

TEST_F(Pull, GoesOnAfterCutsFailuresAndLimits) {
  hub.wrong.cuts = 25;
  hub.wrong.failures = 3;
  hub.wrong.rate_limits = 3;
  ASSERT_TRUE(pull(options()));
  expect_whole();
  int64_t asked = 0;
  for (const auto& request : hub.file_requests()) {
    long first = 0, last = 0;
    if (std::sscanf(request.range.c_str(), "bytes=%ld-%ld", &first, &last) == 2) asked += last - first + 1;
  }
  EXPECT_LT(asked, static_cast<int64_t>(kWeights.size()) * 10) << "what had arrived was not asked for again";
}

TEST_F(Pull, WaitsAsLongAsTheServerAsks) {
  hub.wrong.rate_limits = 1;
  hub.wrong.retry_after = "1";
  PullOptions one = options();
  one.jobs = 1;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(pull(one));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  expect_whole();
}

TEST_F(Pull, GivesUpAfterTriesThatBringNothing) {
  hub.wrong.failures = 1000;
  EXPECT_ERROR(pull(options()), kIo, "HTTP 500 (tried 6 times)");
  EXPECT_FALSE(fs::exists(repo() / "refs/main")) << "a name means a whole model";
  hub.change([&] { hub.wrong.failures = 0; });
  ASSERT_TRUE(pull(options()));
  expect_whole();
}

TEST_F(Pull, AServerThatIgnoresRangesSendsWholeFiles) {
  hub.wrong.ignores_ranges = true;
  hub.wrong.cuts = 2;
  ASSERT_TRUE(pull(options()));
  expect_whole();
}

TEST_F(Pull, AServerThatIgnoresRangesStartsAKilledPullAgain) {
  hub.wrong.cut_after = 5000;
  hub.wrong.cuts_all = true;
  PullOptions few = options();
  few.tries = 1;
  EXPECT_ERROR(pull(few), kIo, "(tried 1 times)");
  hub.change([&] {
    hub.wrong.cuts_all = false;
    hub.wrong.ignores_ranges = true;
  });
  ASSERT_TRUE(pull(options()));
  expect_whole();
}

TEST_F(Pull, WrongBytesLeaveNothingBehind) {
  hub.claimed_checksum["model.safetensors"] = std::string(64, 'e');
  EXPECT_ERROR(pull(options()), kBadFile,
               cat("'model.safetensors': what arrived has the checksum ", sha256_text(kWeights), ", expected eeee"));
  for (const std::string& name : blobs()) EXPECT_FALSE(name.starts_with("eeee")) << name;
  EXPECT_FALSE(
      fs::exists(repo() / "snapshots" / hub.commit / "model.safetensors", *std::make_unique<std::error_code>()));
  EXPECT_FALSE(fs::exists(repo() / "refs/main"));
}

TEST_F(Pull, WrongSmallFilesAreNoticed) {
  hub.claimed_checksum["config.json"] = std::string(40, 'e');
  EXPECT_ERROR(pull(options()), kBadFile, cat("'config.json': what arrived has the checksum ", git_blob_text(kConfig)));
}

TEST_F(Pull, BadBytesOfAnEarlierPullAreFetchedAgain) {
  fs::create_directories(repo() / "blobs");
  const fs::path left = repo() / "blobs" / (sha256_text(kWeights) + ".incomplete");
  std::ofstream(left, std::ios::binary) << std::string(50'000, 'z');  // as after a power cut
  ASSERT_TRUE(pull(options()));
  expect_whole();
}

TEST_F(Pull, AKilledPullGoesOn) {
  hub.wrong.cut_after = 4000;  // a server that is going down
  hub.wrong.cuts_all = true;
  PullOptions few = options();
  few.tries = 1;
  few.jobs = 1;
  few.include = {"*.safetensors"};
  EXPECT_ERROR(pull(few), kIo, "'model.safetensors'");
  hub.change([&] { hub.wrong.cuts_all = false; });
  const auto result = pull(options());
  ASSERT_TRUE(result);
  expect_whole();
  EXPECT_EQ(result->downloaded, static_cast<int64_t>(kWeights.size() + kConfig.size() + 4 - 4000));
}

TEST_F(Pull, StopsWhenAsked) {
  std::atomic<bool> stop = false;
  hub.wrong.on_file = [&] { stop = true; };
  hub.wrong.failures = 1000;
  PullOptions stopping = options();
  stopping.first_wait = 100;
  stopping.stop = [&] { return stop.load(); };
  EXPECT_FALSE(pull(stopping));
  hub.change([&] {
    hub.wrong.failures = 0;
    hub.wrong.on_file = nullptr;
  });
  ASSERT_TRUE(pull(options()));
  expect_whole();
}

TEST_F(Pull, TwoAtTheSameTimeShareTheWork) {
  hub.wrong.cuts = 10;
  const PullOptions shared = options();
  std::optional<PullResult> first, second;
  std::thread other([&] { first = pull(shared); });
  second = pull(shared);
  other.join();
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  expect_whole();
  EXPECT_EQ(first->downloaded + second->downloaded, static_cast<int64_t>(kWeights.size() + kConfig.size() + 4));
}

TEST_F(Pull, ProgressEndsAtTheTotal) {
  PullOptions with = options();
  PullProgress last;
  with.progress = [&](const PullProgress& now) {
    EXPECT_LE(now.done, now.total);
    EXPECT_GE(now.done, 0);
    last = now;
  };
  ASSERT_TRUE(pull(with));
  EXPECT_EQ(last.total, static_cast<int64_t>(kWeights.size() + kConfig.size() + 4));
}

TEST_F(Pull, TellsWhatTheServerRefuses) {
  struct Row {
    int status;
    const char *code, *token, *sentence;
  };
  for (const Row& row :
       {Row{401, "GatedRepo", "", "org/tiny: is gated; ask for access at "},
        Row{401, "GatedRepo", "", "/org/tiny and set HF_TOKEN"},
        Row{403, "GatedRepo", "t", "org/tiny: is gated, and the account of HF_TOKEN has no access yet"},
        Row{401, "RepoNotFound", "", "there is no such model, or it is private or gated; for those set"},
        Row{401, "", "t", "HTTP 401: HF_TOKEN is not valid or has no access"},
        Row{404, "RepoNotFound", "", "org/tiny: there is no such model at http://127.0.0.1"},
        Row{404, "RevisionNotFound", "", "org/tiny: has no revision 'main'"}}) {
    FakeHub refusing;
    refusing.wrong.status = row.status;
    refusing.wrong.error_code = row.code;
    PullOptions asking = options();
    asking.endpoint = refusing.endpoint();
    asking.token = row.token;
    EXPECT_ERROR(pull(asking), kInvalidArgument, row.sentence);
    EXPECT_EQ(refusing.requests().size(), 1U) << "asked once";
  }
  EXPECT_FALSE(fs::exists(root())) << "nothing is made for a model that is not there";
}

TEST_F(Pull, SizesThatLie) {
  hub.claimed_size["model.safetensors"] = static_cast<int64_t>(kWeights.size()) + 1;
  EXPECT_ERROR(pull(options()), kBadFile,
               "'model.safetensors': the server has '100003' bytes, the list of files says 100004");
}

TEST_F(Pull, SizesOfWholeFilesThatLie) {
  hub.claimed_size["config.json"] = 5;
  EXPECT_ERROR(pull(options()), kBadFile, "'config.json': the server has 23 bytes, the list of files says 5");
}

TEST_F(Pull, AnotherRangeThanAskedFor) {
  hub.wrong.content_range = "bytes 5-9/100003";
  EXPECT_ERROR(pull(options()), kBadFile, "the server answers 'bytes 5-9/100003'");
}

TEST_F(Pull, BodiesWithoutEndEnd) {
  hub.wrong.endless = true;
  hub.wrong.ignores_ranges = true;
  PullOptions with = options();
  with.include = {"*.safetensors"};
  EXPECT_ERROR(pull(with), kBadFile, "'model.safetensors': the server sends more than the 100003 bytes");
}

TEST_F(Pull, HostileLists) {
  hub.wrong.listing =
      R"({"sha":"0123456789abcdef0123456789abcdef01234567","siblings":[{"rfilename":"../../x.json","size":1,
      "blobId":"0123456789abcdef0123456789abcdef01234567"}]})";
  EXPECT_ERROR(pull(options()), kBadFile,
               "list of files of org/tiny: 'siblings[0]': '../../x.json' is no name for a file");
  hub.change([&] { hub.wrong.listing = std::string(40 << 20, ' '); });
  EXPECT_ERROR(pull(options()), kBadFile, "org/tiny: the list of files has more than 33554432 bytes");
  EXPECT_FALSE(fs::exists(root()));
}

TEST_F(Pull, RedirectsThatLeadNowhere) {
  hub.wrong.redirect = cat(hub.endpoint(), "/org/tiny/resolve/", hub.commit, "/config.json");
  PullOptions with = options();
  with.include = {"config.json"};
  EXPECT_ERROR(pull(with), kIo, "more than 10 redirects");
  hub.change([&] { hub.wrong.redirect = "file:///etc/passwd"; });
  EXPECT_ERROR(pull(with), kIo, "'config.json': http://127.0.0.1");
}

TEST_F(Pull, ADiskThatIsTooSmall) {
  hub.claimed_size["model.safetensors"] = int64_t{1} << 49;
  EXPECT_ERROR(pull(options()), kIo, "512 TiB are to come, but the disk has room for ");
}

TEST_F(Pull, AFolderThatCannotBeWritten) {
  std::ofstream(root()) << "a file";
  EXPECT_ERROR(pull(options()), kIo, "cannot create");
}

TEST_F(Pull, ChoicesOfGgufFiles) {
  FakeHub several("org/tiny");
  several.add("m-Q4_K_M.gguf", noise(3000));
  several.add("m-Q8_0.gguf", noise(5000));
  PullOptions with = options();
  with.endpoint = several.endpoint();
  const auto asked = pull(with);
  ASSERT_TRUE(asked);
  ASSERT_EQ(asked->choices.size(), 2U);
  EXPECT_EQ(asked->choices[1].bytes, 5000);
  EXPECT_EQ(gguf_suffix(asked->choices[1], asked->choices), ":Q8_0");
  const auto one = pull(with, "org/tiny:q8_0");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->path, repo() / "snapshots" / several.commit / "m-Q8_0.gguf");
  EXPECT_TRUE(read(one->path) == noise(5000));
  EXPECT_EQ(find_model("org/tiny:Q8_0", "", HubCache(root())).path, one->path);
}

TEST_F(Pull, NobodyListens) {
  PullOptions with = options();
  with.endpoint = "http://127.0.0.1:1";
  with.tries = 2;
  EXPECT_ERROR(pull(with), kIo, "org/tiny: http://127.0.0.1:1: ");
}

}  // namespace
}  // namespace wick
