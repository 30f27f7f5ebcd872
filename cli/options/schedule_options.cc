#include "cli/options/schedule_options.h"

#include <fmt/format.h>

#include "simulator/schedules/schedules.h"

namespace penstock {

void ScheduleOptions::declare(Options& options) {
  options.keep_command(command);
  std::string known;
  for (const ScheduleKind& kind : schedule_kinds()) {
    known += fmt::format("{}{} ({})", known.empty() ? "" : "; ", kind.name, kind.summary);
  }
  options.heading("The pipeline");
  known +=
      "; or FILE.csv, PyTorch's pipeline CSV, which needs no -P, -V and -M. PyTorch's and "
      "Megatron's names are understood, in any case. Several names, separated by commas, make a "
      "table";
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
  options.heading("Costs");
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
      "the times of --cost, except C, are those of a whole rank, divided evenly over its V virtual "
      "stages: so schedules with different V are compared on the same model",
      per_rank);
  automatic.declare(options);
  executor.declare(options);
  options.heading("What if the machine is uneven");
  slow.declare(options);
  jitter.declare(options);
  options.heading("What to print");
  options.flag(
      "--print",
      "also print the list of actions of every rank and a drawing of the step. 0F3: stage 0, "
      "forward, micro-batch 3; (0F3;7B1): two actions that overlap; with two copies of "
      "the weights stage P + s is stage s of the second copy; with --slices the last "
      "number counts slices",
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
  options.option(
      "-o,--output", "FILE",
      "draw the step; the end of the name decides: .svg, .png, .html, or .json (a trace for "
      "ui.perfetto.dev)",
      output);
  picture.declare(options);
  format.declare(options, "one row per schedule and shape");
}

}  // namespace penstock
