// A cell of a row shows what its rank did at one moment of the cell's time, found by binary search
// among the rank's spans, so that the picture is a sample and not a sum. Letters are those of the
// actions; the numbers of micro-batches follow where no action is shorter than a cell. Three
// windows are shown where the whole step is too fine to read: the fill, the drain, and all of it.
// Times are integers, and positions are computed without overflow.
#include "report/gantt.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/values/action_rules.h"
#include "core/values/units.h"
#include "report/screen.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kLineWidth = 96;  // in files
constexpr std::size_t kMostRows = 48;   // of more ranks, the first and the last are drawn

struct Span {
  SimTime start, end;
  ActionKind kind = ActionKind::kForward;
  bool odd = false;       // micro-batch
  bool overlaps = false;  // a member of an OVERLAP; the other has the same times
};

// What one rank did: its compute actions, and the collectives and copies that run beside them.
struct Row {
  std::vector<Span> compute, collectives, loads, stores;
};

struct Letter {
  char letter;
  std::string meaning;
};

// F for "F forward", small where it is no work of a micro-batch: "o optimizer", "l load".
Letter letter_of(ActionKind kind) {
  if (is_collective(kind)) return {'g', "reductions"};
  std::string name(name_of(kind));
  if (is_of_micro_batch(kind)) return {name.front(), std::string(rule_of(kind).meaning)};
  for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
  const char letter = name.front();
  return {letter, is_copy(kind) ? std::move(name) : std::string(rule_of(kind).meaning)};
}

std::vector<Row> rows_of(const Program& program, const Timeline& timeline, int pipelines) {
  const Pipeline& last = program.pipelines.at(static_cast<std::size_t>(pipelines) - 1);
  std::vector<Row> rows(static_cast<std::size_t>(last.first_rank + last.ranks));
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    const auto rank = static_cast<std::size_t>(program.rank_of(action).value);
    if (rank >= rows.size() || timeline.end[i] <= timeline.start[i]) continue;
    const bool odd = action.micro_batch != kNoMicroBatch && action.micro_batch.value % 2 == 1;
    const bool overlaps = action.overlaps_next || (i > 0 && program.actions[i - 1].overlaps_next);
    const Span span{timeline.start[i], timeline.end[i], action.kind, odd, overlaps};
    if (is_compute(action.kind)) rows[rank].compute.push_back(span);
    if (is_collective(action.kind)) rows[rank].collectives.push_back(span);
    const Lane lane = rule_of(action.kind).lane;
    if (lane == Lane::kCopyIn) rows[rank].loads.push_back(span);
    if (lane == Lane::kCopyOut) rows[rank].stores.push_back(span);
  }
  return rows;
}

const Span* at(const std::vector<Span>& spans, SimTime time) {
  const auto after = std::upper_bound(spans.begin(), spans.end(), time,
                                      [](SimTime t, const Span& span) { return t < span.start; });
  if (after == spans.begin() || std::prev(after)->end <= time) return nullptr;
  return &*std::prev(after);
}

struct Window {
  SimTime begin, end;
  [[nodiscard]] Duration length() const { return end - begin; }
  // begin + numerator / denominator of the length, without overflow.
  [[nodiscard]] SimTime point(std::int64_t numerator, std::int64_t denominator) const {
    const std::int64_t whole = length().count() / denominator;
    const std::int64_t rest = length().count() % denominator;
    return begin + Duration(whole * numerator + rest * numerator / denominator);
  }
};

class Drawing {
 public:
  Drawing(const std::vector<Row>& rows, Screen screen) : rows_(rows) {
    label_ = fmt::format("rank {}", rows.size() - 1).size();
    cells_ = screen.width(kLineWidth) - label_ - 1;
    seen_.assign(static_cast<std::size_t>(kActionKinds), false);
  }

  [[nodiscard]] Duration cell(const Window& window) const {
    return window.length() / static_cast<std::int64_t>(cells_);
  }

  std::string panel(const Window& window) {
    const bool alternate = alternates(window);
    alternated_ = alternated_ || alternate;
    std::string out = scale(window);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_.size() > kMostRows && r == kMostRows / 2) {
        const std::size_t left_out = rows_.size() - kMostRows;
        out += fmt::format("{:{}} ({} more, not drawn)\n", "...", label_, left_out);
        r += left_out;
      }
      out += fmt::format("{:<{}} {}\n", fmt::format("rank {}", r), label_,
                         row(rows_[r], window, alternate));
    }
    return out;
  }

  [[nodiscard]] std::string legend() const {
    std::string text;
    char last = ' ';
    for (std::size_t kind = 0; kind < seen_.size(); ++kind) {
      const Letter letter = letter_of(static_cast<ActionKind>(kind));
      if (!seen_[kind] || letter.letter == last) continue;
      last = letter.letter;
      text += fmt::format("{} {}, ", letter.letter, letter.meaning);
    }
    if (seen_overlap_) text += "X a forward and a backward together, ";
    text += ". idle or in a transfer";
    if (alternated_) text += "; odd micro-batches in lower case";
    return text + ". A cell shows what the rank did at the cell's middle.";
  }

 private:
  std::string row(const Row& row, const Window& window, bool alternate) {
    std::string text;
    const auto halves = static_cast<std::int64_t>(2 * cells_);
    for (std::int64_t half = 1; half < halves; half += 2) {
      const SimTime middle = window.point(half, halves);
      const Span* span = at(row.compute, middle);
      for (const auto* beside : {&row.collectives, &row.loads, &row.stores}) {
        if (span == nullptr) span = at(*beside, middle);
      }
      if (span == nullptr) {
        text += '.';
        continue;
      }
      if (span->overlaps) {
        seen_overlap_ = true;
      } else {
        seen_[static_cast<std::size_t>(span->kind)] = true;
      }
      const char letter = span->overlaps ? 'X' : letter_of(span->kind).letter;
      const bool lower = alternate && span->odd;
      text += lower ? static_cast<char>(std::tolower(static_cast<unsigned char>(letter))) : letter;
    }
    return text;
  }

  // Neighbouring micro-batches can be told apart where no action is shorter than a cell.
  [[nodiscard]] bool alternates(const Window& window) const {
    return std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
      return std::all_of(row.compute.begin(), row.compute.end(), [&](const Span& span) {
        const bool outside = span.end <= window.begin || span.start >= window.end;
        return outside || span.end - span.start >= cell(window);
      });
    });
  }

  // Four times where they belong, and the end of the window at the end of the line.
  [[nodiscard]] std::string scale(const Window& window) const {
    const std::size_t ticks = cells_ < 72 ? 2 : 4;
    std::string line(label_ + 1 + cells_, ' ');
    const auto time = [&window, ticks](std::size_t tick) {
      const auto numerator = static_cast<std::int64_t>(tick);
      return to_text(window.point(numerator, static_cast<std::int64_t>(ticks)).time_since_epoch());
    };
    for (std::size_t tick = 0; tick < ticks; ++tick) {
      const std::string text = "|" + time(tick);
      line.replace(label_ + 1 + cells_ * tick / ticks, text.size(), text);
    }
    const std::string end = time(ticks) + "|";
    line.replace(line.size() - end.size(), end.size(), end);
    return line + '\n';
  }

  const std::vector<Row>& rows_;
  std::size_t label_ = 0, cells_ = 0;
  std::vector<bool> seen_;
  bool seen_overlap_ = false, alternated_ = false;
};

Window whole_step(const std::vector<Row>& rows) {
  Window window;
  for (const Row& row : rows) {
    for (const auto* spans : {&row.compute, &row.collectives, &row.loads, &row.stores}) {
      if (!spans->empty()) window.end = std::max(window.end, spans->back().end);
    }
  }
  return window;
}

Duration mean_action(const std::vector<Row>& rows) {
  Duration sum{};
  std::int64_t count = 0;
  for (const Row& row : rows) {
    for (const Span& span : row.compute) sum += span.end - span.start;
    count += std::ssize(row.compute);
  }
  return count == 0 ? Duration{} : sum / count;
}

// Until the first rank has done its first backward, and a quarter more.
Window warm_up(const std::vector<Row>& rows) {
  Window window;
  for (const Span& span : rows.front().compute) {
    window.end = span.end;
    if (is_backward(span.kind)) break;
  }
  window.end += window.length() / 4;
  return window;
}

// From the last forward of the rank that is done with its forwards first, and a quarter more.
Window drain(const std::vector<Row>& rows, SimTime step_end) {
  Window window{step_end, step_end};
  for (const Row& row : rows) {
    const auto last = std::find_if(row.compute.rbegin(), row.compute.rend(), [](const Span& span) {
      return span.kind == ActionKind::kForward;
    });
    if (last != row.compute.rend()) window.begin = std::min(window.begin, last->start);
  }
  window.begin -= std::min(window.length() / 4, window.begin.time_since_epoch());
  return window;
}

}  // namespace

std::string gantt(const Program& program, const Timeline& timeline, Screen screen, int pipelines) {
  const std::vector<Row> rows = rows_of(program, timeline, pipelines);
  const Window step = whole_step(rows);
  if (step.length() == Duration{}) return "every action takes no time: there is nothing to draw\n";
  Drawing drawing(rows, screen);
  std::string out;
  const Window first = warm_up(rows);
  const Window last = drain(rows, step.end);
  if (drawing.cell(step) <= mean_action(rows) || first.end >= last.begin) {
    out = drawing.panel(step);
  } else {
    out = "The start:\n" + drawing.panel(first) + "The end, after " +
          to_text(last.begin - first.end) + " that are not drawn:\n" + drawing.panel(last);
  }
  return out + wrapped(drawing.legend(), screen.width(), "", "");
}

}  // namespace penstock
