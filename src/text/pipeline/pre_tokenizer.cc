// SPDX-License-Identifier: Apache-2.0
#include "text/pipeline/pre_tokenizer.h"

#include <utility>

#include "base/status.h"

namespace shoal::text {
namespace {

using Pieces = std::vector<absl::string_view>;

void Add(absl::string_view text, size_t begin, size_t end, Pieces* out) {
  if (end > begin) out->push_back(text.substr(begin, end - begin));
}

// A stretch of text that matched or did not.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
  bool match = false;
};

// Reused between the pieces of one step.
struct Scratch {
  std::vector<ByteRange> matches;
  std::vector<Stretch> stretches;
};

void ListStretches(const PreTokenizerStep& step, absl::string_view text, Scratch* scratch) {
  auto& stretches = scratch->stretches;
  stretches.clear();
  size_t done = 0;
  const auto add = [&](size_t begin, size_t end, bool match) {
    if (end > begin)
      stretches.push_back({.begin = begin, .end = end, .match = match != step.invert});
  };
  for (const ByteRange& match : scratch->matches) {
    add(done, match.begin, false);
    add(match.begin, match.end, true);
    done = match.end;
  }
  add(done, text.size(), false);
}

void CutStretches(SplitBehavior behavior, absl::string_view text,
                  const std::vector<Stretch>& stretches, Pieces* out) {
  size_t begin = 0;
  for (size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& now = stretches[i];
    const bool last = i + 1 == stretches.size();
    switch (behavior) {
      case SplitBehavior::kRemoved:
        if (!now.match) Add(text, now.begin, now.end, out);
        continue;
      case SplitBehavior::kIsolated:
        Add(text, now.begin, now.end, out);
        continue;
      case SplitBehavior::kMergedWithPrevious:
        // A match joins the stretch before it unless that is a match too.
        if (!now.match && !last && stretches[i + 1].match) continue;
        break;
      case SplitBehavior::kMergedWithNext:
        if (now.match && !last && !stretches[i + 1].match) continue;
        break;
      case SplitBehavior::kContiguous:
        if (!last && stretches[i + 1].match == now.match) continue;
        break;
    }
    Add(text, begin, now.end, out);
    begin = now.end;
  }
}

absl::Status SplitPiece(const PreTokenizerStep& step, absl::string_view piece, Scratch* scratch,
                        Pieces* out) {
  scratch->matches.clear();
  SHOAL_RETURN_IF_ERROR(step.pattern->FindAll(piece, &scratch->matches));
  if (step.behavior == SplitBehavior::kIsolated && !step.invert) {
    size_t done = 0;
    for (const ByteRange& match : scratch->matches) {
      Add(piece, done, match.begin, out);
      Add(piece, match.begin, match.end, out);
      done = match.end;
    }
    Add(piece, done, piece.size(), out);
    return absl::OkStatus();
  }
  ListStretches(step, piece, scratch);
  CutStretches(step.behavior, piece, scratch->stretches, out);
  return absl::OkStatus();
}

bool StartsWith(absl::string_view text, absl::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

void CutMetaspace(const PreTokenizerStep& step, absl::string_view piece, bool first,
                  std::deque<std::string>* storage, Pieces* out) {
  const bool prefix = step.prefix == PreTokenizerStep::Prefix::kAlways ||
                      (step.prefix == PreTokenizerStep::Prefix::kFirst && first);
  const bool has_prefix = StartsWith(piece, " ") || StartsWith(piece, step.replacement);
  std::string replaced;
  replaced.reserve(piece.size() + piece.size() / 2 + step.replacement.size());
  if (prefix && !has_prefix) replaced = step.replacement;
  for (const char c : piece) {
    if (c == ' ') {
      replaced += step.replacement;
    } else {
      replaced.push_back(c);
    }
  }
  storage->push_back(std::move(replaced));
  const absl::string_view text = storage->back();
  if (!step.split) {
    out->push_back(text);
    return;
  }
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t next = std::min(text.find(step.replacement, begin + 1), text.size());
    Add(text, begin, next, out);
    begin = next;
  }
}

}  // namespace

absl::Status PreTokenizer::Split(absl::string_view text, bool first,
                                 std::deque<std::string>* storage, Pieces* pieces) const {
  pieces->clear();
  if (text.empty()) return absl::OkStatus();
  pieces->push_back(text);
  Pieces next;
  Scratch scratch;
  for (const PreTokenizerStep& step : steps_) {
    next.clear();
    for (size_t i = 0; i < pieces->size(); ++i) {
      const absl::string_view piece = (*pieces)[i];
      switch (step.kind) {
        case PreTokenizerStep::Kind::kSplit:
          SHOAL_RETURN_IF_ERROR(SplitPiece(step, piece, &scratch, &next));
          break;
        case PreTokenizerStep::Kind::kMetaspace:
          CutMetaspace(step, piece, first && piece.data() == text.data(), storage, &next);
          break;
        case PreTokenizerStep::Kind::kPrefixSpace:
          if (StartsWith(piece, " ")) {
            next.push_back(piece);
          } else {
            storage->emplace_back(1, ' ');
            storage->back().append(piece.data(), piece.size());
            next.push_back(storage->back());
          }
          break;
      }
    }
    pieces->swap(next);
  }
  return absl::OkStatus();
}

}  // namespace shoal::text
