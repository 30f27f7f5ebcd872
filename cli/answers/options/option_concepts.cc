// A row per idea: the words that people have for it, and what is said of it to verbs that have an
// option for it, and to all others. That row is said which knows most of a name's words.
#include "cli/answers/options/option_concepts.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "cli/words/field_words.h"
#include "cli/words/longest_name.h"
#include "report/words.h"

namespace penstock {
namespace {

// Of the options that an answer names a verb's own are told by what they do, unless `help` says it
// better; {X} in it is the value, where one was typed.
struct ConceptAnswer {
  std::string_view options;  // of any verb; empty: said to all
  std::string_view help;     // empty: what the options do
};

struct Concept {
  std::string_view words;                // in the singular; "run-id" is a whole name
  std::array<ConceptAnswer, 4> answers;  // the first that the verb has one of the options of
};

constexpr std::array kConcepts{
    Concept{
        "log logging logger logdir wandb tensorboard mlflow comet neptune tracker tb report-to "
        "run-id run-name run-dir experiment project entity",
        {{{"--log --tensorboard", ""},
          {"",
           "leave it out: nothing is sent to a tracker or read from one; logs are files: penstock "
           "train ... --log run.jsonl writes one, penstock validate plan.json train.log reads one "
           "(also Megatron-LM's and torchtitan's, docs/importing.md)"}}}},
    Concept{"level log-level loglevel debug verbosity verbose info",
            {{{"--verbose", ""}, {"", "leave it out: there is no other output than this"}}}},
    Concept{
        "query jq jsonpath jmespath field column select filter grep where template raw indent "
        "pretty compact human yaml toml xml wide long detail header no-header dump unit in-ms csv",
        {{{"--format",
           "what is printed is chosen by --format text, csv, markdown or json; a part of it by "
           "other programs, as in --json | jq ."},
          {"--json",
           "leave it out: programs read --json, and take a part of it, as in --json | jq ."}}}},
    Concept{"min max minimum maximum least most range bound lower upper from to",
            {{{"--every-candidate",
               "several numbers of GPUs are --gpus 8..64; degrees are fixed by --pin K=N,..., and "
               "penstock compare ... --vary KEY=A,B plans for several values"},
              {"--window --jitter --why-not --to",
               "leave it out: a plan file has one number of GPUs; penstock plan ... --gpus 8..64 "
               "-o book.json plans for many"}}}},
    Concept{
        "skip-first skip discard warmup warm drop burn-in first",
        {{{"--tolerance-percent", "write --warm-up {N}, the steps to ignore at the beginning"}}}},
    Concept{"first last head tail limit row page offset all entry",
            {{{"--top", ""}, {"", "leave it out: all there is is printed; | head shortens it"}}}},
    Concept{"count number amount quantity how-many replica",
            {{{"--gpus", ""},
              {"--window --jitter --why-not --to --run-device",
               "a plan file is for its GPUs; penstock plan ... --device NAME --gpus N plans for "
               "others"}}}},
    Concept{
        "dpi ppi figsize width height resolution pdf jpg jpeg eps vector figure fig font fontsize "
        "size scale legend theme dark style",
        {{{"--window",
           "a picture is -o step.svg (or .png), which can be scaled to any size; --window shows a "
           "part of the step"},
          {"",
           "a report is a page, which a browser prints to PDF; a picture of the step is an SVG, "
           "which can be scaled to any size: penstock trace plan.json -o step.svg (or .png)"}}}},
    Concept{
        "config-file config-name config-dir config cfg conf setting var-file values tfvars "
        "override args-file args-from arguments-file arg-file argfile flagfile response-file "
        "options-file",
        {{{"",
           "leave it out: no file of settings is read, all is said on the command line; penstock "
           "check FILE judges a trainer's own configuration"}}}},
    Concept{
        "script entrypoint module python command cmd exec launcher elastic standalone rdzv "
        "rendezvous master hostfile host machine-rank main-process ip port addr address backend",
        {{{"--master --ranks-here", ""},
          {"--store", ""},
          {"--manager", ""},
          {"",
           "leave it out: no job is started here, so nothing has an address; penstock export "
           "plan.json --to megatron -o job writes the launch script, and torchrun or srun starts "
           "it"}}}},
    Concept{
        "provider cloud region zone availability subscription tenant credential aws gcp azure "
        "vendor sso iam catalog",
        {{{"--match",
           "no cloud is asked, prices are read from a file: penstock import skypilot vms.csv "
           "--region us-east-1 --cluster cluster.json -o priced.json, where vms.csv is SkyPilot's "
           "catalog"},
          {"--cloud", ""},
          {"",
           "leave it out: no cloud is asked; a catalog's prices are put into a cluster file by "
           "penstock import skypilot vms.csv --region us-east-1 --cluster cluster.json -o "
           "priced.json"}}}},
    Concept{
        "spot preemption preemptible interruption eviction evict failure mttf mtbf fault",
        {{{"--mtbf-hours",
           "leave it out: GPUs that fail or are taken away are counted by --mtbf-hours H, the mean "
           "time between failures of one GPU, with --tokens N; penstock morph --book book.json "
           "--trace trace.csv replays a recording of GPUs that come and go"},
          {"",
           "GPUs that come and go are replayed by penstock morph --book book.json --trace "
           "trace.csv; penstock plan ... --tokens N --mtbf-hours H counts failures"}}}},
    Concept{
        "namespace replica image container env environment volume mount label annotation secret "
        "service pod deployment restart-policy restart entrypoint shm ulimit rm detach privileged "
        "workdir runtime platform tag tty kubeconfig slurm sbatch retry retries attempt partition "
        "account qos gre gres "
        "constraint reservation nodelist array dependency exclusive walltime cpus-per-task "
        "mem-per-cpu job-name mail email requeue nice time setup autostop disk name",
        {{{"",
           "leave it out: nothing is asked of Slurm, a cloud or a container here; penstock export "
           "plan.json --to megatron -o job writes run.sh, job.sbatch and sky.yaml, in which their "
           "settings are edited"}}}},
    Concept{
        "dryrun dry-run dry simulate",
        {{{"--labels",
           "penstock simulate plan.json replays the step without training; --steps 2 trains two"},
          {"", "leave it out: a question is answered, and no job is started"}}}},
    Concept{
        "yes y force auto-approve approve confirm assume-yes no-input interactive prompt overwrite "
        "clobber lock backup in-place no-verify",
        {{{"--output", "leave it out: nothing is asked; -o FILE writes the file anew"},
          {"", "leave it out: nothing is asked before it is done"}}}},
    Concept{
        "follow watch live poll wait refresh",
        {{{"--watch", ""},
          {"--at --in",
           "leave it out: the manager is told, and answers; penstock status job.json --watch "
           "shows what becomes of it"},
          {"",
           "leave it out: the question is answered once; a job that runs is watched by penstock "
           "status job.json --watch"}}}},
    Concept{"percentile quantile confidence sigma stddev std variance noise jitter trial p50 "
            "p99",
            {{{"--jitter --samples", ""},
              {"",
               "leave it out: step times are printed with their range; penstock simulate plan.json "
               "--jitter samples steps that vary"}}}},
    Concept{
        "step-time elapsed iteration-time time-per-step ms-per-step",
        {{{"--measured",
           "write --measured \"TP=4 PP=4 mbs=1 gbs=128: {14.66s}\": the layout of the run that "
           "you measured, a colon and the time of its step"},
          {"",
           "one time of a step is told to a prediction, after the layout that ran: penstock "
           "predict "
           "config.json --device h100-sxm --layout \"TP=4 PP=4 mbs=1 gbs=128\" --measured \"TP=4 "
           "PP=4 mbs=1 gbs=128: {14.66s}\"; the log of a run goes to penstock validate plan.json "
           "train.log"}}}},
    Concept{
        "throughput tflop flop mfu hfu tps speed "
        "tokens-per-second samples-per-second tokens-per-sec efficiency",
        {{{"--measured",
           "speed is what is predicted; a step that you measured corrects it: --measured \"TP=4 "
           "PP=4 mbs=1 gbs=128: 14.66s\", its layout and its time"},
          {"",
           "speed is what is predicted, for a plan by penstock simulate plan.json; the time of a "
           "step that you measured goes to penstock predict ... --measured, the log of a run to "
           "penstock validate plan.json train.log"}}}},
    Concept{
        "oom peak fit memory mem vram hbm allocated",
        {{{"--layout --pin",
           "leave it out: whether it fits is printed, with the memory of the fullest rank; "
           "--memory-limit GIB is the most that a rank may hold"},
          {"",
           "penstock simulate plan.json prints the memory of every rank; a plan whose ranks hold "
           "no more than so many GiB is made by penstock plan ... --memory-limit GIB"}}}},
    Concept{
        "why slow bottleneck critical reason cause problem analyze analysis diagnose hotspot "
        "advice suggest recommend hint improve breakdown explain",
        {{{"--why-not",
           "leave it out: penstock explain prints what limits the step and what would make it "
           "faster; of a run that you measured penstock validate plan.json train.log says where "
           "it is slower"},
          {"",
           "penstock explain plan.json says what limits the step and what would make it faster; "
           "penstock validate plan.json train.log where a measured run is slower"}}}},
    Concept{
        "minimize maximize objective goal metric cheapest fastest optimize rank-by",
        {{{"",
           "plans are ranked by step time, with memory and price beside it: penstock plan ... -v "
           "marks those that no other beats in all three"}}}},
    Concept{
        "seed random deterministic reproducible",
        {{{"",
           "leave it out: nothing is random here, and the same question has the same answer"}}}},
    Concept{
        "thread worker job cpu core concurrency",
        {{{"--threads --planner-threads --threads-per-rank", ""},
          {"",
           "leave it out: only searches take several threads: penstock plan ... --threads N"}}}},
    Concept{
        "timeout time-limit max-time",
        {{{"--time-out --budget", ""},
          {"",
           "leave it out: only searches have a limit of time: penstock plan ... --budget 30s"}}}},
    Concept{
        "remote remote-host ssh sky ssh-host user-host context kube-context",
        {{{"--links",
           "leave it out: a model is measured on the machine where this runs: build Penstock with "
           "LibTorch there (docs/gpu.md), run penstock profile there with -o profile.json, and "
           "copy "
           "profile.json here"},
          {"--manager", ""},
          {"",
           "leave it out: all is computed on this machine, and no other one is asked; penstock "
           "export plan.json --to megatron -o job writes files that are copied to where they "
           "run"}}}},
    Concept{
        "cache cache-dir offline online hub revision branch commit trust-remote-code "
        "api-key api download endpoint proxy hf hf-model hf-token local-files-only registry auth "
        "password login",
        {{{"--store --plans-from", ""},
          {"--key", ""},
          {"",
           "leave it out: no hub is asked, and nothing is kept between two runs; a model is the "
           "config.json that lies here"}}}},
    Concept{
        "list available supported list-devices devices-list list-schedules show-gpus known",
        {{{"",
           "penstock plan config.json --device list names the GPUs, penstock schedule --help the "
           "schedules, and data/models, data/profiles and data/clusters hold files"}}}},
    Concept{"gui serve server web dashboard browser open ui http notebook show display",
            {{{"",
               "leave it out: nothing is served; penstock report plan.json -o report.html writes a "
               "page, which a browser opens"}}}},
    Concept{"description comment note tag author user owner message title alias notify slack",
            {{{"--title", ""},
              {"", "leave it out: it changes nothing that is computed, and nobody is told"}}}},
    Concept{"checkpoint ckpt save resume restore load snapshot save-dir",
            {{{"--mtbf-hours",
               "leave it out: nothing is trained here; what checkpoints cost is counted by "
               "--checkpoint-minutes T and --mtbf-hours H, with --tokens N"},
              {"",
               "leave it out: nothing is trained here; penstock train plan.json --data FILE "
               "--checkpoints FOLDER writes checkpoints"}}}},
    Concept{"tolerance threshold epsilon rtol atol strict fail exit exit-code werror "
            "detailed-exitcode",
            {{{"--tolerance-percent --exit-zero", ""},
              {"",
               "leave it out: the exit code says it: 0 done, 1 it does not fit, 2 a mistake in the "
               "command or in a file"}}}},
    Concept{"merge append recursive include exclude combine concat",
            {{{"", "leave it out: each file is named by itself, and -o FILE writes it anew"}}}},
    Concept{"layer block stage virtual rank chunk",
            {{{"--window --jitter --why-not --tolerance-percent",
               "leave it out: all stages and ranks of a replica are shown"}}}},
    Concept{"stat statistic summary",
            {{{"--json", "leave it out: that is what is printed; --json has all figures"}}}},
};

std::vector<std::string> parted(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// The share of the words of a name that a concept has; 1 where it has the name as a whole.
double share_of(const Concept& row, const std::string& whole,
                const std::vector<std::string>& words) {
  const std::vector<std::string> own = parted(row.words);
  const auto has = [&own](const std::string& word) {
    return std::find(own.begin(), own.end(), word) != own.end();
  };
  if (has(whole)) return 1.0;
  if (whole.starts_with("min-") || whole.starts_with("max-")) return 0.0;  // a bound of it
  const auto count = std::count_if(words.begin(), words.end(), has);
  return static_cast<double>(count) / static_cast<double>(words.size());
}

// "--log FILE: write one line of JSON per step".
std::vector<std::string> own_options(std::string_view names, const WordIndex& index) {
  std::vector<std::string> shown;
  for (const std::string& name : parted(names)) {
    for (const OptionRow& option : index.rows()) {
      if (!option.positional && option.names.back() == name) shown.push_back(option_shown(option));
    }
  }
  return shown;
}

std::string verb_of(const WordIndex& index) {
  return index.usage().substr(0, index.usage().find(' '));
}

// What the row says to the verb; empty where it has nothing for it.
std::string said_of(const Concept& row, const std::string& value, const WordIndex& index) {
  for (const ConceptAnswer& answer : row.answers) {
    if (answer.options.empty()) return with_value(std::string(answer.help), value);
    const std::vector<std::string> own = own_options(answer.options, index);
    if (own.empty()) continue;
    if (!answer.help.empty()) return with_value(std::string(answer.help), value);
    return fmt::format("penstock {} has for it {}", verb_of(index), joined(own, "; and "));
  }
  return "";
}

}  // namespace

std::optional<ConceptMeant> concept_meant(std::string_view typed, const std::string& value,
                                          const WordIndex& index) {
  if (typed.empty() || typed.size() > kLongestName) return {};
  const std::string whole = plain_word(typed);
  std::vector<std::string> words = content_words(typed);
  if (words.empty()) words = {whole};
  constexpr double kLeast = 0.3;
  double best = kLeast;
  std::optional<ConceptMeant> meant;
  for (const Concept& row : kConcepts) {
    const double share = share_of(row, whole, words);
    if (share <= best) continue;
    std::string help = said_of(row, value, index);
    if (help.empty()) continue;
    best = share;
    meant = ConceptMeant{std::move(help), share == 1.0};
  }
  return meant;
}

std::string options_by_heading(const WordIndex& index) {
  constexpr std::size_t kMostShown = 3, kMostNames = 3;
  const std::string verb = verb_of(index);
  std::vector<const OptionRow*> own;
  for (const OptionRow& row : index.rows()) {
    if (!row.positional && row.names.back() != "--help" && row.names.back() != "--color") {
      own.push_back(&row);
    }
  }
  if (own.empty()) return fmt::format("leave it out: that is all: penstock {}", index.usage());
  if (own.size() <= kMostShown) {
    std::vector<std::string> shown;
    shown.reserve(own.size());
    for (const OptionRow* row : own) shown.push_back(option_shown(*row));
    return fmt::format("leave it out: penstock {} has {}", verb, joined(shown, "; and "));
  }
  struct Part {
    std::string heading;
    std::vector<std::string> names;
  };
  std::vector<Part> parts;
  for (const OptionRow* row : own) {
    std::string heading = row->heading.substr(0, row->heading.find_first_of(";("));
    if (heading.ends_with(' ')) heading.pop_back();
    if (parts.empty() || parts.back().heading != heading) parts.push_back({heading, {}});
    parts.back().names.push_back(row->names.back());
  }
  constexpr std::size_t kMostParts = 4, kMostOfOne = 12;
  const std::size_t most = parts.size() == 1 ? kMostOfOne : kMostNames;
  std::vector<std::string> shown;
  for (Part& part : parts) {
    if (shown.size() == kMostParts) break;
    const bool has_more = part.names.size() > most;
    if (has_more) part.names.resize(most);
    const std::string list = joined(part.names, ", ") + (has_more ? ", ..." : "");
    shown.push_back(parts.size() == 1 ? list : fmt::format("{}: {}", part.heading, list));
  }
  return fmt::format(
      "nothing here is called so, leave it out: penstock {} has {} (penstock {} --help explains "
      "all)",
      verb, joined(shown, "; "), verb);
}

}  // namespace penstock
