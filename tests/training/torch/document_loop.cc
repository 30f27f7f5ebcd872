// What tests/runtime_bridge/torch/compare_documents.py holds a run on documents against: one plain
// loop in this process, in which every document is computed by itself and nothing is padded.
//
//   document_loop PLAN DOCUMENTS LONGEST TOKENS STEPS LEARNING_RATE
//
// prints a line of JSON per step. Of PLAN only the description of the model counts.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "core/values/plan_file.h"
#include "runtime_bridge/rank_program.h"
#include "runtime_bridge/read_documents.h"
#include "tests/training/torch/reference_training.h"
#include "training/document_batches.h"

namespace penstock {
namespace {

void run(const std::string& plan, const std::string& documents, int longest, std::int64_t tokens,
         int steps, double learning_rate) {
  RankSetup whole;
  whole.model = model_of(read_plan(parse_json(read_file(plan), plan), plan));
  whole.options.learning_rate = learning_rate;
  DocumentFiles files = read_documents({documents}, whole.model, longest);
  const DocumentBatches batches(std::make_shared<const DocumentSet>(std::move(files.documents)),
                                {.step = 0, .taken = 0, .tokens = tokens, .seed = 1});
  const testing::ReferenceRun loop = testing::reference_training(
      whole, batches, steps,
      [&](int step) { return static_cast<int>(batches.of_step(step).size()); });
  for (int step = 0; step < steps; ++step) {
    std::string taken;
    for (const std::int64_t document : batches.of_step(step)) {
      taken += (taken.empty() ? "" : ", ") + std::to_string(document);
    }
    std::printf("{\"step\": %d, \"loss\": %.17g, \"documents\": [%s]}\n", step,
                loop.losses[static_cast<std::size_t>(step)], taken.c_str());
  }
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fputs("usage: document_loop PLAN DOCUMENTS LONGEST TOKENS STEPS LEARNING_RATE\n", stderr);
    return 2;
  }
  try {
    penstock::run(argv[1], argv[2], std::stoi(argv[3]), std::stoll(argv[4]), std::stoi(argv[5]),
                  std::stod(argv[6]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
