#include "speech/subtitles.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace wick {
namespace {

Recognition heard() {
  Recognition recognition;
  recognition.text = "Hello,\n world --> <b>. Late.";
  recognition.segments.resize(2);
  recognition.segments[0].begin = 1.2504;
  recognition.segments[0].end = 3;
  recognition.segments[0].text = " Hello,\n world --> <b> & co. ";
  recognition.segments[1].begin = 3723.9996;
  recognition.segments[1].end = 3725;
  recognition.segments[1].text = "Late.";
  return recognition;
}

TEST(TranscriptText, SaysTheSameInEveryFormat) {
  EXPECT_EQ(transcript_text(heard(), "text"), "Hello,\n world --> <b>. Late.\n");
  EXPECT_EQ(transcript_text(heard(), "timed"),
            "[00:01.250 --> 00:03.000]  Hello, world --> <b> & co.\n[01:02:04.000 --> 01:02:05.000]  Late.\n");
  EXPECT_EQ(transcript_text(heard(), "srt"),
            "1\n00:00:01,250 --> 00:00:03,000\nHello, world -> <b> & co.\n\n"
            "2\n01:02:04,000 --> 01:02:05,000\nLate.\n\n");
  EXPECT_EQ(transcript_text(heard(), "vtt"),
            "WEBVTT\n\n00:00:01.250 --> 00:00:03.000\nHello, world --&gt; &lt;b&gt; &amp; co.\n\n"
            "01:02:04.000 --> 01:02:05.000\nLate.\n\n");
  EXPECT_EQ(transcript_text(heard(), "tsv"),
            "start\tend\ttext\n1250\t3000\tHello, world --> <b> & co.\n3724000\t3725000\tLate.\n");
  EXPECT_EQ(transcript_text({}, "text"), "");
  EXPECT_EQ(transcript_text({}, "srt"), "");
  EXPECT_ERROR(transcript_text(heard(), "json"), kInvalidArgument, "'json'");
}

}  // namespace
}  // namespace wick
