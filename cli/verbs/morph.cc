// `penstock morph` replays a recording of GPUs that come and go, in virtual time, under each policy
// and the same costs of a change. Costs that are not given follow from the book: a checkpoint's
// bytes over the storage, and between two in the background Daly's interval, as `train` takes it:
// for the time that a copy stops the job and the mean time between losses that nobody announces in
// time.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/one_device_type.h"
#include "cli/io/report_command.h"
#include "cli/io/text_file.h"
#include "cli/io/write_output.h"
#include "cli/options/options.h"
#include "cli/reports/known_host.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/files/read_availability.h"
#include "core/values/json_reader.h"
#include "core/values/seconds.h"
#include "morphing/checkpoint_interval.h"
#include "morphing/goodput.h"
#include "report/goodput_report.h"
#include "report/page/report_page.h"
#include "report/page/study_pages.h"
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

constexpr const char* kTraces =
    "a recording is CSV: time_s,gpus, a line such as 3600,48 for every change, and the last line "
    "is "
    "the end (data/availability has some of clouds)";

// Parcae (NSDI'24) measured 29 to 43 s for a restart of 1 to 32 nodes.
constexpr const char* kStart = "30s";
// Google's and Azure's least notice.
constexpr const char* kNotice = "30s";
constexpr double kStoragePerNode = 1e9;  // bytes per second
// Of every GPU to its host's memory, where neither the cluster nor the device's sheet says: an
// assumption, as if two shared a link of PCIe 4.
constexpr double kCopyPerGpu = 16e9;

struct MorphOptions {
  TypedCommand command;
  std::optional<std::string> book, trace, start, write, load, storage, warm_up, notice, every,
      stall, price, output;
  bool json = false;

  void declare(Options& options) {
    options.keep_command(command);
    options.remark({"profile", "config", "model", "cluster", "device", "gpus", "plan", "plans"},
                   "the book holds model, cluster and plans: --book book.json; penstock plan ... "
                   "--gpus 8..64 -o book.json writes it");
    options.remark({"policy", "policies"},
                   "all policies are replayed and compared; -o report.html shows each of them");
    options.remark({"csv", "format", "table", "markdown", "excel", "plot", "figure"},
                   "--json prints the result for programs, and -o report.html writes a page");
    options.remark({"hours", "days", "duration", "length", "horizon", "until", "from", "begin",
                    "end", "window", "time"},
                   "the whole recording is replayed: for a part of it, cut the rows of the CSV");
    options.remark(
        {"min", "max", "min-gpus", "max-gpus", "min-nodes", "max-nodes", "min-replicas",
         "max-replicas"},
        "the recording says when how many GPUs there are, the book has a plan for each "
        "number: penstock plan ... --gpus 8..64 -o book.json, then penstock morph --book "
        "book.json --trace trace.csv");
    options.remark({"nodes", "machines", "lose", "lost", "loss", "failures", "spot", "events"},
                   "the recording says when how many GPUs there are (--trace CSV); for fixed "
                   "numbers write one: a first line time_s,gpus, then a line such as 0,64 for "
                   "every change; the last line is the end of the recording");
    options.remark({"spot-trace", "availability", "recording", "nodes-csv", "capacity"},
                   "write --trace {CSV}");
    options.remark({"restart-minutes"}, "write --start {N}min");
    options.remark({"restart", "restart-time", "restart-cost", "recovery-time", "startup"},
                   "write --start {TIME}");
    options.remark({"checkpoint-time", "checkpoint-write", "save-time", "checkpoint-cost"},
                   "write --write {TIME}, and --load TIME for reading it");
    options.remark({"bandwidth", "storage-bandwidth", "disk", "io"}, "write --storage {GB/S}");
    options.remark({"spot-price", "price", "price-per-hour"}, "write --usd-per-gpu-hour {USD}");
    options.heading("What is replayed");
    options.option("--book", "FILE", "the plans: what plan --gpus 8..64 -o FILE wrote", book);
    options.option(
        "--trace", "CSV",
        "GPUs that come and go: time_s,gpus or time_s,node,event,gpus (data/availability "
        "has recordings, docs/file_formats.md the formats)",
        trace);
    options.heading("What a change costs");
    options.option(
        "--start", "TIME",
        "time to stop, start processes and meet again (default 30s; measured with Parcae: 29 "
        "to 43 s on 1 to 32 nodes)",
        start);
    options.option("--storage", "GB/S",
                   "speed at which checkpoints are written and read, all nodes "
                   "together (default: 1 for every node of the book's cluster)",
                   storage);
    options.option("--write", "TIME",
                   "time to write a checkpoint; default: its bytes over --storage", write);
    options.option("--load", "TIME", "time to load a checkpoint; default: its bytes over --storage",
                   load);
    options.option("--warm-up", "TIME", "time lost in the first steps (default 0s)", warm_up);
    options.option("--notice", "TIME",
                   "how long before a loss it is announced, where the recording does not say "
                   "(default 30s; 0s: never)",
                   notice);
    options.option(
        "--checkpoint-every", "TIME",
        "time between checkpoints in the background; default: by Daly's rule, for --stall and the "
        "mean time between losses without notice, and not less than --write",
        every);
    options.option("--stall", "TIME",
                   "how long a checkpoint in the background stops the job; default: its bytes to "
                   "the host's memory from every GPU of the book's largest plan, over the links "
                   "of the cluster or the device's sheet, else at 16 GB/s",
                   stall);
    options.option("--usd-per-gpu-hour", "USD",
                   "price of a GPU, where the recording has none; default: that of the book's "
                   "first device, or "
                   "of each type that it counts",
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

bool has_prices(const Availability& recording) {
  return std::any_of(
      recording.changes.begin(), recording.changes.end(),
      [](const AvailabilityChange& change) { return change.usd_per_gpu_hour.has_value(); });
}

// Where types are counted and nobody says what a GPU costs: what the book's cluster says of each.
// Nothing where it does not say it of all that were there.
Availability with_prices(const Availability& recording, const PlanBook& book,
                         const MorphOptions& given) {
  if (!book.counts_types() || given.price || has_prices(recording)) return recording;
  Availability priced = recording;
  for (AvailabilityChange& change : priced.changes) {
    double usd = 0.0;
    for (std::size_t t = 0; t < book.types.size(); ++t) {
      const double each = find_device_type(book.cluster, book.types[t])->usd_per_hour;
      if (change.of_types[t] > 0 && each <= 0.0) return recording;
      usd += change.of_types[t] * each;
    }
    change.usd_per_gpu_hour = change.gpus > 0 ? usd / change.gpus : 0.0;
  }
  return priced;
}

// Before the recording has a price. 0: unknown.
double first_price(const Availability& recording, const PlanBook& book, const MorphOptions& given) {
  if (given.price) return parse_number("--usd-per-gpu-hour", *given.price, 0.0, 1e6);
  if (book.counts_types() && !has_prices(recording)) return 0.0;
  return book.cluster.device_types.front().usd_per_hour;
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

int most_of_type(const Availability& recording, std::size_t type) {
  int most = 0;
  for (const AvailabilityChange& change : recording.changes) {
    most = std::max(most, change.of_types[type]);
  }
  return most;
}

// "up to 8 GPUs of a100-40gb, up to 16 GPUs of v100-16gb. The book counts 4 GPUs of a100-40gb at
// most; more of them are idle"
std::string types_text(const PlanBook& book, const Availability& recording) {
  std::vector<std::string> there, counted;
  for (std::size_t t = 0; t < book.types.size(); ++t) {
    const int most = most_of_type(recording, t);
    const std::string of_type = " of " + book.types[t];
    there.push_back((most == 0 ? "no GPUs" : "up to " + count_of(most, "GPU")) + of_type);
    int in_book = 0;
    for (const BookPage& page : book.pages) in_book = std::max(in_book, page.of_types[t]);
    if (in_book < most) counted.push_back(count_of(in_book, "GPU") + of_type);
  }
  if (counted.empty()) return joined(there, ", ");
  return joined(there, ", ") +
         fmt::format(". The book counts {} at most; more of them are idle.", joined(counted, ", "));
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
  if (book.counts_types()) text += "; " + types_text(book, recording);
  if (!book.counts_types() && most_gpus(book) < most_gpus(recording)) {
    text += fmt::format(". The book has plans for up to {}; more of them are idle.",
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

bool fits_any(const std::vector<Rung>& rungs, const AvailabilityChange& change) {
  return std::any_of(rungs.begin(), rungs.end(),
                     [&](const Rung& rung) { return fits(rung, change.gpus, change.of_types); });
}

// At some time, else every policy would wait until the end.
void require_some_plan(const std::vector<Rung>& rungs, const PlanBook& book,
                       const Availability& recording) {
  for (const AvailabilityChange& change : recording.changes) {
    if (fits_any(rungs, change)) return;
  }
  if (book.counts_types()) {
    bad_option("--trace",
               fmt::format("none of the book's plans fits at any time: there are {}",
                           types_text(book, recording)),
               "replay another recording, or write a book that counts fewer GPUs of each type, "
               "from TYPE=0 on");
  }
  int fewest = rungs.front().gpus;
  for (const Rung& rung : rungs) fewest = std::min(fewest, rung.gpus);
  bad_option("--trace",
             fmt::format("it never has more than {}, and the smallest plan of the book takes {}",
                         count_of(most_gpus(recording), "GPU"), fewest),
             "replay another recording, or a smaller model");
}

// For how long some GPUs were there, on which none of the plans fits.
Duration time_without_plan(const std::vector<Rung>& rungs, const Availability& recording) {
  Duration without{};
  for (std::size_t i = 0; i < recording.changes.size(); ++i) {
    const AvailabilityChange& change = recording.changes[i];
    const bool is_last = i + 1 == recording.changes.size();
    const Duration until = is_last ? recording.end : recording.changes[i + 1].at;
    if (change.gpus > 0 && !fits_any(rungs, change)) without += until - change.at;
  }
  return without;
}

GoodputReport report_of(const PlanBook& book, const Availability& recording,
                        const std::string& trace, const MorphOptions& given) {
  const std::vector<Rung> rungs = rungs_of(book);
  if (rungs.empty()) {
    bad_option("--book", "none of its pages has a plan", "write it for more GPUs");
  }
  require_some_plan(rungs, book, recording);
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
  report.counts_types = book.counts_types();
  report.without_plan = time_without_plan(rungs, recording);
  report.hours = hours_of(recording);
  report.gpu_hours = gpu_hours(recording);
  report.usd = usd_paid(recording, first_price(recording, book, given));
  report.policies = compare_policies(book, recording, costs);
  report.hindsight = kHindsight;
  return report;
}

// Whoever writes a few lines by hand means the last one as a change, and it is the end. Of what a
// cloud recorded it is one of hundreds.
std::string remark_of_end(const Availability& recording) {
  constexpr std::size_t kFew = 10;
  if (!recording.gpus_at_end || recording.changes.size() > kFew) return "";
  return fmt::format(
      "note: the last change, to {}, is at the end of the recording and has no effect: add a line "
      "with a later time, when the recording ends\n",
      count_of(*recording.gpus_at_end, "GPU"));
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
  const std::string& path = required(given.book, "--book", given.command);
  if (!given.trace) {
    bad_option("--trace", "missing",
               fmt::format("add it, for example {}; {}", given.command.whole(), kTraces));
  }
  const std::string& trace = *given.trace;
  if (given.output) require_page_name(*given.output);
  const Loaded<PlanBook> loaded = load_plan_book(path);
  const PlanBook& book = loaded.value;
  if (!book.counts_types()) require_one_device_type(loaded, "a recording");
  const std::string text = load_text(trace, kTraces);
  const Availability recording =
      with_prices(in_types_of(book, read_availability(text, trace), trace), book, given);
  const GoodputReport report = report_of(book, recording, trace, given);
  if (given.output) {
    const PageHead head{fmt::format("penstock {}", version()),
                        command_of("morph", arguments),
                        book.profile.name,
                        {{"book", loaded.file}, {"trace", {trace, content_hash(text)}}}};
    const std::string html = report_page(head.title, morph_page_json(head, report), {});
    if (*given.output == "-") return {html};
    write_output(*given.output, html);
  }
  if (!given.json) {
    Answer answer = report_answer(goodput_text(report, screen));
    answer.remark = remark_of_end(recording);
    return answer;
  }
  Json json = answer_json("morph").set("book", path).set("trace", trace);
  return json_answer(json.set("result", goodput_json(report)));
}

}  // namespace penstock
