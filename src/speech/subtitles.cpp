#include "speech/subtitles.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

// "01:02:03.004", without hours where they are 0 and not wanted.
std::string clock(double seconds, char point, bool hours) {
  const auto all = static_cast<int64_t>(std::llround(std::clamp(seconds, 0.0, 3.5e8) * 1000));
  const std::string rest = fmt::format("{:02}:{:02}{}{:03}", all / 60'000 % 60, all / 1000 % 60, point, all % 1000);
  return hours || all >= 3'600'000 ? fmt::format("{:02}:{}", all / 3'600'000, rest) : rest;
}

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!is_blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string to_srt(const Recognition& recognition) {
  std::string out;
  int64_t number = 0;
  for (const RecognizedSegment& segment : recognition.segments) {
    out += cat(++number, "\n", clock(segment.begin, ',', true), " --> ", clock(segment.end, ',', true), "\n",
               replaced(on_one_line(segment.text), "-->", "->"), "\n\n");
  }
  return out;
}

std::string to_vtt(const Recognition& recognition) {
  std::string out = "WEBVTT\n\n";
  for (const RecognizedSegment& segment : recognition.segments) {
    std::string text = replaced(on_one_line(segment.text), "&", "&amp;");
    text = replaced(replaced(std::move(text), "<", "&lt;"), ">", "&gt;");
    out += cat(clock(segment.begin, '.', true), " --> ", clock(segment.end, '.', true), "\n", text, "\n\n");
  }
  return out;
}

std::string to_tsv(const Recognition& recognition) {
  std::string out = "start\tend\ttext\n";
  for (const RecognizedSegment& segment : recognition.segments) {
    out += cat(std::llround(segment.begin * 1000), "\t", std::llround(segment.end * 1000), "\t",
               on_one_line(segment.text), "\n");
  }
  return out;
}

std::string to_timed_text(const Recognition& recognition) {
  std::string out;
  for (const RecognizedSegment& segment : recognition.segments) {
    out += cat("[", clock(segment.begin, '.', false), " --> ", clock(segment.end, '.', false), "]  ",
               on_one_line(segment.text), "\n");
  }
  return out;
}

}  // namespace

std::string transcript_text(const Recognition& recognition, std::string_view format) {
  if (format == "text") return recognition.text.empty() ? std::string() : recognition.text + "\n";
  if (format == "timed") return to_timed_text(recognition);
  if (format == "srt") return to_srt(recognition);
  if (format == "vtt") return to_vtt(recognition);
  if (format == "tsv") return to_tsv(recognition);
  throw Error(ErrorCode::kInvalidArgument, cat("a transcript is not written as ", in_quotes(format)));
}

double to_milliseconds(double seconds) { return std::round(seconds * 1000) / 1000; }

}  // namespace wick
