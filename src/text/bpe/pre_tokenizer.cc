// SPDX-License-Identifier: Apache-2.0
#include "text/bpe/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>

#include "base/status.h"
#include "text/utf8.h"

namespace shoal::text {
namespace {

constexpr uint32_t kMatchLimit = 50'000'000;
constexpr uint32_t kDepthLimit = 10'000;
constexpr uint32_t kHeapLimitKib = 64 * 1024;

// White space spelled out: PCRE2's own \s includes U+180E, which is none in the reference.
#define SHOAL_SPACE                                                                           \
  "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}" \
  "\\x{205F}\\x{3000}"
constexpr char kGpt2Pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SHOAL_SPACE "\\p{L}\\p{N}]+|[" SHOAL_SPACE
    "]+(?![^" SHOAL_SPACE "])|[" SHOAL_SPACE "]+";
#undef SHOAL_SPACE

std::string PcreMessage(int code) {
  PCRE2_UCHAR buffer[256];
  if (pcre2_get_error_message(code, buffer, sizeof(buffer)) < 0) return absl::StrCat("code ", code);
  return reinterpret_cast<const char*>(buffer);
}

bool IsNumber(uint32_t code) {
  if (code < 0x80) return code >= '0' && code <= '9';
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

struct MatchDeleter {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

}  // namespace

struct PreTokenizer::Pattern {
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
  bool jit = false;
  ~Pattern() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

PreTokenizer::PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

absl::StatusOr<PreTokenizer> PreTokenizer::Create(const PreTokenizerDefinition& definition) {
  PreTokenizer result;
  result.digits_ = definition.digits;
  if (!definition.gpt2_pattern) return result;
  auto pattern = std::make_unique<Pattern>();
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  pattern->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kGpt2Pattern), PCRE2_ZERO_TERMINATED,
                                PCRE2_UTF | PCRE2_UCP, &error, &error_offset, nullptr);
  if (pattern->code == nullptr) {
    return absl::InternalError(
        absl::StrCat("pre-tokenizer pattern: ", PcreMessage(error), " at offset ", error_offset));
  }
  // Where the system forbids executable memory the interpreter does the same, slower.
  pattern->jit = pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE) == 0;
  pattern->context = pcre2_match_context_create(nullptr);
  if (pattern->context == nullptr) {
    return absl::ResourceExhaustedError("pre-tokenizer pattern: out of memory");
  }
  pcre2_set_match_limit(pattern->context, kMatchLimit);
  pcre2_set_depth_limit(pattern->context, kDepthLimit);
  pcre2_set_heap_limit(pattern->context, kHeapLimitKib);
  result.pattern_ = std::move(pattern);
  return result;
}

absl::Status PreTokenizer::SplitByPattern(absl::string_view text, void* match_data,
                                          std::vector<absl::string_view>* pieces) const {
  auto* match = static_cast<pcre2_match_data*>(match_data);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(match);
  size_t position = 0;
  while (position < text.size()) {
    const int rc = pattern_->jit ? pcre2_jit_match(pattern_->code, subject, text.size(), position,
                                                   PCRE2_NO_UTF_CHECK, match, pattern_->context)
                                 : pcre2_match(pattern_->code, subject, text.size(), position,
                                               PCRE2_NO_UTF_CHECK, match, pattern_->context);
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the text cannot be cut into pieces near byte ", position, " of a part of ",
                       text.size(), ": ", PcreMessage(rc)));
    }
    if (offsets[0] > position) pieces->push_back(text.substr(position, offsets[0] - position));
    pieces->push_back(text.substr(offsets[0], offsets[1] - offsets[0]));
    position = offsets[1];
  }
  if (position < text.size()) pieces->push_back(text.substr(position));
  return absl::OkStatus();
}

absl::Status PreTokenizer::Split(absl::string_view text,
                                 std::vector<absl::string_view>* pieces) const {
  std::unique_ptr<pcre2_match_data, MatchDeleter> match;
  if (pattern_ != nullptr) {
    match.reset(pcre2_match_data_create_from_pattern(pattern_->code, nullptr));
    if (match == nullptr) return absl::ResourceExhaustedError("pre-tokenizer: out of memory");
  }
  const auto part_done = [&](size_t begin, size_t end) -> absl::Status {
    if (begin == end) return absl::OkStatus();
    const absl::string_view part = text.substr(begin, end - begin);
    if (pattern_ != nullptr) return SplitByPattern(part, match.get(), pieces);
    pieces->push_back(part);
    return absl::OkStatus();
  };
  if (digits_ == DigitSplit::kNone) return part_done(0, text.size());
  size_t begin = 0;
  bool in_number = false;
  for (size_t position = 0; position < text.size();) {
    const Utf8Step step = StepUtf8(text, position);
    const bool number = IsNumber(step.code);
    if (number != in_number || (number && digits_ == DigitSplit::kIndividual)) {
      SHOAL_RETURN_IF_ERROR(part_done(begin, position));
      begin = position;
      in_number = number;
    }
    position += step.length;
  }
  return part_done(begin, text.size());
}

}  // namespace shoal::text
