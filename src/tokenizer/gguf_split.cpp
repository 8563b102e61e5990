#include "tokenizer/gguf_split.h"

#include <algorithm>

#include "tokenizer/stages/split_pattern.h"

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
constexpr View kBloom = R"re( ?[^(\s|[.,!?…。，、।۔،])]+)re";
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

struct Known {
  std::vector<View> names;  // the first is the one to write
  std::vector<View> patterns;
  bool ignore_merges = false;
  bool add_bos = false;
  std::vector<View> in_files;  // what the models' own files list, where that is not the same
};

const std::vector<Known>& known_splits() {
  static const std::vector<Known> table = {
      {{"gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de", "a.x-4.0", "mellum",
        "modern-bert", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "jina-v1-en", "jina-v2-code",
        "roberta-bpe"},
       {kGpt2Pattern}},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"},
       {R"(\p{N})", kGpt2Pattern}},
      // The files cut out numbers after bytes have become letters, so of all numbers they see the digits of ASCII.
      {{"falcon"},
       {kPunctuationRuns, kGpt2Pattern, R"([0-9][0-9][0-9])"},
       false,
       false,
       {kPunctuationRuns, kGpt2Pattern, R"(\p{N}+)", R"([0-9][0-9][0-9])"}},
      {{"default", ""}, {kPunctuationRuns, kGpt2Pattern, R"(\p{N}+)", R"([0-9][0-9][0-9])"}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
       {kWords3Pattern},
       true,
       true},
      {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {kWords3Pattern}},
      {{"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "stablelm2", "hunyuan", "megrez", "solar-open", "grok-2"},
       {kWords1Pattern}},
      {{"qwen35"}, {kQwen35}},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {kGpt4o}},
      {{"granite-embed-multi-97m"}, {kGpt4o}, true},
      {{"tiny_aya", "cohere2moe"}, {R"(\d{1,3}(?=(?:\d{3})*\b))", kGpt4o}},
      {{"tekken"}, {kTekken}, true, true},
      {{"bloom", "poro-chat", "gpt3-finnish"}, {kBloom}},
      {{"viking"}, {kBloom, R"(\p{N})"}},
      {{"seed-coder"}, {kSeedCoder}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm"}, {R"(\p{N}{1,3})", kKana, kDeepSeek3}},
      {{"deepseek-llm"}, {R"([\r\n])", kLetters, kSymbols, R"(\s+$)", kIdeographs, R"(\p{N}+)"}},
      {{"deepseek-coder"}, {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kIdeographs, R"(\p{N})"}},
      {{"jais-2"}, {kJais2}},
      {{"laguna"}, {R"([^\n]+|[\n]+)", kWords1Pattern}},
      {{"minicpm5"}, {R"(\p{N}{1,3})", kWordsAnyDigits}, true},
      {{"youtu"}, {kYoutuScripts, kYoutu}, true},
      {{"chameleon"},
       {R"(<sentinel:[0-9]+>)", R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)", R"(([\t\n]|    |  ))", R"(\p{N})",
        R"([\p{P}!-/:-@\[-`{-~])", kGpt2Pattern},
       false,
       true},
      {{"kimi-k2"}, {kKimi}},
      {{"superbpe"}, {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, {kBailing}},
      {{"exaone-moe"}, {kExaoneMoe}},
  };
  return table;
}

}  // namespace

std::optional<GgufSplit> gguf_split(std::string_view pre) {
  for (const Known& known : known_splits()) {
    if (std::find(known.names.begin(), known.names.end(), pre) == known.names.end()) continue;
    return GgufSplit{known.patterns, known.ignore_merges, known.add_bos};
  }
  return std::nullopt;
}

std::optional<std::string_view> gguf_split_name(const std::vector<std::string>& patterns, bool ignore_merges) {
  for (const Known& known : known_splits()) {
    const std::vector<View>& wanted = known.in_files.empty() ? known.patterns : known.in_files;
    const bool same = std::equal(patterns.begin(), patterns.end(), wanted.begin(), wanted.end());
    if (same && known.ignore_merges == ignore_merges) return known.names.front();
  }
  return std::nullopt;
}

}  // namespace wick
