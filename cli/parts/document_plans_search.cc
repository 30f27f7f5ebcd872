// What `penstock dynamic` asks for batches that it draws, asked for the batches of a run: one
// layout, prices of every shape from profile and cluster, and the planner.
//
// A plan file has prices of its own shapes only, so the files that it was made from are read again;
// if they have changed since, that is said.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <time.h>  // clock_gettime()

#include "cli/io/plan_question.h"
#include "cli/parts/document_plans.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "search/dynamic/batch_rules.h"
#include "search/dynamic/plan_batch.h"
#include "search/dynamic/profile_costs.h"
#include "search/dynamic/replica_replays.h"
#include "search/evaluate.h"
#include "studies/cached_costs.h"

namespace penstock {
namespace {

// Of the processor, by this thread.
Duration processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

Question question_for(const Loaded<PlanFile>& layout, const DocumentPlanning& how) {
  PlanQuestion again =
      measured_question_of(layout.value, layout.file.path, how.profile, how.cluster);
  if (again.why_not.empty()) return std::move(again.question);
  throw_bad_input("--documents: " + again.why_not +
                  "\nhelp: every step is priced by the profile and the cluster that the plan was "
                  "made from; name them with --profile and --cluster");
}

// Of one replica, without the batch that it was planned for.
Plan layout_of(const PlanFile& file) {
  Plan layout = file.plan;
  if (layout.copies() > 1) {
    throw_bad_input("--documents: the plan holds two copies of the weights per pipeline (" +
                    layout.schedule +
                    ")\nhelp: plan for another schedule, such as 1f1b or interleaved");
  }
  layout.batch = {};
  layout.replica_kinds.clear();
  layout.recompute_sections.clear();
  layout.group = 0;
  layout.micro_batch_size = 1;
  layout.global_batch = layout.data;
  if (layout.is_mixed()) {
    std::vector<std::string> types = layout.rank_devices;
    types.resize(static_cast<std::size_t>(layout.pipeline));
    set_rank_devices(layout, std::move(types));
  }
  return layout;
}

// Those with prices on the layout's device, "none" first.
std::vector<std::string> modes_of(const ModelProfile& profile, const Plan& layout) {
  std::vector<std::string> modes;
  for (const Measurement& m : profile.section_types.front().measurements) {
    if (m.device != layout.device || m.tensor_degree != layout.tensor) continue;
    if (std::find(modes.begin(), modes.end(), m.recompute) == modes.end()) {
      modes.push_back(m.recompute);
    }
  }
  std::sort(modes.begin(), modes.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a != "none", a) < std::pair(b != "none", b);
  });
  return modes;
}

// On either axis that the profile has.
int longest_measured(const ModelProfile& profile, const std::string& device) {
  int longest = 0, decoder = 0;
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& m : type.measurements) {
      if (m.device != device) continue;
      longest = std::max(longest, m.sequence_length);
      decoder = std::max(decoder, m.decoder_length);
    }
  }
  return decoder > 0 ? std::min(longest, decoder) : longest;
}

class SearchedDocumentPlans : public DocumentPlans {
 public:
  SearchedDocumentPlans(const Loaded<PlanFile>& layout, const DocumentPlanning& how)
      : files_(question_for(layout, how)) {
    require_same_model(layout);
    question_.layout = layout_of(layout.value);
    question_.executor = files_.executor;
    question_.schedules = how.schedules;
    question_.replays = how.replays;
    const bool pairs = files_.profile.value.description->family == ModelFamily::kT5;
    question_.rounding = {
        .multiple = how.pad_to, .left_out = pairs ? 0 : 1, .decoder_extra = 0, .separator = 0};
    static_cast<void>(batch_schedules(question_.layout, how.schedules));  // refuses others
    for (const std::string& mode : modes_of(files_.profile.value, question_.layout)) add_mode(mode);
    if (question_.recompute.empty()) {
      throw_bad_input(files_.profile.file.path + ": has nothing measured on '" +
                      question_.layout.device +
                      "', which the plan's ranks are\nhelp: measure there, or name another file "
                      "with --profile");
    }
    // What is fed of a document that is so long must still have a price when it is padded.
    const int measured = longest_measured(files_.profile.value, question_.layout.device);
    longest_ = measured / how.pad_to * how.pad_to + question_.rounding.left_out;
    if (longest_ < 2) {
      bad_option(
          "--pad-to",
          fmt::format("{} is more than the {} tokens that were measured", how.pad_to, measured),
          "pad to less");
    }
  }

  [[nodiscard]] int longest() const override { return longest_; }
  [[nodiscard]] InputFile profile() const override { return files_.profile.file; }
  [[nodiscard]] InputFile cluster() const override { return files_.cluster.file; }

  [[nodiscard]] PlannedStep plan(const std::vector<SampleLength>& documents) const override {
    const Duration began = processor_time();
    BatchPlan planned = plan_batch(question_for_batch(documents), documents);
    if (!planned.why_not.empty()) throw_bad_input(planned.why_not);
    PlanFile file = to_plan_file(files_.inputs(), planned.evaluated);
    file.profile = files_.profile.file;
    file.cluster_file = files_.cluster.file;
    auto samples = std::make_shared<StepSamples>();
    for (const PlannedReplica& replica : planned.replicas) {
      for (const PlannedMicroBatch& micro_batch : replica.micro_batches) {
        for (const std::vector<int>& row : micro_batch.rows) {
          samples->order.insert(samples->order.end(), row.begin(), row.end());
        }
      }
    }
    samples->real_tokens = planned.real_tokens;
    samples->padded_tokens = planned.padded_tokens;
    samples->objective_ns = planned.objective_ns;
    samples->fingerprint = fingerprint_of(file, samples->order);
    samples->planning = processor_time() - began;
    return {std::make_shared<const PlanFile>(std::move(file)), std::move(samples)};
  }

 private:
  // With the rules that a study compares with, so that training is as fast as the study says.
  [[nodiscard]] BatchQuestion question_for_batch(const LengthBatch& documents) const {
    BatchQuestion question = question_;
    std::int64_t tokens = 0;
    for (const SampleLength& document : documents) {
      tokens += real_tokens_of(document, question.rounding);
    }
    question.rivals = rival_rules(question.layout, static_cast<double>(tokens),
                                  static_cast<double>(documents.size()));
    return question;
  }

  void require_same_model(const Loaded<PlanFile>& layout) const {
    std::vector<std::string> sections;
    for (const Section& section : files_.profile.value.sections) sections.push_back(section.name);
    if (files_.profile.value.description && sections == layout.value.section_names &&
        is_same_model(files_.profile.value.description, layout.value.description)) {
      return;
    }
    throw_bad_input(files_.profile.file.path + ": is not of the model that " + layout.file.path +
                    " trains\nhelp: name the profile that the plan was made from with --profile");
  }

  void add_mode(const std::string& mode) {
    auto costs = std::make_unique<ProfileCosts>(files_.inputs(), question_.layout, mode);
    question_.capacity = costs->capacity();
    question_.reserve = costs->reserve();
    costs_.push_back(std::make_unique<CachedCosts>(std::move(costs)));
    question_.recompute.push_back({mode, costs_.back().get()});
  }

  const Question files_;  // profile, cluster and executor
  BatchQuestion question_;
  std::vector<std::unique_ptr<CachedCosts>> costs_;
  int longest_ = 0;
};

}  // namespace

std::unique_ptr<DocumentPlans> document_plans(const Loaded<PlanFile>& layout,
                                              const DocumentPlanning& how) {
  return std::make_unique<SearchedDocumentPlans>(layout, how);
}

}  // namespace penstock
