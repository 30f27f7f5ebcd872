// `penstock morph` replays a recording of GPUs that come and go, in virtual time, under each policy
// and the same costs of a change. Costs that are not given follow from the book: a checkpoint's
// bytes over the storage, and between two in the background Daly's interval, as `train` takes it:
// for the time that a copy stops the job and the mean time between losses that nobody announces in
// time.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/one_device_type.h"
#include "cli/io/report_command.h"
#include "cli/options/options.h"
#include "cli/options/parse.h"
#include "cli/reports/known_host.h"
#include "cli/verbs/verbs.h"
#include "core/files/read_availability.h"
#include "core/values/json_reader.h"
#include "core/values/seconds.h"
#include "morphing/checkpoint_interval.h"
#include "morphing/goodput.h"
#include "report/goodput_report.h"
#include "report/page/morph_page.h"
#include "report/page/report_page.h"
#include "report/plan_table.h"
#include "report/result_json.h"
#include "report/words.h"
#include "studies/book_rungs.h"
#include "studies/compare_policies.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock morph --book book.json --trace data/availability/aws_p3_bamboo.nodes.csv
  penstock plan profile.json --cluster cluster.json --gpus 1..64 --global-batch 512 -o book.json
  penstock morph --book book.json --trace trace.csv -o report.html
  penstock morph --book book.json --trace trace.csv --start 40s --notice 120s --storage 4 --json
)";

constexpr const char* kTraceExample =
    "--trace trace.csv; data/availability has recordings of clouds";

// Parcae (NSDI'24) measured 29 to 43 s for a restart of 1 to 32 nodes.
constexpr const char* kStart = "30s";
// Google's and Azure's least notice.
constexpr const char* kNotice = "30s";
constexpr double kStoragePerNode = 1e9;  // bytes per second
// Of every GPU to its host's memory, where neither the cluster nor the device's sheet says: an
// assumption, as if two shared a link of PCIe 4.
constexpr double kCopyPerGpu = 16e9;

struct MorphOptions {
  std::optional<std::string> book, trace, start, write, load, storage, warm_up, notice, every,
      stall, price, output;
  bool json = false;

  void declare(Options& options) {
    options.remark({"profile", "config", "model", "cluster", "device", "gpus", "plan", "plans"},
                   "the book holds model, cluster and plans: --book book.json; penstock plan ... "
                   "--gpus 8..64 -o book.json writes it");
    options.remark({"policy", "policies"},
                   "all policies are replayed and compared; -o report.html shows each of them");
    options.heading("What is replayed");
    options.option("--book", "FILE", "the plans: what plan --gpus 8..64 -o FILE wrote", book);
    options.option(
        "--trace", "CSV",
        "GPUs that come and go: time_s,gpus or time_s,node,event,gpus (data/availability "
        "has recordings, docs/file_formats.md the formats)",
        trace);
    options.heading("What a change costs");
    options.option("--start", "TIME",
                   "to stop, start processes and meet again (default 30s; measured with Parcae: 29 "
                   "to 43 s on 1 to 32 nodes)",
                   start);
    options.option("--storage", "GB/S",
                   "to which checkpoints are written and from which they are read, all nodes "
                   "together (default: 1 for every node of the book's cluster)",
                   storage);
    options.option("--write", "TIME", "of a checkpoint; default: its bytes over --storage", write);
    options.option("--load", "TIME", "of a checkpoint; default: its bytes over --storage", load);
    options.option("--warm-up", "TIME", "lost in the first steps (default 0s)", warm_up);
    options.option("--notice", "TIME",
                   "before a loss, where the recording has none (default 30s; 0s: never)", notice);
    options.option(
        "--checkpoint-every", "TIME",
        "between checkpoints in the background; default: by Daly's rule, for --stall and the "
        "mean time between losses without notice, and not less than --write",
        every);
    options.option("--stall", "TIME",
                   "for which a checkpoint in the background stops the job; default: its bytes to "
                   "the host's memory from every GPU of the book's largest plan, over the links "
                   "of the cluster or the device's sheet, else at 16 GB/s",
                   stall);
    options.option("--usd-per-gpu-hour", "USD",
                   "where the recording has no prices; default: that of the book's first device",
                   price);
    options.heading("What to print");
    options.option("-o,--output", "FILE",
                   "write one HTML page (report.html): the GPUs over time with what each policy "
                   "runs, what it keeps, what it decided; \"-\" prints it",
                   output);
    options.flag("--json", "the result as one JSON object", json);
  }
};

Duration given_or(const char* name, const std::optional<std::string>& given, Duration otherwise) {
  return given ? parse_budget(name, *given) : otherwise;
}

// The bytes of a checkpoint at the speed of the storage.
Duration transfer_of(const PlanBook& book, const MorphOptions& given) {
  int nodes = 0;
  for (const NodeGroup& group : book.cluster.nodes) nodes += group.count;
  const double storage = given.storage ? parse_number("--storage", *given.storage, 1e-3, 1e6) * 1e9
                                       : kStoragePerNode * std::max(1, nodes);
  return transfer_time(checkpoint_bytes(book.profile), BytesPerSecond{storage});
}

double copy_per_gpu(const ClusterSpec& cluster, const NodeType& node) {
  const std::string& device = cluster.device_types[static_cast<std::size_t>(node.device_type)].name;
  const auto known = known_host(cluster, device);
  if (!known) return kCopyPerGpu;
  return known->host.bandwidth.value / std::clamp(known->host.devices_per_link, 1, node.devices);
}

// The same to the memory of the hosts, from all GPUs of the largest plan at once.
Duration copy_of(const PlanBook& book) {
  int left = 1;
  for (const Rung& rung : rungs_of(book)) left = std::max(left, rung.gpus);
  double speed = 0.0;
  for (const NodeGroup& group : book.cluster.nodes) {
    const NodeType& node = type_of(book.cluster, group);
    const int gpus = std::min(left, group.count * node.devices);
    speed += copy_per_gpu(book.cluster, node) * gpus;
    left -= gpus;
  }
  speed += kCopyPerGpu * left;
  return transfer_time(checkpoint_bytes(book.profile), BytesPerSecond{speed});
}

ChangeCosts costs_of(const PlanBook& book, const Availability& recording,
                     const MorphOptions& given) {
  const Duration transfer = transfer_of(book, given);
  ChangeCosts costs;
  costs.write = given_or("--write", given.write, transfer);
  costs.restart = given_or("--start", given.start, parse_budget("--start", kStart)) +
                  given_or("--load", given.load, transfer) +
                  given_or("--warm-up", given.warm_up, Duration{});
  costs.notice = given_or("--notice", given.notice, parse_budget("--notice", kNotice));
  costs.stall = given_or("--stall", given.stall, copy_of(book));
  const Duration apart = mean_between_silent_losses(recording, costs.notice, costs.write);
  const Duration best = background_interval(costs.stall, costs.write, apart);
  costs.every = given_or("--checkpoint-every", given.every, best);
  return costs;
}

// Where types are counted and nobody says what a GPU costs: what the book's cluster says of each.
Availability with_prices(Availability recording, const PlanBook& book, const MorphOptions& given) {
  const bool is_known = std::any_of(
      recording.changes.begin(), recording.changes.end(),
      [](const AvailabilityChange& change) { return change.usd_per_gpu_hour.has_value(); });
  if (!book.counts_types() || given.price || is_known) return recording;
  for (AvailabilityChange& change : recording.changes) {
    double usd = 0.0;
    for (std::size_t t = 0; t < book.types.size(); ++t) {
      usd += change.of_types[t] * find_device_type(book.cluster, book.types[t])->usd_per_hour;
    }
    change.usd_per_gpu_hour = change.gpus > 0 ? usd / change.gpus : 0.0;
  }
  return recording;
}

int most_gpus(const Availability& recording) {
  int most = 0;
  for (const AvailabilityChange& change : recording.changes) most = std::max(most, change.gpus);
  return most;
}

// From the first change on.
double hours_of(const Availability& recording) {
  return to_seconds(recording.end - recording.changes.front().at) / 3600.0;
}

// "a100-40gb up to 8, v100-16gb up to 16"
std::string most_of_types(const PlanBook& book, const Availability& recording) {
  std::vector<std::string> words;
  for (std::size_t t = 0; t < book.types.size(); ++t) {
    int most = 0;
    for (const AvailabilityChange& change : recording.changes) {
      most = std::max(most, change.of_types[t]);
    }
    words.push_back(fmt::format("{} up to {}", book.types[t], most));
  }
  return joined(words, ", ");
}

std::string recording_text(const PlanBook& book, const Availability& recording,
                           const std::string& path, std::size_t plans) {
  int least = recording.changes.front().gpus;
  for (const AvailabilityChange& change : recording.changes) least = std::min(least, change.gpus);
  std::string text = fmt::format(
      "{} by {} on {}: {} h, {} to {} GPUs, {}{}", book.profile.name,
      count_of(static_cast<std::int64_t>(plans), "plan"),
      std::filesystem::path(path).filename().string(), fixed(hours_of(recording), 1), least,
      most_gpus(recording), count_of(static_cast<std::int64_t>(recording.changes.size()), "change"),
      recording.names_machines()
          ? ", " + count_of(static_cast<std::int64_t>(recording.machines.size()), "machine")
          : "; idle GPUs are lost first");
  if (book.counts_types()) text += "; of " + most_of_types(book, recording);
  if (!book.counts_types() && most_gpus(book) < most_gpus(recording)) {
    text += fmt::format(". The book has plans for up to {}; more of them are idle",
                        count_of(most_gpus(book), "GPU"));
  }
  return text;
}

std::string costs_text(const PlanBook& book, const ChangeCosts& costs) {
  return fmt::format(
      "A change costs {}: a checkpoint of {} GiB is written in {}, the restart takes {}. {}; {}.",
      to_text(costs.planned()), gib(checkpoint_bytes(book.profile)), to_text(costs.write),
      to_text(costs.restart),
      costs.notice >= costs.write
          ? fmt::format("Losses are announced {} before", to_text(costs.notice))
          : "Losses take what is not in a checkpoint",
      costs.every <= Duration{}
          ? "every step is in a checkpoint"
          : fmt::format(
                "checkpoints in the background every {}, each of which stops the job for {}",
                to_text(costs.every), to_text(costs.stall)));
}

GoodputReport report_of(const PlanBook& book, const Availability& recording,
                        const std::string& trace, const MorphOptions& given) {
  const std::vector<Rung> rungs = rungs_of(book);
  if (rungs.empty()) {
    bad_option("--book", "none of its pages has a plan", "write it for more GPUs");
  }
  int fewest = rungs.front().gpus;
  for (const Rung& rung : rungs) fewest = std::min(fewest, rung.gpus);
  if (fewest > most_gpus(recording)) {
    bad_option("--trace",
               fmt::format("it never has more than {}, and the smallest plan of the book takes {}",
                           count_of(most_gpus(recording), "GPU"), fewest),
               "replay another recording, or a smaller model");
  }
  const ChangeCosts costs = costs_of(book, recording, given);
  GoodputReport report;
  report.recording = recording_text(book, recording, trace, rungs.size());
  report.costs = costs_text(book, costs);
  report.global_batch = book.global_batch;
  for (const BookPage& page : book.pages) {
    if (!page.plan) continue;
    report.tokens_per_sample = page.plan->sequence_length;
    report.book.push_back({page.plan->devices(), layout_line(*page.plan)});
  }
  for (const AvailabilityChange& change : recording.changes) {
    report.availability.push_back({change.at, change.gpus});
  }
  report.end = recording.end;
  report.hours = hours_of(recording);
  report.gpu_hours = gpu_hours(recording);
  const double price = given.price ? parse_number("--usd-per-gpu-hour", *given.price, 0.0, 1e6)
                                   : book.cluster.device_types.front().usd_per_hour;
  report.usd = usd_paid(recording, price);
  report.policies = compare_policies(book, recording, costs);
  report.hindsight = kHindsight;
  return report;
}

}  // namespace

Answer run_morph(const Arguments& arguments, Screen screen) {
  MorphOptions given;
  Options options("morph --book BOOK --trace CSV [OPTIONS]",
                  "Replays a recording of GPUs that come and go, in virtual time, and says what "
                  "policies keep of the work: Penstock's, always and never changing the plan, "
                  "changing DP alone, restarting all at every event, and the best that hindsight "
                  "could have done.",
                  kExamples);
  given.declare(options);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  const std::string& path = required(given.book, "--book", "--book book.json");
  const std::string& trace = required(given.trace, "--trace", kTraceExample);
  if (given.output) require_page_name(*given.output);
  const Loaded<PlanBook> loaded = load_plan_book(path);
  const PlanBook& book = loaded.value;
  if (!book.counts_types()) require_one_device_type(loaded, "a recording");
  const std::string text = load_text(trace);
  const Availability recording =
      with_prices(in_types_of(book, read_availability(text, trace), trace), book, given);
  const GoodputReport report = report_of(book, recording, trace, given);
  if (given.output) {
    const MorphPage page{fmt::format("penstock {}", version()),
                         command_of("morph", arguments),
                         book.profile.name,
                         {{"book", loaded.file}, {"trace", {trace, content_hash(text)}}},
                         report};
    const std::string html = report_page(page.model, to_json(page), {});
    if (*given.output == "-") return {html};
    write_file(*given.output, html);
  }
  if (!given.json) return report_answer(goodput_text(report, screen));
  Json json = answer_json("morph").set("book", path).set("trace", trace);
  return json_answer(json.set("result", goodput_json(report)));
}

}  // namespace penstock
