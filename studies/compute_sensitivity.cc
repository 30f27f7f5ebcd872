// A stage or section is made a tenth faster in the prices and the plan's own Program is replayed:
// the answer is exact for this plan and says nothing of what a search would do then. Of sections
// that are alike on one stage the first stands for all; most_questions() bounds how many are asked,
// so that a large plan is still answered in seconds.
#include "studies/compute_sensitivity.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/values/durations.h"
#include "costmodel/plan_sections.h"
#include "studies/outcomes.h"

namespace penstock {
namespace {

StagePrices with_stage(const StagePrices& prices, int stage, double factor) {
  StagePrices changed = prices;
  const auto shapes = static_cast<std::size_t>(prices.shapes);
  for (std::size_t i = 0; i < shapes; ++i) {
    ComputePrice& price = changed.compute[static_cast<std::size_t>(stage) * shapes + i];
    for (const ComputeTime time : kComputeTimes) {
      (price.*time).duration = scaled((price.*time).duration, factor);
    }
    price.overlap_gain = scaled(price.overlap_gain, factor);
  }
  return changed;
}

// Of one micro-batch, the full-size one.
Duration work_of(const StagePrices& prices, int stage) {
  Duration sum{};
  for (const ComputeTime time : kComputeTimes) sum += (prices.compute_of(stage, 0).*time).duration;
  return sum;
}

std::string stage_words(const PlanFile& file, int stage) {
  const auto first = static_cast<std::size_t>(file.plan.first_section(stage));
  const auto last = static_cast<std::size_t>(file.plan.end_section(stage) - 1);
  return fmt::format("stage {} ({}{}, rank {})", stage, file.section_names.at(first),
                     last == first ? "" : ".." + file.section_names.at(last),
                     file.plan.rank_of(stage));
}

// What the sections of a plan cost, per shape of its micro-batches, on the device of each rank.
class SectionPrices {
 public:
  SectionPrices(const Question& question, const Plan& plan) : plan_(plan) {
    const std::vector<MicroBatchShape> shapes = micro_batch_shapes(plan);
    for (const std::string& type : plan.device_types()) {
      std::vector<SectionTable>& tables = tables_[type];
      tables.reserve(shapes.size());
      for (const MicroBatchShape& shape : shapes) {
        tables.push_back(
            price_plan_sections(question.profile.value, question.cluster.value, type, plan, shape));
      }
    }
  }
  // Not empty: the plan was priced.
  [[nodiscard]] const ComputePrice& of(int section, int stage, std::size_t shape) const {
    int kind = 0;
    while (static_cast<int>(shape) >= shapes_of_kind(plan_, kind).end) ++kind;
    const int rank = kind * plan_.pipeline + plan_.rank_of(stage);
    const auto& tables = tables_.at(plan_.device_of_rank(rank));
    return tables[shape].sections[static_cast<std::size_t>(section)].price;
  }

 private:
  const Plan& plan_;
  std::map<std::string, std::vector<SectionTable>> tables_;
};

class SectionAsker {
 public:
  SectionAsker(const PlanFile& file, const Question& question, Duration now)
      : file_(file), model_(question.profile.value), prices_(question, file.plan), now_(now) {}

  // Every kind of section, then single ones; of those alike on one stage the first stands for all.
  void ask(Sensitivities& all) {
    ask_types(all);
    std::vector<Sensitivity> rows;
    const std::size_t most = most_questions(file_, 1);
    std::map<std::pair<int, int>, int> alike;  // (stage, type) -> row
    for (int stage = 0; stage < file_.plan.stages_per_copy(); ++stage) {
      for (int i = file_.plan.first_section(stage); i < file_.plan.end_section(stage); ++i) {
        const Section& section = model_.sections[static_cast<std::size_t>(i)];
        if (!alike.emplace(std::pair(stage, section.type), i).second || rows.size() == most) {
          continue;
        }
        rows.push_back(row("section." + section.name, words(stage, i), {i}));
      }
    }
    if (rows.size() == most) {
      all.notes.push_back(fmt::format("The first {} sections that differ were tried.", most));
    }
    add_strongest(std::move(rows), all);
  }

 private:
  void ask_types(Sensitivities& all) {
    std::vector<Sensitivity> rows;
    for (std::size_t type = 0; type < model_.section_types.size(); ++type) {
      std::vector<int> sections;
      for (std::size_t i = 0; i < model_.sections.size(); ++i) {
        if (model_.sections[i].type == static_cast<int>(type)) {
          sections.push_back(static_cast<int>(i));
        }
      }
      if (sections.size() < 2) continue;  // that section has a row of its own
      const std::string& name = model_.section_types[type].name;
      rows.push_back(row("sections." + name,
                         fmt::format("all {} sections of type {}", sections.size(), name),
                         sections));
    }
    add_strongest(std::move(rows), all);
  }

  [[nodiscard]] std::string words(int stage, int section) const {
    const int type = model_.sections[static_cast<std::size_t>(section)].type;
    int alike = 0;
    for (int i = file_.plan.first_section(stage); i < file_.plan.end_section(stage); ++i) {
      alike += model_.sections[static_cast<std::size_t>(i)].type == type ? 1 : 0;
    }
    const std::string& name = file_.section_names[static_cast<std::size_t>(section)];
    if (alike == 1) return fmt::format("section {} (stage {})", name, stage);
    return fmt::format("section {} (one of {} alike on stage {})", name, alike, stage);
  }

  [[nodiscard]] Sensitivity row(std::string key, std::string what,
                                const std::vector<int>& sections) const {
    StagePrices changed = file_.prices;
    const auto shapes = static_cast<std::size_t>(changed.shapes);
    for (int stage = 0; stage < changed.stages; ++stage) {
      for (const int section : sections) {
        if (section < file_.plan.first_section(stage) || section >= file_.plan.end_section(stage)) {
          continue;
        }
        for (std::size_t shape = 0; shape < shapes; ++shape) {
          take_a_tenth(changed.compute[static_cast<std::size_t>(stage) * shapes + shape],
                       prices_.of(section, stage, shape));
        }
      }
    }
    return {std::move(key), std::move(what), std::nullopt,
            outcome_of("10 % less", now_, step_at(file_, changed))};
  }

  static void take_a_tenth(ComputePrice& stage, const ComputePrice& section) {
    for (const ComputeTime time : kComputeTimes) {
      Duration& duration = (stage.*time).duration;
      duration = std::max(Duration{}, duration - (section.*time).duration / 10);
    }
  }

  const PlanFile& file_;
  const ModelProfile& model_;
  SectionPrices prices_;
  Duration now_;
};

}  // namespace

void ask_stages(const PlanFile& file, Duration now, Sensitivities& all) {
  std::vector<int> stages(static_cast<std::size_t>(file.prices.stages));
  for (std::size_t s = 0; s < stages.size(); ++s) stages[s] = static_cast<int>(s);
  const std::size_t most = most_questions(file, 2);
  if (stages.size() > most) {
    std::stable_sort(stages.begin(), stages.end(), [&](int a, int b) {
      return work_of(file.prices, a) > work_of(file.prices, b);
    });
    stages.resize(most);
    all.notes.push_back(
        fmt::format("Of {} stages the {} with most work were tried.", file.prices.stages, most));
  }
  std::vector<Sensitivity> rows;
  rows.reserve(stages.size());
  for (const int stage : stages) {
    const auto step = [&](double factor) {
      return step_at(file, with_stage(file.prices, stage, factor));
    };
    rows.push_back({fmt::format("stage.{}", stage), stage_words(file, stage),
                    outcome_of("10 % more", now, step(1.1)),
                    outcome_of("10 % less", now, step(0.9))});
  }
  add_strongest(std::move(rows), all);
}

void ask_sections(const PlanFile& file, const Question& question, Duration now,
                  Sensitivities& all) {
  SectionAsker(file, question, now).ask(all);
}

}  // namespace penstock
