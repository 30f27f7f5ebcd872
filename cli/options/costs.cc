// Costs of `penstock schedule`: --cost gives one time for every stage, a cost file
// (penstock.costs/1) a table by stage, boundary and shape. B is I + W: either may be given, and a
// schedule that divides the backward needs the two. All becomes StagePrices, so that the replay is
// the one of plan files.
#include "cli/options/costs.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/words/field_words.h"
#include "cli/words/parse.h"
#include "core/values/json_reader.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kExample = "--cost F=10ms,B=20ms,C=0.5ms";
constexpr const char* kSplitExample = "--cost F=10ms,I=10ms,W=10ms,C=0.5ms";
// What one file may list: a table of stages times shapes, and as many micro-batches as are
// replayed.
constexpr std::size_t kMostShapes = 65536;
constexpr std::int64_t kMostMicroBatches = std::int64_t{1} << 24;

// The times of one stage as they were given.
struct Given {
  std::optional<Duration> forward, fused_backward, input_gradient, weight_gradient, recompute;
  Duration overlap_gain{};
  std::optional<Bytes> stash, weight_stash;
};

// What is wrong with them, and what to do; two empty strings when nothing is.
struct Complaint {
  std::string what, help;
};

// "1 ms" as it is typed.
std::string without_blank(std::string text) {
  std::erase(text, ' ');
  return text;
}

// As it is typed, to the nanosecond.
std::string exact(Duration time) {
  std::string text = without_blank(to_text(time));
  if (parse_duration(text) == time) return text;
  const std::string in_ms = fmt::format("{}ms", static_cast<double>(time.count()) / 1e6);
  return parse_duration(in_ms) == time ? in_ms : fmt::format("{}ns", time.count());
}

// "I=5ms,W=5ms" of a B of 10 ms.
std::string in_halves(Duration backward) {
  const Duration half = backward / 2;
  return fmt::format("I={},W={}", exact(half), exact(backward - half));
}

Complaint complaint_about(const Given& given, bool split) {
  const bool i = given.input_gradient.has_value();
  const bool w = given.weight_gradient.has_value();
  const bool b = given.fused_backward.has_value();
  if (!given.forward) return {"F, the time of a forward, is missing", "add F"};
  if (b && (i || w)) {
    return {"B is I + W, so they cannot be given together",
            split ? "leave B out" : "leave B out, or I and W"};
  }
  if (split && b) {
    return {"this schedule divides the backward B into I and W", "give I and W instead of B"};
  }
  if (i != w) {
    return {fmt::format("{} is missing", i ? "W, the weight gradient" : "I, the input gradient"),
            "give both I and W"};
  }
  if (!b && !i) {
    return {"the time of a backward is missing", split ? "add I and W" : "add B, or I and W"};
  }
  return {};
}

ComputePrice price_of(const Given& given) {
  ComputePrice price;
  price.forward.duration = *given.forward;
  price.input_gradient.duration = given.input_gradient.value_or(Duration{});
  price.weight_gradient.duration = given.weight_gradient.value_or(Duration{});
  price.fused_backward.duration =
      given.fused_backward.value_or(price.input_gradient.duration + price.weight_gradient.duration);
  price.recompute.duration = given.recompute.value_or(Duration{});
  price.overlap_gain = given.overlap_gain;
  price.stash = given.stash.value_or(Bytes{});
  price.weight_stash = given.weight_stash.value_or(Bytes{});
  return price;
}

ScheduleCosts sized(int stages, std::size_t shapes) {
  ScheduleCosts costs;
  costs.prices.stages = stages;
  costs.prices.shapes = static_cast<int>(shapes);
  costs.prices.compute.resize(static_cast<std::size_t>(stages) * shapes);
  costs.prices.transfer.resize(static_cast<std::size_t>(stages) * shapes);
  costs.prices.step.resize(static_cast<std::size_t>(stages));
  return costs;
}

Given read_stage(JsonReader stage, bool split) {
  Given given;
  given.forward = stage.duration("forward");
  given.fused_backward = stage.get_duration("fused_backward");
  given.input_gradient = stage.get_duration("input_gradient");
  given.weight_gradient = stage.get_duration("weight_gradient");
  given.recompute = stage.get_duration("recompute");
  given.overlap_gain = stage.get_duration("overlap_gain").value_or(Duration{});
  if (const auto bytes = stage.get("stash_bytes")) given.stash = bytes->bytes();
  if (const auto bytes = stage.get("weight_stash_bytes")) given.weight_stash = bytes->bytes();
  stage.finish();
  const Complaint complaint = complaint_about(given, split);
  if (!complaint.what.empty()) stage.fail(complaint.what + "; " + complaint.help);
  return given;
}

TransferPrice read_boundary(JsonReader boundary) {
  TransferPrice price;
  price.activation.duration = boundary.duration("activation");
  price.gradient.duration = boundary.duration("gradient");
  boundary.finish();
  return price;
}

std::vector<JsonReader> elements_of(const JsonReader& list, int count, const std::string& why) {
  std::vector<JsonReader> elements = list.elements();
  if (elements.size() != static_cast<std::size_t>(count)) {
    list.fail(fmt::format("expected {} entries, {}, got {}", count, why, elements.size()));
  }
  return elements;
}

// "stages" and "boundaries" of one shape.
void read_shape(JsonReader& reader, bool split, std::size_t shape, ScheduleCosts& costs) {
  StagePrices& prices = costs.prices;
  const auto shapes = static_cast<std::size_t>(prices.shapes);
  std::size_t s = 0;
  for (const JsonReader& stage :
       elements_of(reader.at("stages"), prices.stages, "one per stage (P * V)")) {
    const Given given = read_stage(stage, split);
    costs.recompute = costs.recompute || given.recompute.value_or(Duration{}) > Duration{};
    costs.has_bytes = costs.has_bytes || given.stash || given.weight_stash;
    prices.compute[s++ * shapes + shape] = price_of(given);
  }
  s = 0;
  for (const JsonReader& boundary :
       elements_of(reader.at("boundaries"), prices.stages - 1, "one per boundary (P * V - 1)")) {
    prices.transfer[s++ * shapes + shape] = read_boundary(boundary);
  }
}

// {"shape": 2, "count": 3}: three micro-batches of shape 2.
MicroBatchRun read_run(JsonReader reader, std::size_t shapes) {
  MicroBatchRun run;
  run.each.shape =
      static_cast<int>(reader.at("shape").integer(0, static_cast<std::int64_t>(shapes) - 1));
  const auto count = reader.get("count");
  run.count = count ? count->integer(1, kMostMicroBatches) : 1;
  reader.finish();
  return run;
}

std::vector<MicroBatchRun> read_runs(const JsonReader& list, std::size_t shapes) {
  std::vector<MicroBatchRun> runs;
  std::int64_t total = 0;
  for (const JsonReader& element : list.elements()) {
    runs.push_back(read_run(element, shapes));
    total += runs.back().count;
    if (total > kMostMicroBatches) {
      element.fail(fmt::format("more than {} micro-batches in all; list fewer", kMostMicroBatches));
    }
  }
  if (runs.empty()) list.expected("at least one micro-batch");
  return runs;
}

// "weight_slots": what LOAD, STORE and the optimizer of every stage take. A copy is the latency of
// the link to the host and its bytes over the bandwidth.
void read_slots(JsonReader reader, ScheduleCosts& costs) {
  constexpr int kMostSlots = 65535;
  constexpr double kMostBandwidth = 1e15;
  costs.weight_slots = static_cast<int>(reader.at("per_rank").integer(1, kMostSlots));
  const BytesPerSecond bandwidth{reader.at("bandwidth_bytes_per_s").number(1.0, kMostBandwidth)};
  const Duration latency = reader.get_duration("latency").value_or(Duration{});
  const auto copy = [&](Bytes bytes) {
    return Price{latency + transfer_time(bytes, bandwidth), Duration{}};
  };
  std::size_t s = 0;
  for (JsonReader stage :
       elements_of(reader.at("stages"), costs.prices.stages, "one per stage (P * V)")) {
    StepPrice& step = costs.prices.step[s++];
    step.loaded = stage.at("load_bytes").bytes();
    step.stored = stage.at("store_bytes").bytes();
    step.load = copy(step.loaded);
    step.store = copy(step.stored);
    step.optimizer.duration = stage.get_duration("optimizer").value_or(Duration{});
    stage.finish();
  }
  reader.finish();
}

std::int64_t micro_batches_in(const std::vector<MicroBatchRun>& runs) {
  std::int64_t count = 0;
  for (const MicroBatchRun& run : runs) count += run.count;
  return count;
}

std::string words_of_shapes(const ScheduleCosts& costs) {
  if (costs.micro_batches.empty()) return "";
  return fmt::format(": {} micro-batches of {} shapes", micro_batches_in(costs.micro_batches),
                     costs.prices.shapes);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "F=18.5,B=36.2ms" with the unit that most such times are in.
std::string with_units(const std::string& text) {
  std::vector<std::string> pairs = parse_list("--cost", text);
  for (std::string& pair : pairs) {
    if (is_digit(pair.back())) pair += "ms";
  }
  return joined(pairs, ",");
}

// Times alone, "1ms,2ms", in the order in which they are usually given; or nothing.
std::string with_names(const std::string& text, bool split) {
  const std::vector<std::string> times = parse_list("--cost", text);
  const std::vector<std::string_view> names =
      split ? std::vector<std::string_view>{"F", "I", "W", "C"}
            : std::vector<std::string_view>{"F", "B", "C"};
  const std::size_t fewest = split ? 3 : 2;
  if (times.size() < fewest || times.size() > names.size()) return "";
  std::vector<std::string> pairs;
  bool has_units = true;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool has_unit = parse_duration(times[i]).has_value();
    if (!has_unit && !parse_decimal_duration(times[i], TimeUnit::kMilliseconds)) return "";
    has_units = has_units && has_unit;
    pairs.push_back(fmt::format("{}={}{}", names[i], times[i], has_unit ? "" : "ms"));
  }
  return joined(pairs, ",") + (has_units ? "" : ", or another of ns, us, ms, s");
}

// "F=18,522ms,I=18,086ms": the commas behind which no key stands are those of decimals; with
// points, or nothing where there is none.
std::string with_decimal_points(const std::string& text) {
  std::string out;
  bool has_any = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = std::min(text.find(',', i + 1), text.size());
    const std::string next = text.substr(i + 1, end - i - 1);
    const bool is_between = text[i] == ',' && i > 0 && is_digit(text[i - 1]) && !next.empty() &&
                            is_digit(next[0]) && next.find_first_of("=:") == std::string::npos;
    out += is_between ? '.' : text[i];
    has_any = has_any || is_between;
  }
  return has_any ? out : "";
}

// "F=1ms:2ms": a time for every stage; not "F=10ms:B=20ms".
bool has_times_of_stages(const KeyValues& pairs) {
  return std::any_of(pairs.begin(), pairs.end(), [](const auto& pair) {
    const std::string& value = pair.second;
    return value.find_first_of(":/") != std::string::npos && value.find('=') == std::string::npos;
  });
}

constexpr const char* kStagesDiffer =
    "stages that differ are in a file of costs: --cost-file FILE "
    "(docs/schedules_without_a_model.md)";

// What no unit can mend, said before the units: a key that nobody knows, or one that stands twice.
void refuse_keys(const KeyValues& pairs) {
  constexpr std::string_view kKeys = "FBIWROC";
  std::map<std::string, std::string> as_typed;  // "F" of "forward"
  for (const auto& [typed, value] : pairs) {
    const std::string key = cost_called(typed);
    if (key.size() != 1 || kKeys.find(key) == std::string_view::npos) {
      bad_option("--cost", fmt::format("unknown key '{}'", typed),
                 "F forward, B backward (= I + W), I input gradient, W weight gradient, "
                 "R recompute, O gain of an overlap, C transfer; bytes, and stages that differ, "
                 "are in a file of costs: --cost-file FILE");
    }
    if (const auto [first, is_new] = as_typed.emplace(key, typed); !is_new) {
      bad_option("--cost",
                 fmt::format("{} is given twice, as {} and {}", key, first->second, typed),
                 "keep one of them");
    }
  }
}

void refuse_complaint(const Complaint& complaint, const char* example) {
  if (complaint.what.empty()) return;
  const bool is_both = complaint.help.find("both") != std::string::npos;
  bad_option("--cost", complaint.what,
             fmt::format("{}, for example {}", complaint.help, is_both ? kSplitExample : example));
}

// "10" is 10 ms where others have no unit either.
Duration time_typed(const std::string& value) {
  return parse_duration(value).value_or(parse_duration(value + "ms").value_or(Duration{}));
}

// The pairs with B as the half that is missing: what is left of it without the other; empty where
// nothing is left.
std::string with_other_half(const KeyValues& pairs, std::string_view missing) {
  Duration whole{}, half{};
  for (const auto& [typed, value] : pairs) {
    const std::string key = cost_called(typed);
    if (key == "B") whole = time_typed(value);
    if (key == "I" || key == "W") half = time_typed(value);
  }
  if (whole <= half) return "";
  std::vector<std::string> words;
  for (const auto& [typed, value] : pairs) {
    const std::string key = cost_called(typed);
    words.push_back(key == "B" ? fmt::format("{}={}", missing, exact(whole - half))
                               : fmt::format("{}={}", key, exact(time_typed(value))));
  }
  return joined(words, ",");
}

// B beside I or W, with or without units. Papers write B for the input gradient alone, DeepSeek for
// the whole backward.
void refuse_both_backwards(const KeyValues& pairs, bool split, const char* example) {
  Given given;
  given.forward = Duration{};
  std::vector<std::string> with_input_gradient;
  for (const auto& [typed, value] : pairs) {
    const std::string key = cost_called(typed);
    if (key == "B") given.fused_backward = Duration{};
    if (key == "I") given.input_gradient = Duration{};
    if (key == "W") given.weight_gradient = Duration{};
    const bool has_unit = parse_duration(value) || value == "0";
    with_input_gradient.push_back(
        fmt::format("{}={}{}", key == "B" ? "I" : key, value, has_unit ? "" : "ms"));
  }
  if (!given.fused_backward || !(given.input_gradient || given.weight_gradient)) return;
  const Complaint complaint = complaint_about(given, split);
  const bool are_both = given.input_gradient && given.weight_gradient;
  const std::string divided =
      are_both ? "" : with_other_half(pairs, given.input_gradient ? "W" : "I");
  if (!given.input_gradient) {
    bad_option("--cost", complaint.what,
               fmt::format("where B is the input gradient alone, write I for it: --cost {}; where "
                           "it is the whole backward, {}",
                           joined(with_input_gradient, ","),
                           divided.empty() ? complaint.help : "I is B - W: --cost " + divided));
  }
  if (!divided.empty()) bad_option("--cost", complaint.what, "W is B - I: --cost " + divided);
  refuse_complaint(complaint, example);
}

// A whole backward where the schedule divides it: I and W with the values that were typed.
void refuse_whole_backward(const KeyValues& pairs) {
  std::vector<std::string> halved;
  bool has_forward = false, has_backward = false;
  for (const auto& [typed, value] : pairs) {
    const std::string key = cost_called(typed);
    has_forward = has_forward || key == "F";
    if (key != "B") {
      halved.push_back(fmt::format("{}={}", key, value));
      continue;
    }
    const auto whole = parse_duration(value);
    if (!whole) return;  // its own message says more
    halved.push_back(in_halves(*whole));
    has_backward = true;
  }
  if (!has_forward || !has_backward) return;
  bad_option("--cost", "this schedule divides the backward B into I and W",
             fmt::format("give I and W instead of B; where they take the same time: --cost {}",
                         joined(halved, ",")));
}

// "F=1,B=2": all at once, and B in its halves where the schedule divides it.
void refuse_unitless(const KeyValues& pairs, bool split) {
  std::vector<std::string> with_unit;
  std::string first;
  bool is_halved = false;
  for (const auto& [typed, value] : pairs) {
    const bool has_unit = parse_duration(value).has_value() || value == "0";
    const auto number = parse_decimal_duration(value, TimeUnit::kMilliseconds);
    if (!has_unit && !number) return;  // a word; its own message says more
    if (!has_unit && first.empty()) first = cost_called(typed);
    const std::string key = cost_called(typed);
    if (split && key == "B" && !has_unit) {
      with_unit.push_back(in_halves(*number));
      is_halved = true;
    } else {
      with_unit.push_back(fmt::format("{}={}{}", key, value, has_unit ? "" : "ms"));
    }
  }
  if (first.empty()) return;
  const auto typed = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) {
    return cost_called(pair.first) == first;
  });
  bad_option(
      "--cost " + first, fmt::format("'{}' has no unit", typed->second.substr(0, 60)),
      fmt::format("write --cost {}, or another of ns, us, ms, s{}", joined(with_unit, ","),
                  is_halved ? "; this schedule divides the backward B into I and W, of which "
                              "each is assumed to take half"
                            : ""));
}

}  // namespace

ScheduleCosts parse_costs(const std::vector<std::string>& costs, bool split, int stages) {
  const char* example = split ? kSplitExample : kExample;
  if (costs.empty()) bad_option("--cost", "missing", fmt::format("add for example {}", example));
  Given given;
  Duration transfer{};
  const std::string text = joined(costs, ",");
  if (text.find_first_of("=:{") == std::string::npos) {
    const std::string named = with_names(text, split);
    if (text.ends_with(".json")) {
      bad_option("--cost", fmt::format("'{}' is a file, and times belong here", text),
                 fmt::format("write for example {}; {}; penstock plan {} ... plans a model or a "
                             "profile",
                             example, kStagesDiffer, text));
    }
    bad_option("--cost", fmt::format("'{}' is not KEY=VALUE", text.substr(0, 60)),
               named.empty() ? fmt::format("write for example {}", example)
                             : fmt::format("write --cost {}", named));
  }
  if (const std::string pointed = with_decimal_points(text);
      !pointed.empty() && text.find('[') == std::string::npos) {
    bad_option(
        "--cost", fmt::format("'{}' has decimal commas", text.substr(0, 60)),
        fmt::format("a comma divides costs, and a point decimals: --cost {}", with_units(pointed)));
  }
  const bool has_list = text.find("=[") != std::string::npos;  // "F=[1,2]ms", whose comma divides
  const KeyValues pairs = has_list ? KeyValues() : parse_key_values("--cost", text);
  if (has_list || has_times_of_stages(pairs)) {
    bad_option("--cost", "one time is for all stages, and several are given",
               fmt::format("{}; {} is for all", kStagesDiffer, example));
  }
  refuse_keys(pairs);
  refuse_both_backwards(pairs, split, example);
  refuse_unitless(pairs, split);
  if (split) refuse_whole_backward(pairs);
  for (const auto& [typed, value] : pairs) {
    const std::string key = cost_called(typed);
    const Duration time = parse_time("--cost " + key, value);
    if (key == "F") {
      given.forward = time;
    } else if (key == "B") {
      given.fused_backward = time;
    } else if (key == "I") {
      given.input_gradient = time;
    } else if (key == "W") {
      given.weight_gradient = time;
    } else if (key == "R") {
      given.recompute = time;
    } else if (key == "O") {
      given.overlap_gain = time;
    } else {
      transfer = time;  // C; others were refused
    }
  }
  refuse_complaint(complaint_about(given, split), example);
  ScheduleCosts result = sized(stages, 1);
  result.words = text + " per stage and micro-batch";
  result.recompute = given.recompute.value_or(Duration{}) > Duration{};
  std::fill(result.prices.compute.begin(), result.prices.compute.end(), price_of(given));
  for (std::size_t s = 0; s + 1 < result.prices.transfer.size(); ++s) {
    result.prices.transfer[s] = {{transfer, {}}, {transfer, {}}};
  }
  return result;
}

ScheduleCosts read_costs(const Json& json, const std::string& path, bool split, int stages) {
  JsonReader file(json, path);
  const JsonReader format = file.at("format");
  if (format.string() != "penstock.costs/1") format.expected("\"penstock.costs/1\"");
  std::vector<JsonReader> shapes;
  if (const auto list = file.get("shapes")) {
    shapes = list->elements();
    if (shapes.empty()) list->expected("at least one shape");
    if (shapes.size() > kMostShapes) list->fail(fmt::format("more than {} shapes", kMostShapes));
  }
  ScheduleCosts result = sized(stages, std::max<std::size_t>(shapes.size(), 1));
  if (shapes.empty()) read_shape(file, split, 0, result);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    read_shape(shapes[k], split, k, result);
    shapes[k].finish();
  }
  if (!shapes.empty()) result.micro_batches = read_runs(file.at("micro_batches"), shapes.size());
  if (const auto slots = file.get("weight_slots")) read_slots(*slots, result);
  file.finish();
  result.words = "from " + path + words_of_shapes(result);
  return result;
}

std::optional<int> micro_batches_in(const Json& json, const std::string& path) {
  JsonReader file(json, path);
  const auto list = file.get("micro_batches");
  if (!list) return {};
  const auto shapes = file.at("shapes").elements().size();
  return static_cast<int>(micro_batches_in(read_runs(*list, std::max<std::size_t>(shapes, 1))));
}

}  // namespace penstock
