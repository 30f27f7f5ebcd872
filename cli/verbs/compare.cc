// `penstock compare`: one search per combination of what varies. All questions are understood
// before the first search begins, and rows that differ only in what is changed of a question share
// the files and estimates that it is made from.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/files/typed_files.h"
#include "cli/answers/options/option_aliases.h"
#include "cli/io/progress.h"
#include "cli/options/options.h"
#include "cli/options/search_options.h"
#include "cli/options/slow_options.h"
#include "cli/options/table_format.h"
#include "cli/options/training_cost_options.h"
#include "cli/options/wrong_values.h"
#include "cli/reports/remarks_on_question.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_digits.h"
#include "cli/words/is_like_gpu.h"
#include "cli/words/number_spellings.h"
#include "cli/words/parse.h"
#include "cli/words/schedule_spelled.h"
#include "report/comparison.h"
#include "report/flat_table.h"
#include "report/reasons.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/words.h"
#include "search/evaluate.h"
#include "simulator/scenario.h"
#include "studies/contradictions.h"

namespace penstock {
namespace {

constexpr std::size_t kMostRows = 1000;

constexpr const char* kExamples =
    R"(  penstock compare profile.json --cluster cluster.json --gpus 64 --global-batch 512 \
      --vary schedule=1f1b,zb-h1 --vary mbs=1,2,4
  penstock compare profile.json --cluster cluster.json --global-batch 512 --vary gpus=8,16,32,64
  penstock compare profile.json --global-batch 512 --vary cluster=a.json,b.json \
      --vary link.efa=0.5,1,2 --vary schedule=1f1b,interleaved:2
  penstock compare profile.json --cluster cluster.json --global-batch 512 \
      --vary schedule=gpipe,1f1b,zb-h1 --slow rank=3:1.3
)";

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Axis {
  std::string key;
  std::vector<std::string> values;
};

// "--vary gpus=64,128" and a further value as one option.
std::string with_value(const Axis& axis, const std::string& value) {
  return fmt::format("--vary {}={},{}", field_word(axis.key), joined(axis.values, ","), value);
}

// interleaved:2 says how many chunks; so does V.
void refuse_chunks_twice(const std::vector<Axis>& axes) {
  bool chunks = false, named = false;
  for (const Axis& axis : axes) {
    chunks = chunks || axis.key == "V";
    for (const std::string& value : axis.values) {
      named = named || (axis.key == "schedule" && value.find(':') != std::string::npos);
    }
  }
  if (chunks && named) {
    bad_option("--vary", "V and a schedule's ':V' both say how many chunks", "keep one of them");
  }
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys = settable_keys();
  keys.insert(keys.end(), readable_keys().begin(), readable_keys().end());
  return keys;
}

// What was given as a list to an option that takes one value: "--vary TP=1,2,4" of --tp 1,2,4.
std::string lists_in(const SearchOptions& given) {
  std::string out;
  const auto add = [&out](std::string_view key, const std::string& value) {
    const bool is_number = key != "gpus" && !without_thousands(value, ',').empty();
    if (value.find(',') == std::string::npos || is_number) return;
    out += fmt::format("{}--vary {}={}", out.empty() ? "" : " ", field_word(key), value);
  };
  for (const std::string& pin : given.pins) {
    const std::size_t equals = pin.find('=');
    const bool is_one =
        equals != std::string::npos && pin.find('=', equals + 1) == std::string::npos;
    if (is_one) add(key_or_word(pin.substr(0, equals)), pin.substr(equals + 1));
  }
  for (const std::string& schedules : given.schedules) add("schedule", schedules);
  for (const auto& [key, value] : {std::pair{"device", &given.device},
                                   {"gpus", &given.gpus},
                                   {"global-batch", &given.global_batch},
                                   {"sequence-length", &given.sequence_length},
                                   {"precision", &given.precision},
                                   {"recompute", &given.recompute},
                                   {"sharding", &given.sharding}}) {
    if (*value) add(key, **value);
  }
  return out;
}

// "TP=1,2 PP=1,2", "TP=1,2;PP=1,2" and "TP=1,2,PP=1,2" with an option for each key; nothing of one.
std::string keys_apart(const std::string& text) {
  std::vector<std::string> options;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(",; ", begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const bool is_key = equals != std::string::npos && equals > 0 && part.find('/') > equals;
    const bool is_same =
        is_key && !options.empty() && options.back().starts_with(part.substr(0, equals + 1));
    if (is_same) {
      options.back() += ',' + part.substr(equals + 1);
    } else if (is_key || options.empty()) {
      options.push_back(part);
    } else {
      options.back() += (options.back().ends_with('=') ? "" : ",") + part;
    }
  }
  const bool is_one = options.size() < 2 && std::count(text.begin(), text.end(), '=') < 2;
  return is_one ? "" : "--vary " + joined(options, " --vary ");
}

// What to try, as "write --vary schedule=1f1b,zb-h1": a few values, or how numbers are listed.
std::string example_of(const std::string& key) {
  struct Example {
    std::string_view key, values;
  };
  constexpr std::array kExamplesOfKeys{Example{"schedule", "1f1b,interleaved,zb-h1"},
                                       Example{"device", "h100-sxm,a100-sxm-80gb"},
                                       Example{"recompute", "none,selective,full"},
                                       Example{"sharding", "none,zero1,zero3,fsdp"},
                                       Example{"zero1", "on,off"},
                                       Example{"offload", "none,optimizer"},
                                       Example{"placement", "pipeline-inner,data-inner"},
                                       Example{"cp-kind", "ring,all-gather,ulysses"},
                                       Example{"gpus", "8,16,32,64"},
                                       Example{"global-batch", "256,512,1024"}};
  for (const Example& row : kExamplesOfKeys) {
    if (key == row.key) {
      return fmt::format("write --vary {}={}, or other values of it", field_word(key), row.values);
    }
  }
  const std::array<std::string_view, 7> degrees{"T", "P", "C", "D", "V", "EP", "b"};
  const bool is_degree = std::find(degrees.begin(), degrees.end(), key) != degrees.end();
  return fmt::format("write --vary {}={} with the values to try", field_word(key),
                     is_degree ? "1,2,4" : "A,B");
}

// "zero=1,2,3" and "nodes=1,2" as keys that there are.
std::string pair_in_own_words(const std::string& typed, const std::vector<std::string>& values) {
  const std::string key = plain_word(typed);
  const bool is_zero = key == "zero" || key == "zero-stage" || key == "stage" || key == "ds-zero";
  const bool is_fsdp = key == "fsdp" || key == "fsdp2";
  const bool are_nodes = key == "nodes" || key == "nnodes" || key == "num-nodes";
  if (!is_zero && !is_fsdp && !are_nodes) return "";
  std::vector<std::string> own;
  for (const std::string& value : values) {
    const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
    const bool is_off = value == "off" || value == "none" || value == "0" || value == "false";
    constexpr int kUsual = 8, kMostDigits = 6;
    if (are_nodes && (!is_number || value.size() > kMostDigits)) return "";
    own.push_back(are_nodes                          ? std::to_string(kUsual * std::stoll(value))
                  : is_off                           ? "none"
                  : is_fsdp                          ? "fsdp"
                  : is_number                        ? "zero" + value
                  : value == "on" || value == "true" ? "zero1"
                                                     : value);
  }
  return fmt::format("write --vary {}={}{}", are_nodes ? "gpus" : "sharding", joined(own, ","),
                     are_nodes ? ", the GPUs of all nodes where each has 8" : "");
}

// "cluster=h100,a100" names GPUs, and "device=a.json,b.json" files of clusters.
void refuse_other_machines(const Axis& axis) {
  const bool are_gpus = std::all_of(axis.values.begin(), axis.values.end(), [](const auto& value) {
    return is_like_gpu(value) && role_of(value) == FileRole::kNone;
  });
  const bool are_files = std::all_of(axis.values.begin(), axis.values.end(), [](const auto& value) {
    return role_of(value) == FileRole::kCluster;
  });
  if (axis.key == "cluster" && are_gpus) {
    bad_option("--vary cluster",
               fmt::format("'{}' is a GPU, and a file belongs here", axis.values[0]),
               fmt::format("write --vary device={}", joined(axis.values, ",")));
  }
  if (axis.key == "device" && are_files) {
    bad_option("--vary device",
               fmt::format("{} is a cluster, and a GPU belongs here", axis.values[0]),
               fmt::format("write --vary cluster={}", joined(axis.values, ",")));
  }
}

// "network=200,400,800".
void refuse_rates_without_unit(const Axis& axis) {
  if (axis.key != "network" || !std::all_of(axis.values.begin(), axis.values.end(), is_digits)) {
    return;
  }
  bad_option("--vary network", fmt::format("'{}' has no unit", axis.values[0]),
             fmt::format("write --vary network={}Gb/s, in bits as networks are sold, or the same "
                         "with GB/s, in bytes",
                         joined(axis.values, "Gb/s,")));
}

// "fp8", "zero3": a value without its key; empty of other words.
std::string help_for_bare_value(const std::string& text) {
  constexpr std::array<std::string_view, 8> kPrecisions{"fp8",  "float8",  "bf16", "bfloat16",
                                                        "fp16", "float16", "fp32", "precision"};
  const std::string first = text.substr(0, text.find(','));
  if (std::find(kPrecisions.begin(), kPrecisions.end(), first) != kPrecisions.end()) {
    return "write --vary precision=bfloat16,float8, or other values of it";
  }
  const std::string pair = pair_called(first);
  if (pair.empty()) return "";
  const std::string key = pair.substr(0, pair.find('='));
  return text == first ? fmt::format("the key comes first, and further values: --vary {},..", pair)
                       : fmt::format("the key comes first: --vary {}={}", key, text);
}

// "gpu=a100,h100" names types, where "gpu=8,16" may count them.
bool names_types(const std::string& key, const std::string& values) {
  const std::vector<std::string> list = parse_list("--vary", values);
  return (key == "gpu" || key == "gpu-type" || key == "hardware" || key == "accelerator") &&
         std::all_of(list.begin(), list.end(),
                     [](const auto& value) { return is_like_gpu(value); });
}

// "[1,2,4]", "8:64:8", "4k,8k": what the list is here; empty where it is one.
std::string plain_list(const std::string& key, const std::string& values) {
  if (values.size() > 2 && (values[0] == '[' || values[0] == '(' || values[0] == '{')) {
    return values.substr(1, values.find_last_not_of(")]}"));
  }
  if (key != "gpus" && key != "global-batch" && key != "sequence-length" && key != "b") return "";
  const std::size_t step = values.rfind(':');
  if (step != std::string::npos && is_range(values.substr(0, step))) {
    return values_in_steps(values.substr(0, step), values.substr(step + 1));
  }
  std::vector<std::string> out;
  for (const std::string& value : parse_list("--vary", values)) {
    const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
    out.push_back(is_number ? value : plain_number(value));
    if (out.back().empty()) return "";
  }
  return joined(out, ",") == values ? "" : joined(out, ",");
}

std::vector<Axis> axes_of(const std::vector<std::string>& vary, const SearchOptions& given) {
  if (vary.empty()) {
    const std::string lists = lists_in(given);
    bad_option("--vary", "missing",
               lists.empty() ? "add it, for example " + given.command.whole()
                             : fmt::format("write {} in place of the option: {}", lists,
                                           given.command.whole()));
  }
  std::vector<Axis> axes;
  std::size_t rows = 1;
  for (const std::string& text : vary) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      const std::string key = key_or_word(text.substr(0, text.find_first_of("=: ")));
      const std::vector<std::string> keys = known_keys();
      const bool is_key = std::find(keys.begin(), keys.end(), key) != keys.end();
      const std::string_view schedule = schedule_spelled(text.substr(0, text.find(',')));
      bad_option("--vary", fmt::format("'{}' is not KEY=VALUE,VALUE", text),
                 is_key ? example_of(key)
                 : !axes.empty()
                     ? "values of one key are one word: " + with_value(axes.back(), text)
                 : !schedule.empty() ? fmt::format("write --vary schedule={}", text)
                 : !help_for_bare_value(text).empty() ? help_for_bare_value(text)
                                                      : "write for example --vary mbs=1,2,4");
    }
    if (const std::string several = keys_apart(text); !several.empty()) {
      const bool is_list = several.find(" --vary ") == std::string::npos;
      bad_option("--vary", fmt::format("'{}' holds several", text),
                 (is_list ? "the values of a key are one list: " : "each has its own: ") + several);
    }
    std::string values = text.substr(equals + 1);
    std::erase(values, ' ');  // "TP=1, 2"
    std::string key = key_or_word(text.substr(0, equals));
    if (names_types(key, values)) key = "device";
    if (const std::string list = plain_list(key, values); !list.empty()) {
      bad_option("--vary", fmt::format("'{}' is no list of values", values),
                 fmt::format("write --vary {}={}", field_word(key), list));
    }
    Axis axis{key, parse_list("--vary", values)};
    for (const Axis& other : axes) {
      if (other.key == axis.key) {
        bad_option("--vary", fmt::format("{} is varied twice", field_word(axis.key)),
                   "list its values in one option: " + with_value(other, text.substr(equals + 1)));
      }
    }
    refuse_other_machines(axis);
    refuse_rates_without_unit(axis);
    const std::vector<std::string> known = known_keys();
    if (std::find(known.begin(), known.end(), axis.key) == known.end()) {
      if (const std::string own = pair_in_own_words(axis.key, axis.values); !own.empty()) {
        bad_option("--vary", fmt::format("unknown key '{}'", axis.key), own);
      }
    }
    rows *= axis.values.size();
    if (rows > kMostRows) {
      bad_option("--vary", fmt::format("more than {} combinations", kMostRows),
                 "vary less at once");
    }
    axes.push_back(std::move(axis));
  }
  refuse_chunks_twice(axes);
  return axes;
}

// All combinations; the last axis changes fastest.
std::vector<Settings> combinations(const std::vector<Axis>& axes) {
  std::vector<Settings> rows{{}};
  for (const Axis& axis : axes) {
    std::vector<Settings> longer;
    for (const Settings& row : rows) {
      for (const std::string& value : axis.values) {
        longer.push_back(row);
        longer.back().emplace_back(axis.key, value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

std::string help_for_key(const std::string& key) {
  if (key == "batch" || key == "batch-size" || key == "bs") {
    return "write --vary gbs=A,B, the samples of a step over all GPUs, or --vary mbs=A,B, those of "
           "a micro-batch";
  }
  if (key == "optimizer" || key == "optim") {
    return "leave it out: AdamW in mixed precision is assumed; a profile may say otherwise "
           "(docs/file_formats.md)";
  }
  if (key == "gpu") return "did you mean 'device' (its type) or 'gpus' (how many)?";
  std::string near = did_you_mean(key, in_field_words(known_keys()));
  if (near.starts_with("did you mean")) return near;
  OptionTable table;
  std::vector<std::string> known;
  for (const std::string& each : known_keys()) {
    known.push_back("--" + field_word(each));
    OptionRow row;
    row.names = {known.back()};
    table.rows.push_back(std::move(row));
  }
  known.emplace_back("--global-batch");  // which is "gbs" above
  const WordIndex index(table);
  const MeantOption meant =
      meant_option("--" + key, "A,B", known, {}, [&index]() -> const WordIndex& { return index; });
  if (meant.help.starts_with("write --")) {  // "--vary flash=on"
    const std::size_t begin = std::string_view("write --").size();
    const std::string option = meant.help.substr(begin, meant.help.find(' ', begin) - begin);
    const std::vector<std::string> keys = known_keys();
    if (std::find(keys.begin(), keys.end(), option) != keys.end()) {
      const std::size_t value = begin + option.size() + 1;
      return fmt::format("write --vary {}=A,B, for example with {}", option,
                         meant.help.substr(value, meant.help.find_first_of(" ,;:", value) - value));
    }
  }
  if (!meant.help.empty()) return meant.help;
  if (meant.words.front() != "--" + key) {
    return fmt::format("write --vary {}=A,B", meant.words.front().substr(2));
  }
  known.emplace_back("--device");
  const std::string about = help_by_parts(plain_word(key), known);
  return about.empty() ? near : about;
}

// Asks every question, and reads what it is made from once for all rows that share it.
class Asker {
 public:
  explicit Asker(const SearchOptions& given) : given_(given) {}

  Question ask(const Settings& settings) {
    SearchOptions options = given_;
    Settings later, read;
    for (const auto& setting : settings) {
      (set(options, setting.first, setting.second) ? read : later).push_back(setting);
      // What a row sets is not settled for all: ZeRO-3 would leave every row without a pipeline.
      if (setting.first == "sharding" || setting.first == "zero1") {
        options.sharding.reset();
        options.zero1.reset();
      }
    }
    const auto known = asked_.find(read);
    Question question = known != asked_.end()
                            ? known->second
                            : asked_.emplace(read, question_of(options)).first->second;
    question.request.top = 1;
    for (const auto& [key, value] : later) {
      if (!set(question, "--vary " + field_word(key), key, value)) {
        bad_option("--vary", fmt::format("unknown key '{}'", key), help_for_key(key));
      }
    }
    settle_pipeline(question.request.pins, "--vary");
    return question;
  }

  // Whether the rows differ in more than what is changed of one question.
  [[nodiscard]] bool rows_differ() const { return asked_.size() > 1; }

 private:
  const SearchOptions& given_;
  std::map<Settings, Question> asked_;
};

std::string why_nothing(const SearchResult& result) {
  if (!result.complete) return "stopped before a plan was found";
  if (result.nearest_miss)
    return "nothing fits; nearest miss: " + reason_text(*result.nearest_miss);
  if (!result.rejected.empty()) return "nothing runs: " + rejection_text(result.rejected.front());
  return "there is no candidate";
}

struct Compared {
  std::vector<Variant> variants;
  std::size_t asked = 0;  // rows that there should be
  bool complete = true;
};

// The best plan, as the search found it, on a machine that is uneven.
void slow_down_best(const PlanInputs& inputs, const Scenario& scenario, Variant& variant) {
  EvaluatedPlan evaluated = evaluate_in_full(inputs, variant.best->plan);
  variant.why_not_slow = why_not_slowed(evaluated.program, scenario);
  if (!variant.why_not_slow.empty()) return;
  variant.slow = slow_down(scenario, evaluated.program, inputs.executor, evaluated.prices);
}

Compared compare(const std::vector<Question>& questions, const std::vector<Settings>& rows,
                 const SlowOptions& slow, const std::optional<TrainingQuestion>& training) {
  const Scenario scenario = slow.scenario();
  Compared compared;
  compared.asked = rows.size();
  WatchedSearch watched(questions.front().budget);
  for (std::size_t i = 0; i < rows.size() && compared.complete; ++i) {
    Variant variant;
    variant.settings = rows[i];
    const auto contradictions =
        contradictions_of(questions[i], {questions[i].request.gpus, "--gpus allows"});
    if (!contradictions.empty()) {
      variant.why_not = joined(contradictions, " ");
      compared.variants.push_back(std::move(variant));
      continue;
    }
    const SearchResult result = best_plans(questions[i].inputs(), questions[i].request, watched);
    if (result.best.empty()) {
      variant.why_not = why_nothing(result);
    } else {
      variant.best = result.best.front();
      variant.training = training_cost(training, variant.best->plan, variant.best->evaluation);
      if (slow.given()) slow_down_best(questions[i].inputs(), scenario, variant);
    }
    compared.complete = result.complete;
    compared.variants.push_back(std::move(variant));
  }
  return compared;
}

// `of_row_1`: other rows ask something else.
std::string text_of(const Question& question, bool of_row_1, const Compared& compared,
                    Screen screen) {
  std::string text = wrapped(question.profile.value.name + ": the best plan for each row",
                             screen.width(), "", "") +
                     '\n' + comparison_table(compared.variants, screen);
  if (!compared.complete) {
    text += fmt::format("Stopped: {} of {} rows were searched, the last one not to its end.\n",
                        compared.variants.size(), compared.asked);
  }
  return text + '\n' +
         wrapped((of_row_1 ? "Row 1: " : "") + words_of(question), screen.width(), "", "  ") +
         wrapped(origin_of(question), screen.width(), "", "  ");
}

Json json_of(const Question& question, const Compared& compared) {
  Json json = answer_json("compare");
  set_question(json, question);
  json.set("complete", compared.complete);
  json.set("rows", comparison_json(compared.variants));
  return json;
}

// One row per combination; for people the reasons of those without a plan are told beside it.
Answer table_of(const Compared& compared, TableFormat format, int exit, Screen screen) {
  if (format == TableFormat::kCsv) return {flat_table(exact_rows(compared.variants)).csv(), exit};
  std::string reasons;
  for (std::size_t i = 0; i < compared.variants.size(); ++i) {
    const std::string& why = compared.variants[i].why_not;
    if (!why.empty())
      reasons += wrapped(fmt::format("{}: {}", i + 1, why), screen.width(), "", "  ");
  }
  return {comparison_rows(compared.variants).markdown(), exit, reasons};
}

Varied varied_in(const std::vector<Axis>& axes) {
  Varied varied;
  for (const Axis& axis : axes) varied.emplace_back(axis.key, axis.values);
  return varied;
}

// The price of every row, unless the rows differ in it.
void set_price(const TrainingCostOptions& training, const std::vector<Axis>& axes,
               std::vector<Question>& questions) {
  for (const Axis& axis : axes) {
    if (!training.price || axis.key != "usd-per-gpu-hour") continue;
    bad_option("--usd-per-gpu-hour", "it varies, too", "leave it out");
  }
  for (Question& question : questions) training.set_price(question.cluster.value);
}

int exit_of(const Compared& compared) {
  if (!compared.complete) return kStopped;
  for (const Variant& variant : compared.variants) {
    if (variant.best) return kYes;
  }
  return kNo;
}

}  // namespace

Answer run_compare(const Arguments& arguments, Screen screen) {
  SearchOptions given;
  std::vector<std::string> vary;
  SlowOptions slow;
  TableFormatOptions format;
  TrainingCostOptions training;
  Options options(
      "compare MODEL --device NAME --gpus N --global-batch B --vary KEY=A,B,... [OPTIONS]",
      "Searches the best plan for every combination of the settings that vary, and prints them in "
      "one table, relative to the first row. Exit code 1 when no row has a plan.",
      kExamples);
  options.heading("What varies");
  options.repeated(
      "--vary", "KEY=A,B,...",
      "one row per value: schedule (also with VP, interleaved:2), TP, PP, DP, CP, VP, mbs, "
      "recompute, "
      "zero1, sharding, offload, device, placement, gpus, global-batch, sequence-length, "
      "reserve-gib, memory-limit, "
      "memory-gib, "
      "usd-per-gpu-hour; bandwidth, link.LEVEL or link.LEVEL.DEVICE-TYPE (a factor on the "
      "bandwidth of all links, of one level, or of one device type there); term.NAME (a factor on "
      "the estimated time of matrix-products, attention, memory-passes or launches); profile, "
      "cluster, precision, attention, gradients, executor, for. Given several times: all "
      "combinations",
      vary);
  given.declare(options);
  options.heading("What if the machine is uneven");
  slow.declare(options);
  training.declare(options);
  options.heading("What to print");
  format.declare(options, "one row per combination");
  options.remark({"o", "output", "out", "save", "csv-file", "outfile"},
                 "the table goes to stdout: --format csv > table.csv keeps it (also markdown, "
                 "--json)");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  const TableFormat chosen = format.chosen();
  const std::vector<Axis> axes = axes_of(vary, given);
  WrongValues wrong;
  wrong.check(given);
  wrong.check(training);
  wrong.refuse();
  const std::optional<TrainingQuestion> asked = training.question();
  const std::vector<Settings> rows = combinations(axes);
  Asker asker(given);
  std::vector<Question> questions;  // all are understood before the first search begins
  questions.reserve(rows.size());
  for (const Settings& settings : rows) questions.push_back(asker.ask(settings));
  for (const Question& question : questions) require_tokens(asked, question.profile.value);
  set_price(training, axes, questions);
  const Compared compared = compare(questions, rows, slow, asked);
  const int exit = exit_of(compared);
  if (format.is_table()) return table_of(compared, chosen, exit, screen);
  const Question& first = questions.front();
  if (chosen == TableFormat::kJson) return json_answer(json_of(first, compared), exit);
  Answer answer = report_answer(text_of(first, asker.rows_differ(), compared, screen), exit);
  answer.remark = remark_of_alike(first) +
                  remarks_on_rows(given, varied_in(axes), first.request, compared.variants);
  return answer;
}

}  // namespace penstock
