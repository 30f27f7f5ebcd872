// Facts are data so that a new version of a trainer is a file and no code: which executor, which
// limits (core/values/trainer.h has a member for each key), and the names that its exporter and its
// rules ask for. Each key of the limits is read into its member; a sentence that says why something
// cannot be is itself the switch, so that no limit exists without its reason.
#include "trainers/trainer_facts.h"

#include <algorithm>
#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

template <class Value>
struct Word {
  std::string_view word;
  Value value;
};

template <class Value, std::size_t kCount>
Value one_of(const JsonReader& reader, const Word<Value> (&words)[kCount]) {
  const std::string text = reader.string();
  for (const Word<Value>& word : words) {
    if (word.word == text) return word.value;
  }
  reader.fail("unknown word '" + text + "'");
}

std::string text_or_nothing(JsonReader& reader, std::string_view key) {
  const auto found = reader.get(key);
  return found ? found->string() : "";
}

bool is_true(JsonReader& reader, std::string_view key) {
  const auto found = reader.get(key);
  return found && found->boolean();
}

std::vector<std::string> texts_of(const JsonReader& reader) {
  std::vector<std::string> texts;
  for (const JsonReader& element : reader.elements()) texts.push_back(element.string());
  return texts;
}

ExecutorModel executor_of(JsonReader reader, const std::string& name) {
  constexpr Word<TransferMode> kTransfers[] = {{"ideal", TransferMode::kAsync},
                                               {"sender-blocks", TransferMode::kSenderBlocks},
                                               {"rendezvous", TransferMode::kRendezvous}};
  constexpr Word<IssueOrder> kOrders[] = {{"eager", IssueOrder::kEager},
                                          {"deepspeed", IssueOrder::kDeepSpeed}};
  ExecutorModel executor;
  const JsonReader transfers = reader.at("transfers");
  executor.transfer = one_of(transfers, kTransfers);
  if (const auto order = reader.get("order")) executor.issue = one_of(*order, kOrders);
  executor.name = transfers.string() + " (as " + name + ")";
  reader.finish();
  return executor;
}

void read_schedules(JsonReader& limits, Trainer& trainer) {
  constexpr Word<TrainerSchedules> kKinds[] = {{"static csv", TrainerSchedules::kStaticCsv},
                                               {"own runtime", TrainerSchedules::kOwnRuntime}};
  const JsonReader schedules = limits.at("schedules");
  if (schedules.value().kind() == Json::Kind::kArray) {
    trainer.schedule_names = texts_of(schedules);
  } else {
    trainer.schedules = one_of(schedules, kKinds);
  }
  trainer.why_no_other_schedule = text_or_nothing(limits, "why_no_other_schedule");
  trainer.why_no_divided_backward = text_or_nothing(limits, "why_no_divided_backward");
  trainer.only_two_in_v = is_true(limits, "only_two_in_v");
  trainer.has_megatron_groups = is_true(limits, "has_megatron_groups");
}

void read_sharding(JsonReader& limits, Trainer& trainer) {
  constexpr Word<Sharding> kShardings[] = {
      {"zero2", Sharding::kGradients}, {"zero3", Sharding::kParameters}, {"fsdp", Sharding::kFsdp}};
  if (const auto list = limits.get("shardings")) {
    for (const JsonReader& each : list->elements()) {
      trainer.shardings.push_back(one_of(each, kShardings));
    }
  }
  trainer.has_context = is_true(limits, "has_context");
  constexpr Word<ContextKind> kKinds[] = {{"ring", ContextKind::kRing},
                                          {"all_gather", ContextKind::kAllGather},
                                          {"ulysses", ContextKind::kUlysses}};
  if (const auto list = limits.get("context_kinds")) {
    trainer.context_kinds.clear();
    for (const JsonReader& each : list->elements()) {
      trainer.context_kinds.push_back(one_of(each, kKinds));
    }
  }
  trainer.has_experts = is_true(limits, "has_experts");
  trainer.offloads_optimizer = is_true(limits, "offloads_optimizer");
  trainer.shards_state_alone = !is_true(limits, "no_zero1");
}

void read_recompute(JsonReader& limits, Trainer& trainer) {
  constexpr Word<DividedRecompute> kDivided[] = {{"refused", DividedRecompute::kRefused},
                                                 {"per stage", DividedRecompute::kPerStage},
                                                 {"one number", DividedRecompute::kOneNumber}};
  if (const auto modes = limits.get("recompute_modes")) trainer.recompute_modes = texts_of(*modes);
  trainer.why_no_other_mode = text_or_nothing(limits, "why_no_other_mode");
  trainer.divided_recompute = one_of(limits.at("divided_recompute"), kDivided);
}

void read_layers(JsonReader& limits, Trainer& trainer) {
  constexpr Word<LayerOnStage> kStages[] = {{"inner stages", LayerOnStage::kInnerStages},
                                            {"all stages", LayerOnStage::kAllStages}};
  constexpr int kMostBehind = 1000;
  trainer.counts_layers = is_true(limits, "counts_layers");
  trainer.why_whole_front = text_or_nothing(limits, "why_whole_front");
  if (const auto most = limits.get("most_behind")) {
    trainer.most_behind = static_cast<int>(most->integer(0, kMostBehind));
  }
  if (const auto stages = limits.get("layer_on")) trainer.layer_on = one_of(*stages, kStages);
  trainer.why_a_layer = text_or_nothing(limits, "why_a_layer");
}

}  // namespace

Trainer trainer_of_facts(const Json& facts, const std::string& file, std::string name,
                         std::string title) {
  Trainer trainer;
  JsonReader reader(facts, file);
  trainer.executor = executor_of(reader.at("executor"), name);
  trainer.name = std::move(name);
  trainer.title = std::move(title);
  JsonReader limits = reader.at("limits");
  read_schedules(limits, trainer);
  trainer.equal_replicas = is_true(limits, "equal_replicas");
  trainer.why_no_tensor = text_or_nothing(limits, "why_no_tensor");
  trainer.why_no_single_replica = text_or_nothing(limits, "why_no_single_replica");
  read_sharding(limits, trainer);
  read_recompute(limits, trainer);
  read_layers(limits, trainer);
  limits.finish();
  return trainer;
}

const Json& fact(const Json& facts, std::string_view key) {
  const Json* found = facts.find(key);
  if (found == nullptr) {
    throw Error(ErrorKind::kInternal, "a trainer's facts have no '" + std::string(key) + "'");
  }
  return *found;
}

const std::string& fact_text(const Json& facts, std::string_view key) {
  return fact(facts, key).text();
}

bool has_fact(const Json& facts, std::string_view key, std::string_view word) {
  const std::vector<Json>& all = fact(facts, key).elements();
  return std::any_of(all.begin(), all.end(), [&](const Json& one) { return one.text() == word; });
}

std::vector<std::string_view> fact_names(const Json& facts, std::string_view key) {
  std::vector<std::string_view> names;
  for (const Json& one : fact(facts, key).elements()) names.push_back(one.text());
  return names;
}

}  // namespace penstock
