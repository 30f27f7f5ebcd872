// PyTorch matches a pattern against the beginning of a cell and takes the rest for nothing; here a
// cell is read whole, and what PyTorch would drop is refused. No name of a kind is the beginning of
// another one, so the first match is the only one.
#include "trainers/pytorch/pipeline_csv_cells.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "core/values/byte_order_mark.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::string_view kOverlap = "OVERLAP_F_B";
constexpr const char* kActionHelp =
    "an action is STAGE, TYPE and MICRO-BATCH, for example 0F3; TYPE is one of F, I, W, B, SEND_F, "
    "RECV_F, SEND_B, RECV_B, and without a micro-batch UNSHARD, RESHARD, REDUCE_GRAD; penstock's "
    "own are LOAD, STORE and OPT";
constexpr const char* kOverlapHelp =
    "an overlap is one F and one B of another stage or micro-batch: (0F7;7B3)OVERLAP_F_B";

// No name is the beginning of another one.
constexpr std::array kKinds = {
    ActionKind::kForward,        ActionKind::kInputGradient,   ActionKind::kFusedBackward,
    ActionKind::kWeightGradient, ActionKind::kUnshard,         ActionKind::kReshard,
    ActionKind::kReduceGradient, ActionKind::kSendActivation,  ActionKind::kReceiveActivation,
    ActionKind::kSendGradient,   ActionKind::kReceiveGradient, ActionKind::kLoad,
    ActionKind::kStore,          ActionKind::kOptimizer};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits at the front.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// Nothing when it is larger than `most`.
std::optional<std::uint32_t> number_in(std::string_view digits, std::uint32_t most) {
  std::uint64_t number = 0;
  for (const char c : digits) {
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
    if (number > most) return {};
  }
  return static_cast<std::uint32_t>(number);
}

// How much of an action PyTorch reads: its pattern is matched against the beginning of a cell.
std::string_view prefix_that_pytorch_reads(std::string_view action) {
  std::string_view rest = action;
  if (take_digits(rest).empty()) return {};
  for (const ActionKind kind : kKinds) {
    if (!rest.starts_with(name_of(kind))) continue;
    rest.remove_prefix(name_of(kind).size());
    take_digits(rest);
    return action.substr(0, action.size() - rest.size());
  }
  return {};
}

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// For messages: what a terminal can show, and not all of a long one.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out(text.substr(0, kShown));
  for (char& c : out) {
    if (c < 0x20 || c > 0x7E) c = '?';
  }
  return text.size() > kShown ? out + "..." : out;
}

// Collects cells. The dialect of a file is known only at its end, so B is kept apart from BW.
class CellReader {
 public:
  CellReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  CsvCells read(LegacyCsv legacy) {
    if (without_byte_order_mark(text_).size() < text_.size()) {
      throw_bad_input(file_ +
                      ":1:1: a byte-order mark precedes the first cell, and PyTorch refuses "
                      "it\nhelp: save the file as UTF-8 without one");
    }
    constexpr std::size_t kShortestCell = 4;  // "0F0,"
    const auto ends =
        std::count_if(text_.begin(), text_.end(), [](char c) { return c == ',' || c == '\n'; });
    result_.cells.reserve(std::min(static_cast<std::size_t>(ends), text_.size() / kShortestCell) +
                          1);
    while (!text_.empty()) read_row(take_line());
    result_.begin.push_back(result_.cells.size());
    settle_dialect(legacy);
    settle_form();
    return std::move(result_);
  }

 private:
  std::string_view take_line() {
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  void read_row(std::string_view line) {
    result_.begin.push_back(result_.cells.size());
    at_.column = 0;
    for (bool more = true; more; ++at_.column) {
      const std::size_t end = std::min(line.find(','), line.size());
      at_.text = without_blanks(line.substr(0, end));
      read_cell();
      more = end < line.size();
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    ++at_.row;
  }

  void read_cell() {
    if (at_.text.empty()) {
      if (!first_blank_) first_blank_ = at_;
    } else if (at_.text.starts_with('(')) {
      read_overlap();
    } else {
      result_.cells.push_back(action_in(at_.text));
    }
  }

  // "(0F7;7B3)OVERLAP_F_B".
  void read_overlap() {
    const std::size_t close = at_.text.find(')');
    const std::string_view inside = at_.text.substr(1, close - 1);
    const std::size_t semicolon = inside.find(';');
    if (close == std::string_view::npos || semicolon == std::string_view::npos ||
        at_.text.substr(close + 1) != kOverlap) {
      refuse("is no overlap", kOverlapHelp);
    }
    CsvCell forward = action_in(inside.substr(0, semicolon));
    const CsvCell backward = action_in(inside.substr(semicolon + 1));
    if (forward.kind != ActionKind::kForward || backward.kind != ActionKind::kFusedBackward) {
      refuse("overlaps other actions than one F and one B, in this order", kOverlapHelp);
    }
    if (forward.stage == backward.stage && forward.micro_batch == backward.micro_batch) {
      refuse("overlaps a forward with its own backward", kOverlapHelp);
    }
    forward.overlaps_next = true;
    result_.cells.push_back(forward);
    result_.cells.push_back(backward);
    if (!first_overlap_) first_overlap_ = at_;
  }

  CsvCell action_in(std::string_view action) {
    std::string_view rest = action;
    const std::string_view stage = take_digits(rest);
    const auto word_end = std::find_if(rest.begin(), rest.end(), is_digit);
    const auto word = rest.substr(0, static_cast<std::size_t>(word_end - rest.begin()));
    rest.remove_prefix(word.size());
    const std::string_view micro_batch = take_digits(rest);
    const bool whole = word == "BW";
    const auto known = std::find_if(kKinds.begin(), kKinds.end(), [&](ActionKind kind) {
      return name_of(kind) == (whole ? "B" : word);
    });
    if (stage.empty() || known == kKinds.end() || !rest.empty()) refuse_word(action);

    CsvCell cell = at_;
    cell.kind = *known;
    cell.stage =
        StageId{static_cast<std::uint16_t>(number_or_refuse(stage, kNoStage.value - 1U, "stage"))};
    if (!has_micro_batch(cell.kind)) {
      if (!micro_batch.empty())
        refuse("has a micro-batch, but acts on the whole stage", kActionHelp);
      return cell;
    }
    if (micro_batch.empty()) {
      refuse("has no micro-batch; PyTorch reads it and fails when it runs", kActionHelp);
    }
    cell.micro_batch =
        MicroBatchId{number_or_refuse(micro_batch, kNoMicroBatch.value - 1U, "micro-batch")};
    if (whole && !first_whole_) first_whole_ = cell;
    if (whole) whole_backwards_.push_back(result_.cells.size());
    return cell;
  }

  std::uint32_t number_or_refuse(std::string_view digits, std::uint32_t most,
                                 std::string_view what) const {
    const auto number = number_in(digits, most);
    if (!number) refuse(fmt::format("the {} is too large", what), fmt::format("at most {}", most));
    return *number;
  }

  [[noreturn]] void refuse_word(std::string_view action) const {
    const std::string_view prefix = prefix_that_pytorch_reads(action);
    if (prefix.empty()) refuse("is no action", kActionHelp);
    refuse(fmt::format("is not an action; PyTorch would read {} and ignore '{}'", prefix,
                       shown(action.substr(prefix.size()))),
           kActionHelp);
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& help) const {
    refuse_cell(file_, at_, what, help);
  }

  void settle_dialect(LegacyCsv legacy) {
    const auto first_of = [&](ActionKind kind) {
      return std::find_if(result_.cells.begin(), result_.cells.end(),
                          [&](const CsvCell& cell) { return cell.kind == kind; });
    };
    const auto weight = first_of(ActionKind::kWeightGradient);
    const auto input = first_of(ActionKind::kInputGradient);
    const bool split_by_old_names = weight != result_.cells.end() && input == result_.cells.end();
    if (!first_whole_ && !split_by_old_names) {
      if (legacy == LegacyCsv::kRefuse) return;
      throw_bad_input(file_ +
                      ": --legacy-csv: nothing in it is of the dialect of 2024, which has BW "
                      "cells, or W without I\nhelp: leave the option out");
    }
    if (legacy == LegacyCsv::kRefuse) refuse_legacy(first_whole_ ? *first_whole_ : *weight);
    if (input != result_.cells.end()) {
      refuse_cell(file_, *input, "mixes dialects: I is younger than BW",
                  "write I and B, or B and BW");
    }
    if (first_overlap_) {
      refuse_cell(file_, *first_overlap_, "mixes dialects: overlaps are younger than BW",
                  "write I and B, or B and BW without overlaps");
    }
    translate();
  }

  [[noreturn]] void refuse_legacy(const CsvCell& cell) const {
    constexpr const char* kHelp =
        "--legacy-csv reads it, with B as I and BW as B; better write the file anew with I and B";
    if (cell.kind != ActionKind::kWeightGradient) {
      refuse_cell(file_, cell,
                  fmt::format("is of the dialect of 2024, where BW is the whole backward; today's "
                              "PyTorch reads {}B without a micro-batch and ignores the rest",
                              cell.stage.value),
                  kHelp);
    }
    refuse_cell(file_, cell,
                "is a W in a file without I, as in the dialect of 2024, where B is the input "
                "gradient; today's PyTorch takes B for the whole backward",
                kHelp);
  }

  void translate() {
    for (CsvCell& cell : result_.cells) {
      if (cell.kind == ActionKind::kFusedBackward) cell.kind = ActionKind::kInputGradient;
    }
    for (const std::size_t at : whole_backwards_) {
      result_.cells[at].kind = ActionKind::kFusedBackward;
    }
  }

  void settle_form() {
    const auto comms = std::find_if(
        result_.cells.begin(), result_.cells.end(),
        [](const CsvCell& cell) { return !is_compute(cell.kind) || !has_micro_batch(cell.kind); });
    if (comms == result_.cells.end()) return;
    result_.form = PipelineCsvForm::kComputeComms;
    if (!first_blank_) return;
    refuse_cell(file_, *first_blank_,
                fmt::format("is blank, but the file holds communication ({} in row {}), and "
                            "PyTorch's compute_comms form has no blank cells",
                            shown(comms->text), comms->row + 1),
                "leave blank cells out, also at the ends of rows");
  }

  std::string_view text_;
  const std::string& file_;
  CsvCell at_;  // the place being read
  CsvCells result_;
  std::optional<CsvCell> first_blank_, first_whole_, first_overlap_;
  std::vector<std::size_t> whole_backwards_;  // positions of BW
};

}  // namespace

CsvCells read_csv_cells(std::string_view text, const std::string& file, LegacyCsv legacy) {
  return CellReader(text, file).read(legacy);
}

void refuse_cell(const std::string& file, const CsvCell& cell, const std::string& what,
                 const std::string& help) {
  throw_bad_input(fmt::format("{}:{}:{}: '{}' (rank {}): {}\nhelp: {}", file, cell.row + 1,
                              cell.column + 1, shown(cell.text), cell.row, what, help));
}

std::string name_of(const CsvCell& cell) {
  std::string name = fmt::format("{}{}", cell.stage.value, name_of(cell.kind));
  if (has_micro_batch(cell.kind)) name += fmt::format("{}", cell.micro_batch.value);
  return name;
}

}  // namespace penstock
