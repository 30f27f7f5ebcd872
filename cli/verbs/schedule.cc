#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/write_output.h"
#include "cli/options/schedule_options.h"
#include "cli/reports/replayed_schedule.h"
#include "cli/reports/schedule_picture.h"
#include "cli/reports/schedule_sweep.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "cli/words/schedule_called.h"
#include "core/values/json_reader.h"
#include "report/flat_table.h"
#include "report/schedule_report.h"
#include "report/screen.h"
#include "report/uncertainty.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms,C=0.5ms --print
  penstock schedule zb-h1 -P 8 -M 24 --cost F=18.522ms,I=18.086ms,W=9.337ms,C=0.601ms
  penstock schedule interleaved -P 4 -V 2 -M 8 --cost F=5ms,B=10ms --csv schedule.csv
  penstock schedule zb-auto -P 8 -M 24 --cost F=18ms,I=18ms,W=9ms,C=1ms --limit 6
  penstock schedule varuna -P 8 -M 64 --cost F=20ms,R=20ms,B=40ms,C=3ms
  penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms,C=1ms --executor deepspeed --json
  penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms --jitter-percent 5 --slow rank=3:1.3
  penstock schedule 1f1b,zb-h1 -P 4,8 -M 8,16,32 --cost F=10ms,I=10ms,W=10ms --format csv
  penstock schedule 1f1b,zb-h1,zb-v -P 4 -M 8 --cost F=10ms,I=10ms,W=10ms --per-rank -o steps.svg
  penstock schedule schedule.csv --cost F=5ms,B=10ms,C=0.5ms --print
)";

}  // namespace

Answer run_schedule(const Arguments& arguments, Screen screen) {
  ScheduleOptions given;
  Options options("schedule NAME -P N -M N --cost F=TIME,B=TIME,C=TIME [OPTIONS]",
                  "Replays one training step of a pipeline schedule with given costs, and says how "
                  "long it takes, how much of it is bubble and how many activations every rank "
                  "holds. No model is needed.",
                  kExamples);
  given.declare(options);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  if (given.csv_form && !given.csv) {
    bad_option("--csv-form", "no file is written", "add --csv FILE");
  }
  const TableFormat chosen = given.format.chosen();
  given.format.refuse_with_table(given.jitter.given(), "--jitter");
  given.format.refuse_with_table(given.print, "--print");
  if (given.picture.given() && !given.output) {
    bad_option("--output", "no picture is drawn", "add -o step.svg");
  }
  if (is_sweep(given)) return sweep(given, screen);
  if (!given.name.ends_with(".csv")) given.name = schedule_called("NAME", given.name);
  if (given.output) check_step_file(*given.output, 1);
  ReplayedSchedule both = replayed(given, subject_of(given), screen);
  const ScheduleResult& result = both.result;
  ScheduleExtras& extras = both.extras;

  if (given.output) {
    std::vector<SyntheticStep> steps;
    steps.push_back(std::move(*extras.step));
    const std::string title = fmt::format("{}; {}", steps.front().trace.what, result.costs);
    write_step_file(*given.output, std::move(steps), given.picture, title,
                    schedule_report(result, {}));
  }
  if (given.csv == "-") return {extras.csv};
  if (given.csv) write_output(*given.csv, extras.csv);
  if (given.format.is_table()) {
    Json row = Json::object();
    append_flat(row, schedule_json(result));
    const TextTable table = flat_table({row});
    return {chosen == TableFormat::kCsv ? table.csv() : table.markdown()};
  }
  if (chosen == TableFormat::kJson) {
    Json json = schedule_json(result);
    set_uncertainty(json, extras.uncertainty);
    return json_answer(json);
  }
  std::string text = schedule_report(result, screen) + uncertainty_text(extras.uncertainty, screen);
  if (given.print) {
    text += "\nCompute actions by rank (STAGE KIND MICRO-BATCH)\n" + extras.lists + "\nOne step\n" +
            extras.drawing;
  }
  if (given.csv) text += fmt::format("\nPyTorch's CSV is in {}\n", *given.csv);
  if (given.output) text += fmt::format("\n{} is written\n", *given.output);
  return report_answer(text);
}

}  // namespace penstock
