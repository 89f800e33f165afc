// SPDX-License-Identifier: Apache-2.0
#include "text/regex/pattern.h"

#include <algorithm>

#include "base/status.h"
#include "text/utf8_trusted.h"

namespace shoal::text {
namespace {

using regex::Alternatives;
using regex::Atom;
using regex::CharSet;
using regex::kUnbounded;
using regex::Sequence;

constexpr size_t kAlternativesMax = 32;
// Published expressions look at a character less than twenty times.
constexpr size_t kStepsPerByte = 256;
constexpr size_t kStepsFree = 1u << 16;

// What remains to be matched after a group.
struct Rest {
  const Sequence* sequence = nullptr;
  size_t atom = 0;
  const Rest* next = nullptr;
};

class Matcher {
 public:
  explicit Matcher(absl::string_view text)
      : text_(text), steps_left_(kStepsFree + text.size() * kStepsPerByte) {}

  // The end of the match of `sequence` at `position`; npos: none.
  size_t Match(const Sequence& sequence, size_t position) {
    return Run({.sequence = &sequence}, position);
  }
  bool exhausted() const { return exhausted_; }

  size_t Consume(const CharSet& set, size_t position, size_t max, size_t* count) {
    size_t taken = 0;
    while (position < text_.size() && taken < max) {
      const TrustedStep step = StepTrusted(text_, position);
      if (!set.Matches(step.code)) break;
      position += step.length;
      ++taken;
    }
    Spend(taken + 1);
    *count = taken;
    return position;
  }

 private:
  static constexpr size_t kNone = absl::string_view::npos;

  void Spend(size_t steps) {
    if (steps > steps_left_) exhausted_ = true;
    steps_left_ -= std::min(steps, steps_left_);
  }

  size_t Run(Rest rest, size_t position) {
    while (true) {
      while (rest.atom == rest.sequence->atoms.size()) {
        if (rest.next == nullptr) return position;
        rest = *rest.next;
      }
      const Atom& atom = rest.sequence->atoms[rest.atom];
      ++rest.atom;
      switch (atom.type) {
        case Atom::Type::kSet: {
          if (atom.min == 1 && atom.max == 1) {
            if (position >= text_.size()) return kNone;
            const TrustedStep step = StepTrusted(text_, position);
            if (!atom.set.Matches(step.code)) return kNone;
            position += step.length;
            break;
          }
          return RunRepeated(atom, rest, position);
        }
        case Atom::Type::kGroup:
          return RunGroup(atom, rest, position);
        case Atom::Type::kAhead:
        case Atom::Type::kNotAhead: {
          const bool in =
              position < text_.size() && atom.set.Matches(StepTrusted(text_, position).code);
          if (in != (atom.type == Atom::Type::kAhead)) return kNone;
          break;
        }
        case Atom::Type::kLineEnd:
          if (position < text_.size() && text_[position] != '\n') return kNone;
          break;
      }
    }
  }

  size_t RunRepeated(const Atom& atom, const Rest& rest, size_t position) {
    size_t count = 0;
    position = Consume(atom.set, position, atom.max, &count);
    if (count < atom.min) return kNone;
    while (true) {
      const size_t end = Run(rest, position);
      if (end != kNone || atom.possessive || count == atom.min) return end;
      Spend(1);
      if (exhausted_) return kNone;
      position = CharacterBefore(text_, position);
      --count;
    }
  }

  size_t RunGroup(const Atom& atom, const Rest& rest, size_t position) {
    for (const Sequence& sequence : atom.group) {
      const size_t end = Run({.sequence = &sequence, .next = &rest}, position);
      if (end != kNone) return end;
    }
    return atom.min == 0 ? Run(rest, position) : kNone;
  }

  const absl::string_view text_;
  size_t steps_left_;
  bool exhausted_ = false;
};

// Marks the bytes a match may begin with; true when the sequence can match without a character.
bool CollectBegins(const Sequence& sequence, size_t from, std::vector<bool>* bytes) {
  for (size_t i = from; i < sequence.atoms.size(); ++i) {
    const Atom& atom = sequence.atoms[i];
    bool skippable = atom.min == 0;
    if (atom.type == Atom::Type::kSet) {
      for (uint32_t byte = 0; byte < 256; ++byte) {
        if (byte >= 0x80 || atom.set.Matches(byte)) (*bytes)[byte] = true;
      }
    } else if (atom.type == Atom::Type::kGroup) {
      for (const Sequence& inner : atom.group) skippable |= CollectBegins(inner, 0, bytes);
    } else {
      skippable = true;
    }
    if (!skippable) return false;
  }
  return true;
}

// An alternative that begins with an open-ended set and failed at one place fails at every later
// place of the same run too: the rest was tried at all of them.
const CharSet* OpeningRun(const Sequence& sequence) {
  if (sequence.atoms.empty()) return nullptr;
  const Atom& first = sequence.atoms[0];
  const bool open = first.type == Atom::Type::kSet && first.max == kUnbounded && first.min <= 1 &&
                    !first.possessive;
  return open ? &first.set : nullptr;
}

}  // namespace

void Pattern::Prepare() {
  for (size_t i = 0; i < alternatives_.size(); ++i) {
    std::vector<bool> bytes(256, false);
    const bool empty = CollectBegins(alternatives_[i], 0, &bytes);
    for (size_t byte = 0; byte < 256; ++byte) {
      if (bytes[byte] || empty) begins_[byte] |= 1u << i;
    }
  }
}

absl::StatusOr<std::shared_ptr<const Pattern>> Pattern::Compile(absl::string_view expression) {
  std::shared_ptr<Pattern> pattern(new Pattern());
  pattern->expression_ = std::string(expression);
  SHOAL_ASSIGN_OR_RETURN(pattern->alternatives_, regex::Parse(expression));
  if (pattern->alternatives_.size() > kAlternativesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the pattern '", expression, "' has more than ",
                                                   kAlternativesMax, " alternatives"));
  }
  pattern->Prepare();
  return std::shared_ptr<const Pattern>(std::move(pattern));
}

std::shared_ptr<const Pattern> Pattern::Literal(absl::string_view text) {
  std::shared_ptr<Pattern> pattern(new Pattern());
  pattern->expression_ = std::string(text);
  pattern->alternatives_.emplace_back();
  for (size_t position = 0; position < text.size();) {
    const TrustedStep step = StepTrusted(text, position);
    Atom atom;
    atom.set.ranges.emplace_back(step.code, step.code);
    atom.set.Finish();
    pattern->alternatives_[0].atoms.push_back(std::move(atom));
    position += step.length;
  }
  pattern->Prepare();
  return pattern;
}

absl::Status Pattern::FindAll(absl::string_view text, std::vector<ByteRange>* matches) const {
  Matcher matcher(text);
  size_t fails_until[kAlternativesMax] = {};
  size_t position = 0;
  while (position < text.size()) {
    size_t end = absl::string_view::npos;
    uint32_t candidates = begins_[static_cast<uint8_t>(text[position])];
    while (candidates != 0 && end == absl::string_view::npos) {
      const int i = __builtin_ctz(candidates);
      candidates &= candidates - 1;
      if (position < fails_until[i]) continue;
      end = matcher.Match(alternatives_[i], position);
      if (end == position) end = absl::string_view::npos;
      if (end != absl::string_view::npos) break;
      if (const CharSet* run = OpeningRun(alternatives_[i])) {
        size_t count = 0;
        fails_until[i] = matcher.Consume(*run, position, kUnbounded, &count);
      }
    }
    if (matcher.exhausted()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the pattern '", expression_, "' takes too long on a text of ", text.size(), " bytes"));
    }
    if (end == absl::string_view::npos) {
      position += StepTrusted(text, position).length;
      continue;
    }
    matches->push_back({.begin = position, .end = end});
    position = end;
  }
  return absl::OkStatus();
}

}  // namespace shoal::text
