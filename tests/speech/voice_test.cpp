// Speaking: texts in pieces, streams, voices by name, by description and from clips, and what is refused.
#include "speech/voice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "speech/qwen3_tts/qwen3_voice.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/tiny_voice.h"

namespace wick {
namespace {

using Pieces = std::vector<std::string>;

TEST(SpeakablePieces, AreSentences) {
  EXPECT_EQ(speakable_pieces("Hello there. How are you?", 0, 100), (Pieces{"Hello there.", "How are you?"}));
  EXPECT_EQ(speakable_pieces("Hello there. How are you?", 20, 100), (Pieces{"Hello there. How are you?"}));
  EXPECT_EQ(speakable_pieces("It costs 3.5 euros, Mr. Smith. \"Really?!\" Yes.", 0, 100),
            (Pieces{"It costs 3.5 euros, Mr. Smith.", "\"Really?!\"", "Yes."}));
  EXPECT_EQ(speakable_pieces("你好。再见！", 0, 100), (Pieces{"你好。", "再见！"}));
  EXPECT_EQ(speakable_pieces("one\n\n***\n\ntwo", 0, 100), (Pieces{"one", "two"}));
  EXPECT_EQ(speakable_pieces("  \n .. !? ", 0, 100), Pieces{});
}

TEST(SpeakablePieces, LongOnesAreCutBetweenWords) {
  const Pieces pieces =
      speakable_pieces(std::string(30, 'a') + " " + std::string(30, 'b') + " " + std::string(90, 'c'), 0, 40);
  EXPECT_EQ(pieces, (Pieces{std::string(30, 'a'), std::string(30, 'b'), std::string(40, 'c'), std::string(40, 'c'),
                            std::string(10, 'c')}));
  std::string umlauts;
  for (int i = 0; i < 50; ++i) umlauts += "ö";
  for (const std::string& piece : speakable_pieces(umlauts, 0, 33))
    EXPECT_EQ(piece.size() % 2, 0u) << "no letter is cut";
}

std::vector<float> all_of(Speech& speech, size_t most = 1000) {
  std::vector<float> all;
  while (true) {
    const std::vector<float> part = speech.read(most);
    if (part.empty()) return all;
    EXPECT_LE(part.size(), most);
    all.insert(all.end(), part.begin(), part.end());
  }
}

class VoiceTest : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE("qwen3_tts-talker"); }
  std::shared_ptr<const SpeechSynthesizer> load(const std::string& fixture = "qwen3_tts-talker") {
    return load_voice(make_tiny_voice(folder_.path() / fixture, fixture));
  }
  static SpeakOptions short_options(uint64_t seed = 0) {
    SpeakOptions options;
    options.seed = seed;
    options.most_frames = 9;
    return options;
  }
  TempFolder folder_;
};

TEST_F(VoiceTest, SaysWhatItIs) {
  const auto voice = load();
  const VoiceFacts& facts = voice->facts();
  EXPECT_EQ(facts.sample_rate, 24000);
  EXPECT_EQ(facts.voices, (std::vector<std::string>{"eric", "vivian"}));
  EXPECT_EQ(facts.languages, (std::vector<std::string>{"chinese", "english", "german"}));
  EXPECT_TRUE(facts.takes_instructions);
  EXPECT_FALSE(facts.clones || facts.designs);
  EXPECT_TRUE(load("qwen3_tts-talker-base")->facts().clones);
  EXPECT_TRUE(load("qwen3_tts-talker-voice_design")->facts().designs);
}

TEST_F(VoiceTest, TheSameSeedIsTheSameSpeech) {
  const auto voice = load();
  const std::vector<float> once = all_of(*voice->speak("Hello there.", short_options(3)));
  EXPECT_GT(once.size(), 0u);
  EXPECT_LE(once.size(), 9u * 96);
  EXPECT_EQ(all_of(*voice->speak("Hello there.", short_options(3)), 7), once) << "however it is read";
  EXPECT_NE(all_of(*voice->speak("Hello there.", short_options(4))), once);
  SpeakOptions other = short_options(3);
  other.voice = "Vivian";
  EXPECT_NE(all_of(*voice->speak("Hello there.", other)), once);
}

// The prompt is made of text as the makers' is: what the engine says is what the codec makes of the task's codes.
TEST_F(VoiceTest, TheWaveformIsTheCodecs) {
  const auto voice = std::dynamic_pointer_cast<const Qwen3Voice>(load());
  ASSERT_TRUE(voice);
  const Qwen3Tts& model = voice->model();
  TtsInput input;
  input.role = {164, 166, 95};
  for (const char c : std::string("Hi!")) input.text.push_back(c - '!');
  input.speaker = model.config().speakers.at("eric");
  input.language = model.config().languages.at("sichuan_dialect");
  TtsRunner runner(model);
  Engine engine(model.talker(), {.context = 64, .kv_bytes = 1 << 22}, 64);
  runner.use(engine.cache());
  TtsSampling sampling;
  sampling.seed = 5;
  sampling.max_frames = 6;
  std::vector<int32_t> codes;
  bool is_over = false;
  TtsListener listener;
  listener.frames = [&](std::span<const int32_t> news) { codes.insert(codes.end(), news.begin(), news.end()); };
  listener.over = [&](StopReason, const Error*) { is_over = true; };
  engine.submit(std::make_shared<TtsTask>(runner, make_tts_prompt(model, input), sampling, 64, listener));
  engine.run_until([&] { return is_over; });
  SpeakOptions options = short_options(5);
  options.voice = "eric";
  options.most_frames = 6;
  EXPECT_EQ(all_of(*voice->speak("Hi!", options)), model.codec().decode(codes));
}

TEST_F(VoiceTest, LongTextsAreSpokenPieceByPieceWithoutClicks) {
  const auto voice = load();
  const std::string sentence =
      "This is a sentence that is long enough to be spoken alone, or so one hopes to see here.";
  const std::vector<float> one = all_of(*voice->speak(sentence, short_options(1)));
  const auto speech = voice->speak(sentence + " " + sentence + "\n" + sentence, short_options(1));
  EXPECT_EQ(speech->done(), 0);
  const std::vector<float> all = all_of(*speech);
  EXPECT_EQ(speech->done(), 1);
  const size_t pause = 2880, fade = 120;
  ASSERT_GT(all.size(), one.size() + pause);
  ASSERT_GT(one.size(), fade);
  EXPECT_TRUE(std::equal(one.begin(), one.end() - fade, all.begin())) << "the first is as it is alone";
  EXPECT_LT(std::abs(all[one.size() - 1]), 1e-3) << "it fades out";
  for (size_t i = one.size(); i < one.size() + pause; ++i) ASSERT_EQ(all[i], 0);
  EXPECT_LT(std::abs(all[one.size() + pause]), 1e-3) << "the next one fades in";
}

TEST_F(VoiceTest, ManySpeakAtOnce) {
  const auto voice = load();
  std::vector<std::vector<float>> alone, together(6);
  const auto text = [](size_t i) { return cat("Text number ", i, " of some."); };
  for (size_t i = 0; i < together.size(); ++i) alone.push_back(all_of(*voice->speak(text(i), short_options(i))));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < together.size(); ++i) {
    threads.emplace_back([&, i] { together[i] = all_of(*voice->speak(text(i), short_options(i)), 50); });
  }
  { const auto left = voice->speak("Somebody who goes away. And never comes back, not even for this sentence.", {}); }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

TEST_F(VoiceTest, VoicesAreDescribed) {
  const auto voice = load("qwen3_tts-talker-voice_design");
  SpeakOptions options = short_options();
  const std::vector<float> any = all_of(*voice->speak("Hello.", options));
  options.description = "a calm old man";
  EXPECT_NE(all_of(*voice->speak("Hello.", options)), any);
  options.description = "<|im_end|>";
  EXPECT_ERROR(voice->speak("Hello.", options), kInvalidArgument,
               "the description spells the control token <|im_end|>");
  options = short_options();
  options.voice = "bob";
  EXPECT_ERROR(voice->speak("Hello.", options), kInvalidArgument, "has no voices by name; describe one");
}

TEST_F(VoiceTest, VoicesAreCloned) {
  const auto voice = load("qwen3_tts-talker-base");
  const std::vector<float> clip = Checkpoint::open(family_folder("qwen3_tts-talker-base") / "reference.safetensors")
                                      .get("reference_audio")
                                      .to_vector<float>();
  SpeakOptions options = short_options();
  EXPECT_ERROR(voice->speak("Hello.", options), kInvalidArgument, "needs a clip of the voice");
  options.clone = voice->clone(clip, "");
  const std::vector<float> by_voice = all_of(*voice->speak("Hello.", options));
  EXPECT_LE(by_voice.size(), 9u * 96);
  options.clone = voice->clone(clip, "what is said");
  const std::vector<float> by_both = all_of(*voice->speak("Hello.", options));
  EXPECT_NE(by_both, by_voice);
  EXPECT_LE(by_both.size(), 9u * 96) << "the reference itself is not heard";
  EXPECT_ERROR(voice->clone(std::vector<float>(24000), ""), kInvalidArgument, "is silent");
  EXPECT_ERROR(voice->clone(std::span(clip).first(2400), ""), kInvalidArgument,
               "takes 0.1 seconds, expected 0.5 to 60");
  EXPECT_ERROR(voice->clone(std::vector<float>(24000 * 61, 0.1f), ""), kInvalidArgument, "takes 61 seconds");
  std::vector<float> broken = clip;
  broken[100] = NAN;
  EXPECT_ERROR(voice->clone(broken, ""), kInvalidArgument, "no number");
  EXPECT_ERROR(load()->clone(clip, ""), kUnsupported, "does not clone voices");
  EXPECT_ERROR(load("qwen3_tts-talker-base")->speak("Hello.", options), kInvalidArgument,
               "needs a clip");  // a voice belongs to the model that made it
}

TEST_F(VoiceTest, BadTextsAreRefused) {
  const auto voice = load();
  EXPECT_ERROR(voice->speak("", {}), kInvalidArgument, "nothing to say");
  EXPECT_ERROR(voice->speak(" ... \n", {}), kInvalidArgument, "nothing to say");
  EXPECT_ERROR(voice->speak("Hello <|im_end|> there", {}), kInvalidArgument,
               "the text spells the control token <|im_end|>");
  EXPECT_ERROR(voice->speak("Hello \xff", {}), kInvalidArgument, "not valid UTF-8");
  SpeakOptions options;
  options.voice = "bob";
  EXPECT_ERROR(voice->speak("Hello.", options), kInvalidArgument, "there is no voice 'bob'; there are eric, vivian");
  options = {};
  options.language = "klingon";
  EXPECT_ERROR(voice->speak("Hello.", options), kInvalidArgument, "'klingon' is not one of those");
}

}  // namespace
}  // namespace wick
