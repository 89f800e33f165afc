// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>

#include "base/status.h"
#include "text/regex/program.h"
#include "text/utf8.h"

namespace shoal::text::regex {
namespace {

constexpr int kDepthMax = 16;
constexpr size_t kRepeatMax = 1000;

class Parser {
 public:
  explicit Parser(absl::string_view expression) : text_(expression) {}

  absl::StatusOr<Alternatives> Run() {
    if (FindIllFormed(text_) != absl::string_view::npos) return Refuse("text that is not UTF-8");
    SHOAL_ASSIGN_OR_RETURN(Alternatives all, ParseAlternatives(0, false));
    if (position_ < text_.size()) return Refuse("an unmatched ')'");
    return all;
  }

 private:
  absl::Status Refuse(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("the pattern '", text_, "' uses ", what,
                                                   " (at byte ", position_,
                                                   "), which is not supported"));
  }

  bool AtEnd() const { return position_ >= text_.size(); }
  bool Take(absl::string_view token) {
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  uint32_t TakeCharacter() {
    const Utf8Step step = StepUtf8(text_, position_);
    position_ += step.length;
    return step.code;
  }

  absl::StatusOr<Alternatives> ParseAlternatives(int depth, bool fold) {
    if (depth > kDepthMax) return Refuse("deeply nested groups");
    Alternatives all(1);
    while (!AtEnd() && text_[position_] != ')') {
      if (Take("|")) {
        all.emplace_back();
        continue;
      }
      SHOAL_ASSIGN_OR_RETURN(Atom atom, ParseAtom(depth, fold));
      SHOAL_RETURN_IF_ERROR(ParseQuantifier(&atom));
      all.back().atoms.push_back(std::move(atom));
    }
    return all;
  }

  absl::StatusOr<Atom> ParseAtom(int depth, bool fold) {
    Atom atom;
    if (Take("(")) return ParseGroup(depth, fold);
    if (Take("$")) {
      atom.type = Atom::Type::kLineEnd;
      return atom;
    }
    if (Take("[")) {
      SHOAL_ASSIGN_OR_RETURN(atom.set, ParseBrackets(fold));
      return atom;
    }
    if (Take(".")) {
      atom.set.ranges.emplace_back('\n', '\n');
      atom.set.negated = true;
      atom.set.Finish();
      return atom;
    }
    if (text_[position_] == '\\') {
      SHOAL_RETURN_IF_ERROR(ParseEscape(fold, /*in_brackets=*/false, &atom.set).status());
    } else if (std::string("^*+?{}").find(text_[position_]) != std::string::npos) {
      return Refuse(absl::StrCat("'", text_.substr(position_, 1), "' at this place"));
    } else {
      AddRange(TakeCharacter(), std::nullopt, fold, &atom.set);
    }
    atom.set.Finish();
    return atom;
  }

  absl::StatusOr<Atom> ParseGroup(int depth, bool fold) {
    Atom atom;
    atom.type = Atom::Type::kGroup;
    if (Take("?i:")) {
      fold = true;
    } else if (Take("?!")) {
      atom.type = Atom::Type::kNotAhead;
    } else if (Take("?=")) {
      atom.type = Atom::Type::kAhead;
    } else if (!Take("?:") && text_.substr(position_, 1) == "?") {
      return Refuse("a group of an unknown kind");
    }
    SHOAL_ASSIGN_OR_RETURN(atom.group, ParseAlternatives(depth + 1, fold));
    if (!Take(")")) return Refuse("a group without its end");
    if (atom.type == Atom::Type::kGroup) return atom;
    const bool one_set = atom.group.size() == 1 && atom.group[0].atoms.size() == 1 &&
                         atom.group[0].atoms[0].type == Atom::Type::kSet &&
                         atom.group[0].atoms[0].min == 1;
    if (!one_set) return Refuse("look-ahead of more than one character");
    CharSet set = std::move(atom.group[0].atoms[0].set);
    atom.set = std::move(set);
    atom.group.clear();
    return atom;
  }

  absl::Status ParseQuantifier(Atom* atom) {
    if (AtEnd()) return absl::OkStatus();
    if (Take("?")) {
      atom->min = 0;
    } else if (Take("*")) {
      atom->min = 0;
      atom->max = kUnbounded;
    } else if (Take("+")) {
      atom->max = kUnbounded;
    } else if (Take("{")) {
      SHOAL_RETURN_IF_ERROR(ParseCounts(atom));
    } else {
      return absl::OkStatus();
    }
    const bool group = atom->type == Atom::Type::kGroup;
    if (atom->type != Atom::Type::kSet && (!group || atom->max > 1)) {
      return Refuse("a repeated group");
    }
    if (Take("+")) {
      if (group) return Refuse("a possessive group");
      atom->possessive = true;
    } else if (text_.substr(position_, 1) == "?") {
      return Refuse("a lazy quantifier");
    }
    return absl::OkStatus();
  }

  absl::Status ParseCounts(Atom* atom) {
    const auto number = [this]() -> std::optional<size_t> {
      std::optional<size_t> value;
      while (!AtEnd() && text_[position_] >= '0' && text_[position_] <= '9') {
        value = value.value_or(0) * 10 + static_cast<size_t>(text_[position_++] - '0');
        if (*value > kRepeatMax) return std::nullopt;
      }
      return value;
    };
    const bool open_start = text_.substr(position_, 1) == ",";
    const std::optional<size_t> low = open_start ? std::optional<size_t>(0) : number();
    if (!low) return Refuse("a malformed repetition");
    atom->min = *low;
    atom->max = *low;
    if (Take(",")) {
      const bool open_end = text_.substr(position_, 1) == "}";
      const std::optional<size_t> high = open_end ? std::optional<size_t>(kUnbounded) : number();
      if (!high) return Refuse("a malformed repetition");
      atom->max = *high;
    }
    if (!Take("}") || atom->max < atom->min || atom->max == 0) {
      return Refuse("a malformed repetition");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<CharSet> ParseBrackets(bool fold) {
    CharSet set;
    set.negated = Take("^");
    bool first = true;
    while (true) {
      if (AtEnd()) return Refuse("'[' without its end");
      if (!first && Take("]")) break;
      first = false;
      if (text_[position_] == '[') return Refuse("'[' inside brackets");
      if (Take("&&")) return Refuse("'&&' inside brackets");
      uint32_t low = 0;
      if (text_[position_] == '\\') {
        SHOAL_ASSIGN_OR_RETURN(const std::optional<uint32_t> code,
                               ParseEscape(fold, /*in_brackets=*/true, &set));
        if (!code) continue;
        low = *code;
      } else {
        low = TakeCharacter();
      }
      std::optional<uint32_t> high;
      const bool range = text_.substr(position_, 1) == "-" && position_ + 1 < text_.size() &&
                         text_[position_ + 1] != ']';
      if (range) {
        ++position_;
        CharSet ignored;
        if (text_[position_] == '\\') {
          SHOAL_ASSIGN_OR_RETURN(high, ParseEscape(fold, /*in_brackets=*/true, &ignored));
          if (!high) return Refuse("a range that ends in a class");
        } else {
          high = TakeCharacter();
        }
        if (*high < low) return Refuse("a range that ends before it begins");
      }
      AddRange(low, high, fold, &set);
    }
    set.Finish();
    return set;
  }

  // Adds what the escape means to `set`; the character itself in brackets, where it may begin a
  // range, is returned instead.
  absl::StatusOr<std::optional<uint32_t>> ParseEscape(bool fold, bool in_brackets, CharSet* set) {
    ++position_;
    if (AtEnd()) return Refuse("a '\\' at the end");
    const uint32_t code = TakeCharacter();
    const auto done = std::optional<uint32_t>();
    switch (code) {
      case 's':
        set->categories |= category::kWhiteSpace;
        return done;
      case 'S':
        if (in_brackets) {
          set->not_space = true;
        } else {
          set->categories |= category::kWhiteSpace;
          set->negated = true;
        }
        return done;
      case 'w':
        set->categories |= category::kWordCharacter;
        return done;
      case 'd':
        set->categories |= category::kDecimalNumber;
        return done;
      case 'p':
      case 'P':
        SHOAL_RETURN_IF_ERROR(ParseProperty(code == 'P', set));
        return done;
      default:
        break;
    }
    SHOAL_ASSIGN_OR_RETURN(const uint32_t character, EscapedCharacter(code));
    if (in_brackets) return std::optional<uint32_t>(character);
    AddRange(character, std::nullopt, fold, set);
    return done;
  }

  absl::StatusOr<uint32_t> EscapedCharacter(uint32_t code) {
    if (code == 'n') return uint32_t{'\n'};
    if (code == 'r') return uint32_t{'\r'};
    if (code == 't') return uint32_t{'\t'};
    if (code == 'f') return uint32_t{'\f'};
    if (code == 'v') return uint32_t{'\v'};
    if (code == 'x' && Take("{")) {
      const size_t end = text_.find('}', position_);
      if (end == absl::string_view::npos || end == position_ || end - position_ > 6) {
        return Refuse("a malformed \\x{..}");
      }
      uint32_t value = 0;
      for (; position_ < end; ++position_) {
        const size_t digit =
            absl::string_view("0123456789abcdef").find(static_cast<char>(text_[position_] | 0x20));
        if (digit == absl::string_view::npos) return Refuse("a malformed \\x{..}");
        value = value * 16 + static_cast<uint32_t>(digit);
      }
      ++position_;
      return value;
    }
    const bool letter_or_digit = code < 0x80 && IsIn(code, category::kLetter | category::kNumber);
    if (letter_or_digit) {
      return Refuse(absl::StrCat("the escape \\", std::string(1, static_cast<char>(code))));
    }
    return code;
  }

  absl::Status ParseProperty(bool complement, CharSet* set) {
    absl::string_view name;
    if (Take("{")) {
      const size_t end = text_.find('}', position_);
      if (end == absl::string_view::npos) return Refuse("\\p without its end");
      name = text_.substr(position_, end - position_);
      position_ = end + 1;
      if (!name.empty() && name[0] == '^') {
        complement = !complement;
        name.remove_prefix(1);
      }
    } else {
      name = text_.substr(position_, 1);
      position_ += name.size();
    }
    const std::optional<CategorySet> categories = CategoryNamed(name);
    if (!categories) return Refuse(absl::StrCat("the property \\p{", name, "}"));
    set->categories |= complement ? category::kAnyCategory & ~*categories : *categories;
    return absl::OkStatus();
  }

  static void AddRange(uint32_t low, std::optional<uint32_t> high_or_none, bool fold,
                       CharSet* set) {
    const uint32_t high = high_or_none.value_or(low);
    set->ranges.emplace_back(low, high);
    if (!fold) return;
    for (uint32_t lower = 'a'; lower <= 'z'; ++lower) {
      const uint32_t upper = lower - 0x20;
      const bool has_lower = lower >= low && lower <= high;
      const bool has_upper = upper >= low && upper <= high;
      if (!has_lower && !has_upper) continue;
      set->ranges.emplace_back(lower, lower);
      set->ranges.emplace_back(upper, upper);
      if (lower == 's') set->ranges.emplace_back(0x17F, 0x17F);    // long s
      if (lower == 'k') set->ranges.emplace_back(0x212A, 0x212A);  // Kelvin sign
    }
  }

  const absl::string_view text_;
  size_t position_ = 0;
};

}  // namespace

bool CharSet::MatchesSlowly(uint32_t code) const {
  const CategorySet mine = CategoryOf(code);
  bool in = (mine & categories) != 0 || (not_space && (mine & category::kWhiteSpace) == 0);
  for (size_t i = 0; i < ranges.size() && !in; ++i) {
    in = code >= ranges[i].first && code <= ranges[i].second;
  }
  return in != negated;
}

void CharSet::Finish() {
  for (uint32_t code = 0; code < 0x80; ++code) {
    if (MatchesSlowly(code)) ascii[code >> 6] |= uint64_t{1} << (code & 63u);
  }
}

absl::StatusOr<Alternatives> Parse(absl::string_view expression) {
  return Parser(expression).Run();
}

}  // namespace shoal::text::regex
