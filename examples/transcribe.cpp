// Writes down what is said in a sound file, with times: transcribe FILE [MODEL]. Without a model, Ember-ASR listens,
// which is inside the library.
#include <wick/speech.h>

#include <cstdio>

int main(int argc, char** argv) try {
  if (argc < 2) throw wick::Error(wick::ErrorCode::kInvalidArgument, "usage: transcribe FILE [MODEL]");
  wick::Transcriber transcriber(argc > 2 ? argv[2] : "");
  const auto sound = wick::open_audio(argv[1]);  // read while it is heard: hours of it take bounded memory
  for (const auto& segment : transcriber.prepare()->recognize(*sound).segments) {
    std::printf("%5.1f to %4.1f s  %s\n", segment.begin, segment.end, segment.text.c_str());
  }
} catch (const wick::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
