#include "media/ffmpeg_program.h"

#include "base/ascii.h"
#include "base/env.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/utf8.h"
#include "media/ffmpeg.h"
#include "media/wav.h"

#if defined(__linux__)
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>
#endif

namespace wick {
namespace fs = std::filesystem;

#if defined(__linux__)

namespace {

using Clock = std::chrono::steady_clock;

// Formats that hold sound themselves: no playlists, no lists of files.
constexpr char kFormats[] =
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dts,eac3,flac,flv,loas,matroska,mov,mp3,mpeg,mpegts,ogg,tta,w64,wav,wv";
constexpr std::array kArguments = {"ffmpeg",
                                   "-nostdin",
                                   "-hide_banner",
                                   "-v",
                                   "error",
                                   "-protocol_whitelist",
                                   "file",
                                   "-format_whitelist",
                                   kFormats,
                                   "-threads",
                                   "1",
                                   "-i",
                                   "file:/dev/fd/0",
                                   "-map",
                                   "0:a:0",
                                   "-map_metadata",
                                   "-1",
                                   "-threads",
                                   "1",
                                   "-f",
                                   "wav",
                                   "-bitexact",
                                   "-c:a",
                                   "pcm_f32le",
                                   "pipe:1"};
constexpr int64_t kMostCopied = int64_t{1} << 31;     // bytes of a pipe or of memory
constexpr rlim_t kMostMemory = rlim_t{2} << 30;       // of the program, in bytes
constexpr rlim_t kMostProcessorSeconds = 3600;        // of the program: a day of sound takes some minutes
constexpr rlim_t kMostWritten = 1 << 16;              // bytes of messages; it writes no other file
constexpr auto kPatience = std::chrono::seconds(60);  // without a byte of sound
constexpr auto kGoodbye = std::chrono::seconds(2);    // from the end of the sound to the end of the program
constexpr int kPoll = 50;                             // milliseconds

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Error failed(const char* what, int reason) {
  return {ErrorCode::kIo, cat("ffmpeg: cannot ", what, ": ", std::strerror(reason))};
}

Fd memory_file(const char* name) {
  Fd fd(memfd_create(name, MFD_CLOEXEC));
  if (fd.get() < 0) throw failed("make a file in memory", errno);
  return fd;
}

// All that is left of the input, where the program can go to and fro.
Fd copy_of(ByteInput& input, const std::function<bool()>& is_cancelled) {
  Fd copy = memory_file("wick-sound");
  std::vector<std::byte> piece(1 << 18);
  for (int64_t total = 0;;) {
    check_cancelled(is_cancelled, input.name());
    const size_t got = input.read_some(piece);
    if (got == 0) return copy;
    total += static_cast<int64_t>(got);
    if (total > kMostCopied) {
      throw Error(ErrorCode::kBadFile,
                  cat(input.name(), ": has more than ", bytes_text(kMostCopied), "; give it as a file"));
    }
    for (size_t at = 0; at < got;) {
      const ssize_t written = ::write(copy.get(), piece.data() + at, got - at);
      if (written < 0 && errno != EINTR) throw failed("copy the sound", errno);
      if (written > 0) at += static_cast<size_t>(written);
    }
  }
}

// The program at work. It ends when this does.
class Program {
 public:
  Program(const fs::path& program, int input) : errors_(memory_file("wick-errors")) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw failed("make a pipe", errno);
    output_ = Fd(ends[0]);
    const Fd writes(ends[1]);
    start(program, input, writes.get());
    limit(RLIMIT_AS, kMostMemory);
    limit(RLIMIT_CPU, kMostProcessorSeconds);
    limit(RLIMIT_FSIZE, kMostWritten);
    limit(RLIMIT_CORE, 0);
  }
  ~Program() { end(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // What it has written; waits for a byte. 0 at the end.
  size_t read(std::span<std::byte> out, const std::string& name, const std::function<bool()>& is_cancelled) {
    const auto until = Clock::now() + kPatience;
    while (true) {
      check_cancelled(is_cancelled, name);
      pollfd ready{output_.get(), POLLIN, 0};
      const int count = poll(&ready, 1, kPoll);
      if (count < 0 && errno != EINTR) throw failed("wait for sound", errno);
      if (count > 0) {
        const ssize_t got = ::read(output_.get(), out.data(), out.size());
        if (got >= 0) return static_cast<size_t>(got);
        if (errno != EINTR) throw failed("read sound", errno);
      } else if (Clock::now() > until) {
        end();
        throw Error(ErrorCode::kBadFile, cat(name, ": ffmpeg gave no sound for ", kPatience.count(), " seconds"));
      }
    }
  }

  // To be asked when there is no more sound: whether it says that all went well.
  bool went_well() {
    for (const auto until = Clock::now() + kGoodbye; process_ > 0 && Clock::now() < until;) {
      if (!reap(WNOHANG)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    end();
    return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
  }

  // The last line of what it complained about.
  std::string complaint() const {
    std::array<char, 4096> bytes;
    const off_t size = lseek(errors_.get(), 0, SEEK_END);
    const off_t from = std::max<off_t>(0, size - std::ssize(bytes));
    const ssize_t got = pread(errors_.get(), bytes.data(), bytes.size(), from);
    std::string_view text = trimmed(std::string_view(bytes.data(), static_cast<size_t>(std::max<ssize_t>(0, got))));
    if (text.find("matches no streams") != std::string_view::npos) return "there is no sound in this file";
    const size_t line = text.rfind('\n');
    if (line != std::string_view::npos) text.remove_prefix(line + 1);
    constexpr std::string_view kInput = "file:/dev/fd/0: ";
    if (text.starts_with(kInput)) text.remove_prefix(kInput.size());
    return cat("ffmpeg cannot read it", text.empty() ? "" : cat(": ", in_quotes(text)));
  }

 private:
  void start(const fs::path& program, int input, int output) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors_.get(), STDERR_FILENO);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif
    // In a group of its own, so that Ctrl-C is heard here alone, and with the signals as programs expect them.
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> words;
    for (const char* word : kArguments)
      words.push_back(const_cast<char*>(word));  // NOLINT: posix_spawn changes nothing
    words.push_back(nullptr);
    std::array<char, 9> locale = {"LC_ALL=C"};
    std::array<char*, 2> environment = {locale.data(), nullptr};
    lseek(input, 0, SEEK_SET);
    const int problem = posix_spawn(&process_, program.c_str(), &files, &attributes, words.data(), environment.data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (problem != 0) throw Error(ErrorCode::kIo, cat(program, ": cannot start: ", std::strerror(problem)));
  }

  void limit(decltype(RLIMIT_AS) resource, rlim_t most) const {
    const rlimit both{most, most};
    prlimit(process_, resource, &both, nullptr);
  }

  bool reap(int flags) {
    const pid_t ended = waitpid(process_, &status_, flags);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    if (ended < 0) status_ = -1;
    process_ = -1;
    return true;
  }

  void end() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    while (!reap(0)) {
    }
  }

  Fd errors_, output_;
  pid_t process_ = -1;
  int status_ = 0;
};

class ProgramSource : public SampleSource {
 public:
  ProgramSource(const fs::path& path, ByteInput input, const std::function<bool()>& is_cancelled)
      : name_(input.name()) {
    const Fd own = input.regular_file() < 0 ? copy_of(input, is_cancelled) : Fd();
    program_ = std::make_shared<Program>(path, own.get() >= 0 ? own.get() : input.regular_file());
    ByteInput output = ByteInput::of_reader(name_, [program = program_, name = name_, is_cancelled](auto bytes) {
      return program->read(bytes, name, is_cancelled);
    });
    if (output.peek(1).empty()) throw complaint();
    wav_ = open_wav(output);
    if (!wav_) throw complaint();
    info_ = wav_->info();
    info_.format = "by ffmpeg";
    info_.seconds.reset();  // what it writes into a pipe does not say
  }

  // A file that breaks off gives what is there; one of which nothing can be decoded says why.
  AudioBlock next() override {
    const AudioBlock block = wav_->next();
    if (block.samples.empty() && !has_sound_ && !program_->went_well()) throw complaint();
    has_sound_ = has_sound_ || !block.samples.empty();
    return block;
  }

 private:
  Error complaint() {
    program_->went_well();  // then it has said all
    return {ErrorCode::kBadFile, cat(name_, ": ", program_->complaint())};
  }

  std::string name_;
  std::shared_ptr<Program> program_;
  std::unique_ptr<SampleSource> wav_;
  bool has_sound_ = false;
};

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<fs::path> find_ffmpeg_program() {
  const std::string folders = env_text("PATH").value_or("");
  for (size_t begin = 0; begin <= folders.size();) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path folder = folders.substr(begin, end - begin);
    if (folder.is_absolute() && is_program(folder / "ffmpeg")) return folder / "ffmpeg";
    begin = end + 1;
  }
  return std::nullopt;
}

std::unique_ptr<SampleSource> open_with_ffmpeg_program(const fs::path& program, ByteInput input,
                                                       const std::function<bool()>& is_cancelled) {
  return std::make_unique<ProgramSource>(program, std::move(input), is_cancelled);
}

#else

std::optional<fs::path> find_ffmpeg_program() { return std::nullopt; }

std::unique_ptr<SampleSource> open_with_ffmpeg_program(const fs::path&, ByteInput input, const std::function<bool()>&) {
  throw Error(ErrorCode::kUnsupported, cat(input.name(), ": no program can be started on this system"));
}

#endif

std::string ffmpeg_way() {
  if (has_ffmpeg()) return "FFmpeg's libraries";
  const auto program = find_ffmpeg_program();
  return program ? cat("the program ", program->string()) : std::string();
}

}  // namespace wick
