// Launch files of all trainers: what is no such file is refused, and what is one is judged twice
// to the same words; every finding has a place in the file and says what to do.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "trainers/lint/lint.h"
#include "trainers/lint/lint_text.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

using fuzz::require;

void check_report(const LintReport& report, const std::string& text, const LintRequest& request) {
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  for (const LintFinding& finding : report.findings) {
    require(finding.line >= 0 && finding.line <= lines, "a finding behind the file's end");
    require(!finding.message.empty() && !finding.fix.empty(), "a finding without a fix");
  }
  const std::string words = lint_text(report, fuzz::kFile, {});
  const LintReport again = lint(text, fuzz::kFile, *report.trainer, request);
  require(lint_text(again, fuzz::kFile, {}) == words, "judged again it has other words");
  require(!lint_annotations(report, fuzz::kFile).empty() || report.findings.empty(),
          "findings without annotations");
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::unless_refused([&text] { return launch_trainer_of(text, fuzz::kFile); });
  for (const std::string& name : linted_trainer_names()) {
    const TrainerRow& trainer = *find_trainer_row(name);
    for (const TrainerVersion& version : trainer.versions) {
      LintRequest request;
      request.version = version.name;
      request.gpus = 16;
      request.layers = 30;
      request.checkpoint_data_parallel = 4;
      if (trainer.linter->needs_stages) request.stages = 4;
      const auto report = fuzz::accepted(
          text, [&](const std::string& file) { return lint(file, fuzz::kFile, trainer, request); });
      if (!report) continue;
      fuzz::remember(text);
      check_report(*report, text, request);
    }
  }
  return 0;
}
