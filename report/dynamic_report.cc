// One row per way to form micro-batches, and a verdict on the dynamic one against the fastest
// other. A speed-up is the ratio of the times of all batches; its range is that of nine in ten
// single batches, which both ways took alike.
#include "report/dynamic_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "report/json_array.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

double seconds_of(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

std::int64_t micro_batches_of(const DynamicStep& step) {
  std::size_t count = 0;
  for (const auto& replica : step.replicas) count += replica.size();
  return static_cast<std::int64_t>(count);
}

double padding_efficiency(const DynamicMethod& method) {
  const std::int64_t padded = method.padded_tokens();
  return padded == 0 ? 0.0
                     : static_cast<double>(method.real_tokens()) / static_cast<double>(padded);
}

Duration mean_step(const DynamicMethod& method) {
  return method.time() / std::max<std::int64_t>(1, static_cast<std::int64_t>(method.steps.size()));
}

// Of all batches, per batch.
double mean_micro_batches(const DynamicMethod& method) {
  std::int64_t sum = 0;
  for (const DynamicStep& step : method.steps) sum += micro_batches_of(step);
  return static_cast<double>(sum) /
         static_cast<double>(std::max<std::size_t>(1, method.steps.size()));
}

std::string speed_text(const SpeedUp& speed) {
  return fmt::format("{} ({} to {})", fixed(speed.of_all, 2), fixed(speed.low, 2),
                     fixed(speed.high, 2));
}

TextTable method_table(const DynamicReport& report) {
  TextTable table({left_column("method"),
                   right_column("tokens/s"),
                   right_column("dynamic is faster by"),
                   {.header = "real/padded", .drop = 2},
                   {.header = "step", .drop = 3},
                   {.header = "micro-batches", .drop = 4},
                   {.header = "setting", .left = true, .drop = 1},
                   {.header = "layout", .left = true}});
  for (const DynamicMethod& method : report.methods) {
    if (!method.why_not.empty()) {
      table.add({method.name, "-", "-", "-", "-", "-", "-", "nothing fits"});
      continue;
    }
    const bool is_first = &method == &report.methods.front();
    const bool comparable = !is_first && report.dynamic().why_not.empty();
    table.add({method.name, rate(method.tokens_per_s()),
               comparable ? speed_text(speed_up(report.dynamic(), method)) : "-",
               percent(padding_efficiency(method)), rounded(mean_step(method)),
               fixed(mean_micro_batches(method), 0), method.setting.empty() ? "-" : method.setting,
               method.layout});
  }
  return table;
}

const DynamicMethod* fastest_other(const DynamicReport& report) {
  const DynamicMethod* best = nullptr;
  for (std::size_t i = 1; i < report.methods.size(); ++i) {
    const DynamicMethod& method = report.methods[i];
    if (!method.why_not.empty()) continue;
    if (best == nullptr || method.tokens_per_s() > best->tokens_per_s()) best = &method;
  }
  return best;
}

std::string verdict_of(const DynamicReport& report) {
  const DynamicMethod& dynamic = report.dynamic();
  if (!dynamic.why_not.empty()) return "Nothing fits: " + dynamic.why_not;
  const std::string rate_text =
      fmt::format("{} tokens/s with {}", rate(dynamic.tokens_per_s()), dynamic.layout);
  const DynamicMethod* other = fastest_other(report);
  if (other == nullptr) return rate_text + "; no other method fits.";
  const SpeedUp speed = speed_up(dynamic, *other);
  return fmt::format(
      "{}: {} times as fast as {}, the next best ({} to {} for nine of ten batches).", rate_text,
      fixed(speed.of_all, 2), other->name, fixed(speed.low, 2), fixed(speed.high, 2));
}

std::string planning_text(const DynamicReport& report) {
  const auto planning = planning_time(report.dynamic());
  if (!planning) return {};
  return fmt::format("Planning a batch takes {} on one core here; {} plan{} as fast as it trains.",
                     rounded(planning->median), count_of(planning->threads, "planner thread"),
                     planning->threads == 1 ? "s" : "");
}

std::string errors_text(const DynamicReport& report) {
  std::vector<std::string> parts;
  for (const AxisErrors& axis : report.errors) {
    if (axis.points == 0) continue;
    parts.push_back(fmt::format("{} {} (bytes {})", axis.axis, percent(axis.mean_time),
                                percent(axis.mean_stash)));
  }
  if (parts.empty()) return {};
  return "Prices between measured points: a point left out is predicted from its neighbours, twice "
         "as far apart, with a mean error along the " +
         joined(parts, ", ") + '.';
}

Json batch_json(const DynamicStep& step) {
  Json json = Json::object();
  json.set("step_time_ns", std::int64_t{step.step.count()})
      .set("makespan_ns", std::int64_t{step.makespan.count()})
      .set("objective_ns", std::int64_t{static_cast<std::int64_t>(std::llround(step.objective_ns))})
      .set("real_tokens", step.real_tokens)
      .set("padded_tokens", step.padded_tokens)
      .set("micro_batches", micro_batches_of(step))
      .set("schedule", step.schedule)
      .set("recompute", step.recompute)
      .set("replays", step.replays);
  if (step.planning) json.set("planning_ns", std::int64_t{step.planning->count()});
  return json.set("peak_memory_bytes",
                  array_of(step.peak, [](Bytes bytes) { return Json(bytes.count); }));
}

Json method_json(const DynamicReport& report, const DynamicMethod& method) {
  Json json = Json::object().set("method", method.name);
  if (!method.why_not.empty()) return json.set("fits", false).set("why_not", method.why_not);
  json.set("fits", true).set("layout", method.layout);
  if (!method.setting.empty()) json.set("setting", method.setting);
  json.set("tokens_per_s", method.tokens_per_s())
      .set("padding_efficiency", padding_efficiency(method))
      .set("mean_step_time_ns", std::int64_t{mean_step(method).count()});
  if (&method != &report.methods.front() && report.dynamic().why_not.empty()) {
    const SpeedUp speed = speed_up(report.dynamic(), method);
    json.set("speed_up_of_dynamic", Json::object()
                                        .set("of_all", speed.of_all)
                                        .set("nine_of_ten_low", speed.low)
                                        .set("nine_of_ten_high", speed.high));
  }
  return json.set("batches", array_of(method.steps, batch_json));
}

Json shape_json(const MicroBatchShape& shape) {
  Json json = Json::object().set("samples", shape.samples).set("tokens", shape.tokens);
  if (shape.decoder_tokens > 0) json.set("decoder_tokens", shape.decoder_tokens);
  return json;
}

Json micro_batch_json(const DynamicMicroBatch& micro_batch) {
  return shape_json(micro_batch.shape)
      .set("real_tokens", micro_batch.real_tokens)
      .set("loss_weight", micro_batch.weight)
      .set("sample_ids", array_of(micro_batch.samples, [](int sample) { return Json(sample); }));
}

Json lengths_json(const std::vector<SampleLength>& batch, bool pairs) {
  return array_of(batch, [&](const SampleLength& sample) {
    if (!pairs) return Json(sample.tokens);
    return Json::array().push(sample.tokens).push(sample.decoder_tokens);
  });
}

}  // namespace

std::int64_t DynamicMethod::real_tokens() const {
  return std::accumulate(
      steps.begin(), steps.end(), std::int64_t{0},
      [](std::int64_t sum, const DynamicStep& step) { return sum + step.real_tokens; });
}

std::int64_t DynamicMethod::padded_tokens() const {
  return std::accumulate(
      steps.begin(), steps.end(), std::int64_t{0},
      [](std::int64_t sum, const DynamicStep& step) { return sum + step.padded_tokens; });
}

Duration DynamicMethod::time() const {
  return std::accumulate(steps.begin(), steps.end(), Duration{},
                         [](Duration sum, const DynamicStep& step) { return sum + step.step; });
}

double DynamicMethod::tokens_per_s() const {
  const Duration all = time();
  return all == Duration{} ? 0.0 : static_cast<double>(real_tokens()) / seconds_of(all);
}

std::vector<LengthBin> histogram_of(const std::vector<SampleLength>& samples) {
  int longest = 0;
  for (const SampleLength& sample : samples) {
    longest = std::max({longest, sample.tokens, sample.decoder_tokens});
  }
  std::vector<LengthBin> bins;
  // 1, 2, 3, 4, 6, 8, 12, ...: every other bound is halfway between two powers of two.
  for (int from = 1, octave = 1; from <= longest;) {
    const int middle = octave + octave / 2;
    const int to = from < middle ? middle : 2 * octave;
    bins.push_back({from, to, 0, 0});
    if (to == 2 * octave) octave = to;
    from = to;
  }
  const auto bin_of = [&](int length) {
    return std::upper_bound(bins.begin(), bins.end(), length,
                            [](int value, const LengthBin& bin) { return value < bin.to; });
  };
  for (const SampleLength& sample : samples) {
    if (sample.tokens > 0) ++bin_of(sample.tokens)->samples;
    if (sample.decoder_tokens > 0) ++bin_of(sample.decoder_tokens)->decoder_samples;
  }
  const auto is_used = [](const LengthBin& bin) { return bin.samples + bin.decoder_samples > 0; };
  bins.erase(bins.begin(), std::find_if(bins.begin(), bins.end(), is_used));
  return bins;
}

SpeedUp speed_up(const DynamicMethod& dynamic, const DynamicMethod& other) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(dynamic.steps.size(), other.steps.size()); ++i) {
    ratios.push_back(seconds_of(other.steps[i].step) / seconds_of(dynamic.steps[i].step));
  }
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  const std::size_t aside = ratios.size() / 20;  // one in twenty at either end
  return {seconds_of(other.time()) / seconds_of(dynamic.time()), ratios[aside],
          ratios[ratios.size() - 1 - aside]};
}

std::optional<PlanningTime> planning_time(const DynamicMethod& method) {
  std::vector<Duration> times;
  for (const DynamicStep& step : method.steps) {
    if (step.planning) times.push_back(*step.planning);
  }
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  const Duration median = times[times.size() / 2], step = mean_step(method);
  const double needed = step == Duration{} ? 1.0 : std::ceil(seconds_of(median) / seconds_of(step));
  return PlanningTime{median, std::max(1, static_cast<int>(needed))};
}

std::string dynamic_text(const DynamicReport& report, Screen screen) {
  const auto paragraph = [&](const std::string& text) {
    return text.empty() ? std::string() : wrapped(text, screen.width(), "", "  ");
  };
  std::string text =
      paragraph(report.question) + paragraph(report.lengths) + paragraph(verdict_of(report));
  const bool none_fits =
      std::all_of(report.methods.begin(), report.methods.end(),
                  [](const DynamicMethod& method) { return !method.why_not.empty(); });
  if (none_fits) return text;
  text += '\n' + method_table(report).text(screen.width()) + '\n';
  text += paragraph(planning_text(report)) + paragraph(errors_text(report));
  if (!report.complete) text += paragraph("The search was ended; other layouts may be faster.");
  for (const std::string& note : report.notes) text += paragraph(note);
  return text;
}

Json dynamic_json(const DynamicReport& report) {
  Json json = Json::object();
  json.set("lengths", report.lengths)
      .set("tokens_per_batch", report.tokens_per_batch)
      .set("batches", static_cast<std::int64_t>(report.batches.size()))
      .set("seed", report.seed)
      .set("layouts_tried", report.layouts)
      .set("plans_tried", report.plans)
      .set("complete", report.complete);
  if (report.dynamic().why_not.empty()) {
    if (const auto planning = planning_time(report.dynamic())) {
      json.set("planning_time_ns", std::int64_t{planning->median.count()})
          .set("planner_threads", planning->threads);
    }
  }
  json.set("left_out_errors", array_of(report.errors, [](const AxisErrors& axis) {
             return Json::object()
                 .set("axis", axis.axis)
                 .set("points", axis.points)
                 .set("mean_time", axis.mean_time)
                 .set("worst_time", axis.worst_time)
                 .set("mean_stash", axis.mean_stash)
                 .set("worst_stash", axis.worst_stash);
           }));
  json.set("methods", array_of(report.methods, [&](const DynamicMethod& method) {
             return method_json(report, method);
           }));
  return json.set("notes", strings(report.notes)).set("not_searched", strings(report.not_searched));
}

Json dynamic_step_json(const DynamicStep& step, const std::vector<SampleLength>& lengths,
                       bool pairs) {
  Json json = batch_json(step);
  json.set("lengths", lengths_json(lengths, pairs));
  return json.set("replicas", array_of(step.replicas, [](const auto& replica) {
                    return array_of(replica, micro_batch_json);
                  }));
}

Json dynamic_statistics(const DynamicReport& report) {
  const DynamicMethod& dynamic = report.dynamic();
  Json iterations = Json::array();
  for (std::size_t i = 0; i < dynamic.steps.size(); ++i) {
    iterations.push(dynamic_step_json(dynamic.steps[i], report.batches[i], report.pairs));
  }
  Json totals = Json::object();
  totals.set("real_tokens", dynamic.real_tokens())
      .set("padded_tokens", dynamic.padded_tokens())
      .set("padding_efficiency", padding_efficiency(dynamic))
      .set("tokens_per_s", dynamic.tokens_per_s());
  return Json::object()
      .set("layout", dynamic.layout)
      .set("iterations", std::move(iterations))
      .set("totals", std::move(totals));
}

}  // namespace penstock
