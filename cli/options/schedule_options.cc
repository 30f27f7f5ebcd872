#include "cli/options/schedule_options.h"

#include <fmt/format.h>

#include "simulator/schedules/schedules.h"

namespace penstock {

void ScheduleOptions::declare(Options& options) {
  std::string known;
  for (const ScheduleKind& kind : schedule_kinds()) {
    known += fmt::format("{}{} ({})", known.empty() ? "" : "; ", kind.name, kind.summary);
  }
  options.heading("The pipeline");
  known +=
      "; or FILE.csv, PyTorch's pipeline CSV, which says P, V and M itself. Any case, and "
      "PyTorch's "
      "and Megatron's names. Several, with commas between them, make a table";
  options.positional("NAME", known, name);
  options.choices(schedule_names());
  options.option("-P,--ranks", "N[,N,...]", "pipeline ranks; several make a table", ranks);
  options.option("-V,--chunks", "N[,N,...]",
                 "virtual stages per rank; default: the fewest that the schedule has", chunks);
  options.option("-M,--micro-batches", "N[,N,...]", "micro-batches per step", micro_batches);
  options.option("--group", "N",
                 "interleaved: micro-batches per group by Megatron's rule; default: PyTorch's "
                 "rule. interleaved-overlap, grouped-interleaved: default P",
                 group);
  options.option("--slices", "N", "seq-1f1b: parts that every sequence is cut into; default 1",
                 slices);
  options.flag("--legacy-csv",
               "FILE.csv is in PyTorch's dialect of 2024: B is the input gradient, BW the whole "
               "backward",
               legacy_csv);
  options.heading("What it costs");
  options.repeated("--cost", "K=TIME,...",
                   "per virtual stage and micro-batch (slice): F forward, B backward (default "
                   "I + W), I input gradient, W weight gradient, R recompute before every "
                   "backward (varuna needs it), O what a forward and a backward that overlap "
                   "save (default 0); "
                   "C per transfer between ranks (default 0). Times need a unit: ns, us, ms, s",
                   costs);
  options.option("--cost-file", "FILE",
                 "costs of every stage and boundary (penstock.costs/1, see docs/user_guide.md)",
                 cost_file);
  options.flag(
      "--per-rank",
      "times of --cost, but C, are those of all V chunks of a rank together, each chunk takes "
      "a V-th: schedules with several chunks are compared on the same model",
      per_rank);
  automatic.declare(options);
  executor.declare(options);
  options.heading("What if the machine is uneven");
  slow.declare(options);
  jitter.declare(options);
  options.heading("What to print");
  options.flag("--print",
               "also the lists of actions (with varuna as they ran) and a drawing of the step. "
               "0F3: stage 0, forward, "
               "micro-batch 3; (0F3;7B1): an overlap; with two copies of the weights stage P + s "
               "is stage s of the second; with slices they are counted instead of micro-batches",
               print);
  options.option("--csv", "FILE",
                 "write PyTorch's pipeline CSV of the schedule (- for stdout, instead of the "
                 "report)",
                 csv);
  options.option("--csv-form", "FORM",
                 "compute_only: PyTorch adds the communication (default); compute_comms: sends, "
                 "receives and reductions are in the file",
                 csv_form);
  options.choices({"compute_only", "compute_comms"});
  options.option("-o,--output", "FILE",
                 "draw the step, by the end of the name: .svg, .png, .html, or .json (a trace for "
                 "ui.perfetto.dev)",
                 output);
  picture.declare(options);
  format.declare(options, "one row per schedule and shape");
}

}  // namespace penstock
