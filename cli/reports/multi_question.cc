// A job's options are the pages of a book on which more GPUs bring more speed; times of steps that
// the job file gives take their place. The nodes are those of the cluster that was asked about, or
// of the first book; where no cluster is known, all GPUs are in one node.
#include "cli/reports/multi_question.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/one_device_type.h"
#include "cli/io/progress.h"
#include "cli/options/search_options.h"
#include "cli/reports/spilled_jobs.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "core/values/seconds.h"
#include "report/plan_table.h"
#include "report/words.h"
#include "studies/find_book.h"
#include "studies/plan_set.h"

namespace penstock {
namespace {

constexpr int kMostGpus = 1 << 16;
constexpr std::int64_t kMostSpilledUnits = 200'000;  // of one job, to be replayed unit by unit
constexpr double kLongestSeconds = 1e9;              // of a job on one GPU: thirty years

// Of the devices of a cluster, in its order, as far as there are.
NodeSizes nodes_of(const ClusterSpec& cluster, int gpus) {
  NodeSizes nodes;
  for (const NodeGroup& group : cluster.nodes) {
    const NodeType& type = type_of(cluster, group);
    if (type.device_type != type_of(cluster, cluster.nodes.front()).device_type) {
      throw_bad_input(cluster.name +
                      ": its devices are of several types, and a job's time on one says nothing of "
                      "another\nhelp: share the GPUs of each type by themselves");
    }
    for (int n = 0; n < group.count && gpus > 0; ++n) {
      nodes.push_back(std::min(gpus, type.devices));
      gpus -= nodes.back();
    }
  }
  if (gpus > 0) {
    bad_option("--gpus",
               fmt::format("{} has {}", cluster.name, count_of(device_count(cluster), "GPU")),
               "give at most as many");
  }
  return nodes;
}

NodeSizes equal_nodes(int gpus, int per_node) {
  NodeSizes nodes;
  for (; gpus > 0; gpus -= nodes.back()) nodes.push_back(std::min(gpus, per_node));
  return nodes;
}

Duration time_of(const Job& job, Duration step) {
  const std::int64_t left = job.steps - job.done_steps;
  if (to_seconds(step) * static_cast<double>(left) > kLongestSeconds) {
    throw_bad_input(
        fmt::format("job \"{}\": {} of {} take more than thirty years\nhelp: give it "
                    "fewer steps",
                    job.name, count_of(left, "step"), to_text(step)));
  }
  return step * left;
}

// Of pages on which more GPUs are used and a step is shorter.
std::vector<GangOption> options_of(const Job& job, const PlanBook& book, int gpus) {
  std::vector<GangOption> options;
  for (const BookPage& page : book.pages) {
    if (!page.plan || page.plan->devices() > gpus) continue;
    GangOption option{page.plan->devices(), time_of(job, page.step_time), layout_line(*page.plan)};
    if (!options.empty() && option.runtime >= options.back().runtime) continue;
    if (!options.empty() && option.gpus == options.back().gpus) options.pop_back();
    options.push_back(std::move(option));
  }
  return options;
}

void put_measured(const Job& job, int gpus, std::vector<GangOption>& options) {
  for (const JobStepTime& time : job.step_times) {
    if (time.gpus > gpus) continue;
    GangOption option{time.gpus, time_of(job, time.step), "as the job file has it"};
    const auto place = std::find_if(options.begin(), options.end(), [&](const GangOption& other) {
      return other.gpus >= time.gpus;
    });
    if (place != options.end() && place->gpus == time.gpus) {
      option.words = place->words + " (time of the job file)";
      *place = std::move(option);
    } else {
      options.insert(place, std::move(option));
    }
  }
}

class Asking {
 public:
  Asking(const JobsFile& file, const MultiSettings& settings) : file_(file), settings_(settings) {
    if (settings.cluster) {
      cluster_ = load_cluster(*settings.cluster);
      add_input("cluster", cluster_->file);
    }
    if (!settings.gpus && !cluster_) required(settings.gpus, "--gpus", "--gpus 8");
    gpus_ = settings.gpus ? parse_int("--gpus", *settings.gpus, 1, kMostGpus)
                          : device_count(cluster_->value);
  }

  AskedMulti ask(const std::string& path) {
    for (const Job& job : file_.jobs) {
      if (!add(job, path)) return stopped();
    }
    set_nodes();
    set_links();
    if (settings_.seed) {
      asked_.question.seed = static_cast<std::uint64_t>(parse_int("--seed", *settings_.seed, 0));
    }
    for (std::size_t i = 0; i < file_.jobs.size(); ++i) set_running(file_.jobs[i], i, path);
    if (searched_ > 0) {
      asked_.notes.push_back(fmt::format(
          "Steps are predicted: a book of plans for up to {} was searched for {}.",
          count_of(gpus_, "GPU"), count_of(static_cast<std::int64_t>(books_.size()), "model")));
    }
    if (!spilled_.empty()) check_spilled();
    return std::move(asked_);
  }

 private:
  struct Searched {
    Question question;
    PlanBook book;
  };

  AskedMulti stopped() {
    asked_.complete = false;
    return std::move(asked_);
  }

  void add_input(std::string role, const InputFile& file) {
    asked_.inputs.push_back({std::move(role), file});
  }

  // False when a search was stopped.
  bool add(const Job& job, const std::string& path) {
    SharedModel model{job.name, {}, std::nullopt, job.wishes};
    std::string why_not;
    if (!job.model.empty()) {
      const Searched* searched = search_for(job);
      if (searched == nullptr) return false;
      model.options = options_of(job, searched->book, gpus_);
      why_not = searched->book.pages.back().why_not;
      if (model.options.empty() || model.options.front().gpus > 1) {
        add_spilled(job, searched->question, model);
      }
    } else if (!job.book.empty()) {
      const Loaded<PlanBook> book = load_plan_book(job.book);
      if (book.value.counts_types()) require_one_device_type(book, "penstock multi");
      add_input("book", book.file);
      model.options = options_of(job, book.value, gpus_);
      if (!cluster_) cluster_ = {book.value.cluster, book.file};
      why_not = "the smallest plan of its book takes more GPUs";
    }
    if (!job.plan.empty()) {
      const Loaded<PlanFile> plan = load_plan(job.plan);
      add_input("plan", plan.file);
      const int ranks = plan.value.plan.devices();
      if (ranks <= gpus_) {
        model.options = {
            {ranks, time_of(job, plan.value.prediction.step_time), layout_line(plan.value.plan)}};
      }
      why_not = fmt::format("its plan takes {}", count_of(ranks, "GPU"));
    }
    put_measured(job, gpus_, model.options);
    if (!job.units.empty()) {
      model.units = UnitTask{job.name, job.units, job.steps - job.done_steps};
    }
    if (model.options.empty() && !model.units) {
      throw_bad_input(fmt::format(
          "{}: job \"{}\" runs on none of 1 to {} GPUs: {}\nhelp: give more "
          "GPUs, or leave it out",
          path, job.name, gpus_, why_not.empty() ? "its step_times are of more" : why_not));
    }
    asked_.question.models.push_back(std::move(model));
    return true;
  }

  // Where one GPU is too small.
  void add_spilled(const Job& job, const Question& question, SharedModel& model) {
    const auto spilled = spilled_job(question, job.name, job.steps - job.done_steps);
    if (!spilled) return;
    (void)time_of(job, spilled->task.compute() / spilled->task.steps);
    spilled_.push_back(*spilled);
    if (spilled->task.executions() <= kMostSpilledUnits) {
      model.units = spilled->task;
      return;
    }
    // Too many units to replay: whole steps of it, by what two of them take more than one.
    UnitTask task = spilled->task;
    UnitRules rules;
    rules.keep_runs = false;
    task.steps = 1;
    const Duration first = replay_units({task}, 1, {}, rules).makespan;
    task.steps = 2;
    const Duration each = replay_units({task}, 1, {}, rules).makespan - first;
    model.options.insert(model.options.begin(),
                         {1, first + each * (spilled->task.steps - 1), spilled->words});
  }

  const Searched* search_for(const Job& job) {
    const std::tuple key(job.model, *job.global_batch, job.sequence_length.value_or(0));
    const auto known = books_.find(key);
    if (known != books_.end()) return &known->second;
    SearchOptions options;
    options.profile = job.model;
    options.cluster = settings_.cluster;
    options.device = settings_.device;
    options.threads = settings_.threads;
    options.trainer = settings_.trainer;
    options.gpus = std::to_string(gpus_);
    options.global_batch = std::to_string(*job.global_batch);
    if (job.sequence_length) options.sequence_length = std::to_string(*job.sequence_length);
    Question question = question_of(options);
    WatchedSearch watched(std::nullopt);
    std::optional<PlanBook> book = find_book(question, plan_set_sizes(gpus_), watched);
    if (!book) return nullptr;
    ++searched_;
    add_input("model", question.profile.file);
    if (!cluster_) cluster_ = question.cluster;
    return &books_.emplace(key, Searched{std::move(question), std::move(*book)}).first->second;
  }

  // GPUs that take units of several models need slots for the largest of them and room for what
  // works most, and the host holds all of them; of jobs that keep their GPU it holds one for each.
  void check_spilled() {
    leave_out_too_large();
    if (spilled_.empty()) return;
    Bytes slots, working, host, largest;
    for (const SpilledJob& job : spilled_) {
      slots = std::max(slots, job.slots);
      working = std::max(working, job.working);
      largest = std::max(largest, job.host);
      host += job.host;
    }
    const SpilledJob& first = spilled_.front();
    const auto jobs = static_cast<std::int64_t>(spilled_.size());
    asked_.notes.push_back(fmt::format("Spilled: {}, {} of {} GiB of a host.",
                                       count_of(jobs, "job"), gib(host), gib(first.host_memory)));
    if (slots + working <= first.capacity && host <= first.host_memory) return;
    asked_.notes.back() += " Not all at once, so that each keeps its GPU to its end.";
    for (SharedModel& model : asked_.question.models) {
      if (!model.units || is_listed(model.name)) continue;
      UnitRules rules;
      rules.keep_runs = false;
      model.options.insert(
          model.options.begin(),
          {1, replay_units({*model.units}, 1, asked_.question.links, rules).makespan,
           "spilled, on one GPU"});
      model.units.reset();
    }
  }
  // The host holds as many jobs at once as there are GPUs. The largest that several GPUs can run
  // are not spilled where it has no room; where none of them can, nothing is left to do.
  void leave_out_too_large() {
    std::vector<std::string> left_out;
    while (!spilled_.empty()) {
      const auto largest = std::max_element(
          spilled_.begin(), spilled_.end(),
          [](const SpilledJob& a, const SpilledJob& b) { return a.host < b.host; });
      const std::int64_t at_once =
          std::min<std::int64_t>(static_cast<std::int64_t>(spilled_.size()), gpus_);
      if (largest->host * at_once <= largest->host_memory) break;
      const auto gang = std::max_element(spilled_.begin(), spilled_.end(),
                                         [this](const SpilledJob& a, const SpilledJob& b) {
                                           return has_gang(b) && (!has_gang(a) || a.host < b.host);
                                         });
      if (!has_gang(*gang)) refuse_spilled(*largest, at_once);
      left_out.push_back(gang->task.name);
      remove_spilled(*gang);
      spilled_.erase(gang);
    }
    if (left_out.empty()) return;
    asked_.notes.push_back(
        fmt::format("Not spilled, since the host has no room for all of them at once: {}.",
                    joined(left_out, ", ")));
  }
  [[noreturn]] static void refuse_spilled(const SpilledJob& largest, std::int64_t at_once) {
    throw_bad_input(fmt::format(
        "{} spilled at once take {} of {} GiB of the host\nhelp: give --gpus {}, or a cluster "
        "whose host has more",
        count_of(at_once, "job"), gib(largest.host * at_once), gib(largest.host_memory),
        std::max<std::int64_t>(
            1, largest.host_memory.count / std::max<std::int64_t>(1, largest.host.count))));
  }
  SharedModel& model_of(const SpilledJob& job) {
    return *std::find_if(asked_.question.models.begin(), asked_.question.models.end(),
                         [&job](const SharedModel& model) { return model.name == job.task.name; });
  }
  // Whether the job can do without.
  bool has_gang(const SpilledJob& job) {
    const std::vector<GangOption>& options = model_of(job).options;
    return std::any_of(options.begin(), options.end(),
                       [&job](const GangOption& option) { return option.words != job.words; });
  }
  void remove_spilled(const SpilledJob& job) {
    SharedModel& model = model_of(job);
    model.units.reset();
    std::erase_if(model.options,
                  [&job](const GangOption& option) { return option.words == job.words; });
  }
  // Whether the job file itself has the units.
  bool is_listed(const std::string& name) const {
    return std::any_of(file_.jobs.begin(), file_.jobs.end(),
                       [&](const Job& job) { return job.name == name && !job.units.empty(); });
  }

  void set_nodes() {
    if (settings_.gpus_per_node) {
      const int per_node = parse_int("--gpus-per-node", *settings_.gpus_per_node, 1, kMostGpus);
      asked_.question.nodes = equal_nodes(gpus_, per_node);
    } else if (cluster_) {
      asked_.question.nodes = nodes_of(cluster_->value, gpus_);
    } else {
      asked_.question.nodes = {gpus_};
    }
  }

  void set_links() {
    HostLinks& links = asked_.question.links;
    if (cluster_) {
      const ClusterSpec& cluster = cluster_->value;
      if (const auto& host = type_of(cluster, cluster.nodes.front()).host) {
        links = {host->devices_per_link, host->duplex};
      }
    }
    links.gpus_per_link =
        parse_count("--gpus-per-link", settings_.gpus_per_link, 1, links.gpus_per_link, 1024);
    if (settings_.host_link) {
      links.duplex = parse_word<bool>("--host-link", *settings_.host_link,
                                      {{"duplex", true}, {"simplex", false}});
    }
  }

  void set_running(const Job& job, std::size_t index, const std::string& path) {
    asked_.running.emplace_back();
    if (job.running_on.empty()) return;
    const auto refuse = [&](const std::string& why) {
      throw_bad_input(
          fmt::format("{}: job \"{}\" {}\nhelp: correct its \"running_on\"", path, job.name, why));
    };
    if (job.running_on.back() >= gpus_) {
      refuse(fmt::format("runs on GPU {}, and there are {}", job.running_on.back(), gpus_));
    }
    const std::vector<GangOption>& options = asked_.question.models[index].options;
    const auto on = static_cast<int>(job.running_on.size());
    const auto option = std::find_if(options.begin(), options.end(),
                                     [on](const GangOption& each) { return each.gpus == on; });
    if (option == options.end()) {
      refuse(fmt::format("runs on {}, for which it has no plan and no step time",
                         count_of(on, "GPU")));
    }
    asked_.running.back() =
        RunningGang{job.running_on, static_cast<int>(option - options.begin()), option->runtime};
  }

  const JobsFile& file_;
  const MultiSettings& settings_;
  std::optional<Loaded<ClusterSpec>> cluster_;
  int gpus_ = 1;
  std::map<std::tuple<std::string, int, int>, Searched> books_;
  std::vector<SpilledJob> spilled_;
  int searched_ = 0;
  AskedMulti asked_;
};

}  // namespace

AskedMulti multi_question(const JobsFile& file, const std::string& path,
                          const MultiSettings& settings) {
  return Asking(file, settings).ask(path);
}

}  // namespace penstock
