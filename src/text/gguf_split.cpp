#include <array>
#include <utility>

#include "text/gguf_vocabulary.h"
#include "text/split_pattern.h"

namespace wick {
namespace {

using View = std::string_view;

// The expressions of the models' own tokenizer.json files, by the names that converters to GGUF gave them.
constexpr View kGpt4o =
    R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll)re"
    R"re(|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|)re"
    R"re('m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr View kTekken =
    R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{L)re"
    R"re(u}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s)re"
    R"re(+(?!\S)|\s+)re";
constexpr View kQwen35 =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s)re"
    R"re(*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr View kWordsAnyDigits =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s)re"
    R"re(+(?!\S)|\s+)re";
constexpr View kJais2 =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n])re"
    R"re(+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4})re"
    R"re((?!\S)|\s{1,2}(?!\S)|\s{1})re";
constexpr View kBailing =
    R"re('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S))re"
    R"re(|\s+)re";
constexpr View kSeedCoder =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+)re"
    R"re((?!\S)|\s+)re";
constexpr View kExaoneMoe =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p)re"
    R"re({N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)re";
constexpr View kLetters =
    R"re(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝ)re"
    R"re(Ὗ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ)re"
    R"re(𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)re";
constexpr View kSymbols = R"re(\s?[!-/:-~！-／：-～‘-‟　-。]+)re";
constexpr View kIdeographs = R"re([一-龥ࠀ-一가-퟿]+)re";
constexpr View kKana = R"re([一-龥぀-ゟ゠-ヿ]+)re";
constexpr View kDeepSeek3 =
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)re"
    R"re([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr View kBloom = R"re( ?[^(\s|.,!?…。，、।۔،)]+)re";
constexpr View kYoutuScripts =
    R"re([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+)re";
constexpr View kYoutu =
    R"re([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll)re"
    R"re(|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|)re"
    R"re('m|'ll|'d)?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr View kKimi =
    R"re([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[)re"
    R"re(^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han})re"
    R"re(]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+)re"
    R"re([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr View kPunctuation = R"re([\p{P}\$\+<=>\^~\|`]+)re";

struct Known {
  View name;
  std::vector<View> patterns;
  bool ignore_merges = false;
  bool add_bos = false;
};

const std::vector<Known>& known_splits() {
  static const std::vector<View> gpt2 = {kGpt2Pattern}, words1 = {kWords1Pattern}, words3 = {kWords3Pattern};
  static const std::vector<View> digits_gpt2 = {R"(\p{N})", kGpt2Pattern};
  static const std::vector<View> deepseek3 = {R"(\p{N}{1,3})", kKana, kDeepSeek3};
  static const std::vector<Known> table = {
      {"llama3", words3, true, true},
      {"llama-v3", words3, true, true},
      {"llama-bpe", words3, true, true},
      {"falcon3", words3, true, true},
      {"falcon-h1", words3, true, true},
      {"pixtral", words3, true, true},
      {"midm-2.0", words3, true, true},
      {"lfm2", words3, true, true},
      {"jina-v5-nano", words3, true, true},
      {"dbrx", words3},
      {"smaug-bpe", words3},
      {"glm4", words3},
      {"chatglm-bpe", words3},
      {"jais-2", {kJais2}},
      {"qwen2", words1},
      {"deepseek-r1-qwen", words1},
      {"kormo", words1},
      {"f2llmv2", words1},
      {"stablelm2", words1},
      {"hunyuan", words1},
      {"megrez", words1},
      {"solar-open", words1},
      {"grok-2", words1},
      {"qwen35", {kQwen35}},
      {"laguna", {R"([^\n]+|[\n]+)", kWords1Pattern}},
      {"minicpm5", {R"(\p{N}{1,3})", kWordsAnyDigits}, true},
      {"deepseek-llm", {R"([\r\n])", kLetters, kSymbols, R"(\s+$)", kIdeographs, R"(\p{N}+)"}},
      {"deepseek-coder", {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kIdeographs, R"(\p{N})"}},
      {"deepseek-v3", deepseek3},
      {"hunyuan-dense", deepseek3},
      {"joyai-llm", deepseek3},
      {"youtu", {kYoutuScripts, kYoutu}, true},
      {"falcon", {kPunctuation, kGpt2Pattern, R"([0-9][0-9][0-9])"}},
      {"starcoder", digits_gpt2},
      {"refact", digits_gpt2},
      {"command-r", digits_gpt2},
      {"smollm", digits_gpt2},
      {"codeshell", digits_gpt2},
      {"exaone", digits_gpt2},
      {"minerva-7b", digits_gpt2},
      {"mellum2", digits_gpt2},
      {"gpt-2", gpt2},
      {"phi-2", gpt2},
      {"jina-es", gpt2},
      {"jina-de", gpt2},
      {"gigachat", gpt2},
      {"jina-v2-es", gpt2},
      {"jina-v2-de", gpt2},
      {"a.x-4.0", gpt2},
      {"mellum", gpt2},
      {"modern-bert", gpt2},
      {"mpt", gpt2},
      {"olmo", gpt2},
      {"jais", gpt2},
      {"trillion", gpt2},
      {"granite-docling", gpt2},
      {"exaone4", gpt2},
      {"jina-v1-en", gpt2},
      {"jina-v2-code", gpt2},
      {"roberta-bpe", gpt2},
      {"poro-chat", {kBloom}},
      {"bloom", {kBloom}},
      {"gpt3-finnish", {kBloom}},
      {"viking", {kBloom, R"(\p{N})"}},
      {"tekken", {kTekken}, true, true},
      {"chameleon",
       {R"(<sentinel:[0-9]+>)", R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)", R"(([\t\n]|    |  ))", R"(\p{N})",
        R"([\p{P}!-/:-@\[-`{-~])", kGpt2Pattern},
       false,
       true},
      {"gpt-4o", {kGpt4o}},
      {"llama4", {kGpt4o}},
      {"kanana2", {kGpt4o}},
      {"talkie", {kGpt4o}},
      {"minimax-m2", {kGpt4o}},
      {"granite-embed-multi-97m", {kGpt4o}, true},
      {"tiny_aya", {R"(\d{1,3}(?=(?:\d{3})*\b))", kGpt4o}},
      {"cohere2moe", {R"(\d{1,3}(?=(?:\d{3})*\b))", kGpt4o}},
      {"kimi-k2", {kKimi}},
      {"superbpe", {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}},
      {"bailingmoe", {kBailing}},
      {"bailingmoe2", {kBailing}},
      {"llada-moe", {kBailing}},
      {"seed-coder", {kSeedCoder}},
      {"exaone-moe", {kExaoneMoe}},
      {"default", {kPunctuation, kGpt2Pattern, R"(\p{N}+)", R"([0-9][0-9][0-9])"}},
      {"", {kPunctuation, kGpt2Pattern, R"(\p{N}+)", R"([0-9][0-9][0-9])"}},
  };
  return table;
}

}  // namespace

std::optional<GgufSplit> gguf_split(std::string_view pre) {
  for (const Known& known : known_splits()) {
    if (known.name == pre) return GgufSplit{known.patterns, known.ignore_merges, known.add_bos};
  }
  return std::nullopt;
}

}  // namespace wick
