// SPDX-License-Identifier: Apache-2.0
#include "text/load/split_patterns.h"

#include <algorithm>
#include <string>

#include "base/status.h"

namespace shoal::text {
namespace {

#define SHOAL_ENGLISH_TAILS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define SHOAL_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define SHOAL_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define SHOAL_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define SHOAL_LEAD R"([^\r\n\p{L}\p{N}]?)"

constexpr char kLlama3[] = SHOAL_ENGLISH_TAILS
    "|" SHOAL_LEAD R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SHOAL_SPACES;
constexpr char kQwen2[] =
    SHOAL_ENGLISH_TAILS "|" SHOAL_LEAD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SHOAL_SPACES;
constexpr char kO200k[] = SHOAL_LEAD SHOAL_UPPER
    "*" SHOAL_LOWER "+" SHOAL_ENGLISH_TAILS "?|" SHOAL_LEAD SHOAL_UPPER "+" SHOAL_LOWER
    "*" SHOAL_ENGLISH_TAILS R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SHOAL_SPACES;
constexpr char kTekken[] =
    SHOAL_LEAD SHOAL_UPPER "*" SHOAL_LOWER "+|" SHOAL_LEAD SHOAL_UPPER "+" SHOAL_LOWER
                           R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SHOAL_SPACES;
constexpr char kDeepSeekV3[] =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|)" SHOAL_SPACES;
constexpr char kChineseAndKana[] = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr char kChineseAndKorean[] = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
// Letters of the Latin, Greek, Cyrillic, Armenian, Georgian, Cherokee and other cased scripts.
constexpr char kCasedLetters[] =
    R"(\s?[)"
    R"(\x{41}-\x{5A}\x{61}-\x{7A}\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA})"
    R"(\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}-\x{377})"
    R"(\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5})"
    R"(\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})"
    R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59})"
    R"(\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB})"
    R"(\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"
    R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149})"
    R"(\x{214E}\x{2183}-\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE})"
    R"(\x{2CF2}-\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
    R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06})"
    R"(\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2})"
    R"(\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr char kMarks[] =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr char kOneNumber[] = R"(\p{N})";

// The files of a family name one of these.
struct Family {
  std::vector<const char*> names;
  std::vector<const char*> expressions;
  bool ignore_merges = false;
  bool nfc = false;
};

const std::vector<Family>& Families() {
  static const auto* const kFamilies = new std::vector<Family>{
      {.names = {"gpt-2", "default", "phi-2", "mpt", "olmo", "jais", "exaone4"},
       .expressions = {kGpt2Pattern}},
      {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"},
       .expressions = {kOneNumber, kGpt2Pattern}},
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"},
       .expressions = {kLlama3},
       .ignore_merges = true},
      {.names = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, .expressions = {kLlama3}},
      {.names = {"qwen2", "deepseek-r1-qwen", "megrez"}, .expressions = {kQwen2}, .nfc = true},
      {.names = {"gpt-4o", "llama4"}, .expressions = {kO200k}},
      {.names = {"tekken"}, .expressions = {kTekken}, .ignore_merges = true},
      {.names = {"deepseek-v3"}, .expressions = {R"(\p{N}{1,3})", kChineseAndKana, kDeepSeekV3}},
      {.names = {"deepseek-llm"},
       .expressions = {R"([\r\n])", kCasedLetters, kMarks, R"(\s+$)", kChineseAndKorean,
                       kOneNumber}},
      {.names = {"deepseek-coder"},
       .expressions = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kChineseAndKorean,
                       kOneNumber}}};
  return *kFamilies;
}

}  // namespace

absl::StatusOr<PreTokenizerStep> SplitStep(absl::string_view expression, SplitBehavior behavior,
                                           bool invert) {
  PreTokenizerStep step;
  SHOAL_ASSIGN_OR_RETURN(step.pattern, Pattern::Compile(expression));
  step.behavior = behavior;
  step.invert = invert;
  return step;
}

absl::Status ApplyGgufPre(absl::string_view name, TokenizerDefinition* definition) {
  std::string known;
  for (const Family& family : Families()) {
    for (const char* candidate : family.names) {
      absl::StrAppend(&known, known.empty() ? "" : ", ", candidate);
      if (name != candidate) continue;
      for (const char* expression : family.expressions) {
        SHOAL_ASSIGN_OR_RETURN(PreTokenizerStep step, SplitStep(expression));
        definition->pre_tokenizer.push_back(std::move(step));
      }
      definition->model.ignore_merges = family.ignore_merges;
      if (family.nfc) {
        definition->normalizer.emplace_back();
        definition->normalizer.back().kind = NormalizerStep::Kind::kNfc;
      }
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("tokenizer.ggml.pre '", name, "' is not supported (these are: ", known, ")"));
}

}  // namespace shoal::text
