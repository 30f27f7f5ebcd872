#include "cli/options/train_settings.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

TrainSettings settings_of(const Arguments& arguments) {
  TrainSettings settings;
  Options options("train", "", "");
  settings.declare(options);
  static_cast<void>(options.parse(arguments, {}));
  return settings;
}

TrainOptions options_of(const Arguments& arguments) {
  return settings_of(arguments).train_options();
}

std::string refusal(const Arguments& arguments) {
  return tests::message_of([&] { static_cast<void>(options_of(arguments)); });
}

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_CASE("without options a run takes the defaults") { CHECK(options_of({}) == TrainOptions{}); }

TEST_CASE("a virtual rank is slowed from a step on") {
  const auto slow = settings_of({"--virtual", "--try-slow", "3:1.3@100", "--try-slow", "0:2"})
                        .slow_ranks_to_try();
  REQUIRE(slow.size() == 2);
  CHECK(slow.at(3).first_step == 100);
  CHECK(slow.at(3).factor == Factor{1'300'000});
  CHECK(slow.at(0).first_step == 0);
  CHECK(refusal({"--try-slow", "3:1.3"}).find("only virtual ranks can be slowed") !=
        std::string::npos);
  CHECK(refusal({"--virtual", "--try-slow", "3"}).find("is not RANK:FACTOR") != std::string::npos);
  CHECK(refusal({"--virtual", "--try-slow", "3@1:2"}).find("is not RANK:FACTOR") !=
        std::string::npos);
  CHECK(refusal({"--virtual", "--try-slow", "3:0.5"}).find("'0.5' is not a factor") !=
        std::string::npos);
  CHECK(refusal({"--virtual", "--try-slow", "3:2", "--try-slow", "3:2"}).find("named twice") !=
        std::string::npos);
}

TEST_CASE("slow ranks are looked for by Varuna's rule, unless told otherwise") {
  CHECK_FALSE(settings_of({}).slow_watch().rule());
  CHECK(settings_of({"--slow-ranks"}).slow_watch().rule() == SlowRule{});
  const SlowRule rule = *settings_of({"--slow-percent", "20", "--slow-window", "5"})  //
                             .slow_watch()
                             .rule();
  CHECK(rule.threshold == doctest::Approx(0.2));
  CHECK(rule.window == 5);
  CHECK(settings_of({"--slow-machines", "slow.out"}).slow_watch().rule());
  CHECK(options_of({"--slow-ranks"}).watch_ranks);
}

TEST_CASE("what is given reaches the run") {
  const TrainOptions options = options_of({"--data",
                                           "corpus.txt",
                                           "--steps",
                                           "50",
                                           "--learning-rate",
                                           "0.01",
                                           "--weight-decay",
                                           "0.1",
                                           "--clip-norm",
                                           "1",
                                           "--seed",
                                           "7",
                                           "--transport",
                                           "loopback",
                                           "--threads-per-rank",
                                           "2",
                                           "--no-pinning",
                                           "--time-out",
                                           "5s",
                                           "--log",
                                           "run.jsonl",
                                           "--timeline",
                                           "--checkpoints",
                                           "ckpt",
                                           "--checkpoint-every",
                                           "10",
                                           "--checkpoint-keep",
                                           "3",
                                           "--resume",
                                           "--may-change",
                                           "data,seed"});
  CHECK(options.data.files == std::vector<std::string>{"corpus.txt"});
  CHECK(options.steps == 50);
  CHECK(options.training.learning_rate == 0.01);
  CHECK(options.training.weight_decay == 0.1);
  CHECK(options.training.clip_norm == 1.0);
  CHECK(options.training.seed == 7);
  CHECK(options.transport == TransportKind::kLoopback);
  CHECK(options.threads_per_rank == 2);
  CHECK_FALSE(options.pin_threads);
  CHECK(options.time_out == std::chrono::seconds(5));
  CHECK(options.log == "run.jsonl");
  CHECK(options.timeline);
  CHECK(options.checkpoint_folder == "ckpt");
  CHECK(options.checkpoint_every == 10);
  CHECK(options.checkpoint_keep == 3);
  CHECK(options.resume);
  CHECK(options.may_change == std::vector<std::string>{"data", "seed"});
}

TEST_CASE("the interval of checkpoints is a number of steps, or follows from losses") {
  CHECK(!options_of({"--checkpoints", "c", "--checkpoint-every", "7"}).between_failures);
  const TrainOptions options = options_of({"--checkpoints", "c", "--checkpoint-every", "auto"});
  CHECK(options.checkpoint_every == 0);
  CHECK(options.between_failures == std::chrono::hours(3));
  CHECK(
      options_of({"--checkpoints", "c", "--checkpoint-every", "auto", "--between-failures", "90s"})
          .between_failures == std::chrono::seconds(90));
  CHECK(refusal({"--checkpoints", "c", "--between-failures", "90s"}) ==
        "--between-failures: the interval is not worked out\nhelp: add --checkpoint-every auto");
  CHECK(
      refusal({"--checkpoints", "c", "--checkpoint-every", "auto", "--between-failures", "1ms"}) ==
      "--between-failures: expected at least 1s, got 1ms\nhelp: a job that is lost more often "
      "makes no progress");
}

TEST_CASE("a schedule of the learning rate, and the optimizer's numbers") {
  const TrainingOptions options =
      options_of({"--steps", "100", "--learning-rate", "3e-4", "--lr-schedule", "cosine",
                  "--warmup-steps", "10", "--min-lr", "3e-5", "--beta1", "0.8", "--beta2", "0.99",
                  "--eps", "1e-6", "--momentum", "0.9"})
          .training;
  CHECK(options.schedule == LearningRateSchedule::kCosine);
  CHECK(options.warmup_steps == 10);
  CHECK(options.decay_steps == 100);
  CHECK(options.least_learning_rate == 3e-5);
  CHECK(options.beta1 == 0.8);
  CHECK(options.beta2 == 0.99);
  CHECK(options.epsilon == 1e-6);
  CHECK(options.momentum == 0.9);
  CHECK(options_of({"--lr-schedule", "linear", "--lr-decay-steps", "70"}).training.decay_steps ==
        70);
}

TEST_CASE("schedules that make no sense are refused") {
  CHECK(refusal({"--lr-schedule", "cosin"}) ==
        "--lr-schedule: unknown schedule 'cosin'\nhelp: did you mean 'cosine'?");
  CHECK(refusal({"--min-lr", "1e-5"}) ==
        "--min-lr: a constant learning rate does not fall\nhelp: add --lr-schedule cosine or "
        "linear, or leave it out");
  CHECK(refusal({"--lr-schedule", "linear", "--min-lr", "0.01"}) ==
        "--min-lr: 0.01 is more than the learning rate, 0.001\nhelp: give a higher "
        "--learning-rate");
  CHECK(refusal({"--lr-schedule", "linear", "--steps", "20", "--warmup-steps", "20"}) ==
        "--warmup-steps: the warm-up ends at step 20, and the learning rate has fallen to its "
        "least at step 20\nhelp: warm up for fewer steps, or give more --steps or "
        "--lr-decay-steps");
  CHECK(refusal({"--beta1", "1"}) == "--beta1: expected less than 1, got 1\nhelp: 0.9 is usual");
}

TEST_CASE("numbers of another optimizer are refused") {
  const auto refused = [](const Arguments& arguments, OptimizerKind kind) {
    return tests::message_of([&] { settings_of(arguments).require_optimizer(kind); });
  };
  CHECK(refused({"--momentum", "0.9"}, OptimizerKind::kAdamW) ==
        "--momentum: the plan's model is trained with AdamW\nhelp: its momentum is --beta1; or "
        "profile the model with --optimizer sgd");
  CHECK(refused({"--beta2", "0.9"}, OptimizerKind::kSgd)
            .starts_with("--beta2: the plan's model is trained with SGD"));
  CHECK(refused({"--momentum", "0.9"}, OptimizerKind::kSgd).empty());
}

TEST_CASE("a resumed run keeps the checkpoint's schedule, and says when it ends elsewhere") {
  TrainingOptions there;
  there.schedule = LearningRateSchedule::kCosine;
  there.decay_steps = 100;
  there.warmup_steps = 5;
  const TrainSettings longer = settings_of({"--steps", "200", "--min-lr", "1e-5"});
  const TrainingOptions merged = longer.training(there);
  CHECK(merged.decay_steps == 100);
  CHECK(merged.least_learning_rate == 1e-5);
  CHECK(longer.note_on_schedule(merged) ==
        "the learning rate falls until step 100, as the checkpoint says, and the run ends at step "
        "200; --lr-decay-steps changes that");
  CHECK(settings_of({"--steps", "100"}).note_on_schedule(merged).empty());
  CHECK(settings_of({"--lr-schedule", "constant"}).training(there).decay_steps == 0);
}

TEST_CASE("evaluations need data, and data to judge by need a time") {
  const TrainOptions options =
      options_of({"--validation-data", "v.bin", "--eval-every", "100", "--eval-batches", "4"});
  CHECK(options.data.validation_files == std::vector<std::string>{"v.bin"});
  CHECK(options.evaluation == EvaluationOptions{100, 4});
  CHECK(
      options_of({"--validation-fraction", "0.1", "--eval-every", "5"}).data.validation_fraction ==
      0.1);
  CHECK(refusal({"--eval-every", "5"}) ==
        "--eval-every: there are no validation data\nhelp: add --validation-data FILE "
        "or --validation-fraction 0.01");
  CHECK(refusal({"--validation-data", "v"}) ==
        "--validation-data: nothing says when to evaluate\nhelp: add --eval-every 100");
  CHECK(refusal({"--validation-data", "v", "--validation-fraction", "0.1"}) ==
        "--validation-fraction: --validation-data says already what to judge by\nhelp: leave out "
        "one of the two");
}

TEST_CASE("several files of token ids, of one type") {
  const TrainOptions options =
      options_of({"--data", "a.bin", "--data", "b.bin", "--dtype", "int32"});
  CHECK(options.data.files == std::vector<std::string>{"a.bin", "b.bin"});
  CHECK(options.data.type == TokenType::kInt32);
  CHECK(refusal({"--data", "a.bin", "--dtype", "int23"}) ==
        "--dtype: unknown type 'int23'\nhelp: did you mean 'int32'?");
}

TEST_CASE("what was not given of the optimizer is as it was otherwise") {
  TrainingOptions before;
  before.learning_rate = 0.5;
  before.clip_norm = 2.0;
  before.beta2 = 0.99;
  before.seed = 7;
  const TrainingOptions options =
      settings_of({"--clip-norm", "1", "--weight-decay", "0.1"}).training(before);
  CHECK(options.learning_rate == 0.5);
  CHECK(options.weight_decay == 0.1);
  CHECK(options.clip_norm == 1.0);
  CHECK(options.beta2 == 0.99);
  CHECK(options.seed == 7);
}

TEST_CASE("ranks that sleep take steps, stretch, time-out and a log, and refuse the rest") {
  const Arguments sleeping{"--virtual"};
  CHECK(refusal(with(sleeping, {"--steps", "3", "--stretch", "2", "--time-out", "9s", "--log",
                                "run.jsonl", "--timeline"}))
            .empty());
  CHECK(settings_of({"--virtual", "--stretch", "2"}).stretch() == 2);
  const std::string help = "\nhelp: leave it out; or leave out --virtual, to train";
  CHECK(refusal({"--virtual", "--data", "x"}) ==
        "--data: ranks of --virtual train no model" + help);
  CHECK(refusal({"--virtual", "--device", "cpu"}) ==
        "--device: with --virtual all ranks of the plan are threads of this process" + help);
  CHECK(refusal({"--virtual", "--checkpoints", "x"}) ==
        "--checkpoints: ranks of --virtual have no weights to keep" + help);
  for (const Arguments& ignored : std::vector<Arguments>{{"--learning-rate", "1"},
                                                         {"--weight-decay", "1"},
                                                         {"--clip-norm", "1"},
                                                         {"--seed", "1"},
                                                         {"--transport", "gloo"},
                                                         {"--threads-per-rank", "1"},
                                                         {"--no-pinning"},
                                                         {"--rank", "0"},
                                                         {"--local-rank", "0"},
                                                         {"--master", "a:1"},
                                                         {"--checkpoint-every", "1"},
                                                         {"--checkpoint-keep", "1"},
                                                         {"--resume"},
                                                         {"--may-change", "seed"}}) {
    const std::string why = refusal(with(sleeping, ignored));
    CHECK(why.starts_with(ignored[0] + ": "));
    CHECK(why.ends_with(help));
  }
}

TEST_CASE("ranks that sleep have a number only to choose the plan of a book") {
  const TrainSettings settings = settings_of({"--virtual", "--ranks", "2"});
  CHECK(refusal({"--virtual", "--ranks", "2"}).empty());
  CHECK(tests::message_of([&] {
          settings.refuse_number_of_ranks();
        }).starts_with("--ranks: with --virtual"));
}

TEST_CASE("an option that nothing would look at is refused, with what it needs") {
  CHECK(refusal({"--stretch", "2"}) ==
        "--stretch: only virtual ranks can be slowed down\nhelp: add --virtual");
  CHECK(refusal({"--timeline"}) ==
        "--timeline: the timeline is written to the log, and there is none\nhelp: add --log "
        "run.jsonl");
  for (const Arguments& kept : std::vector<Arguments>{
           {"--resume"}, {"--checkpoint-every", "1"}, {"--checkpoint-keep", "1"}}) {
    CHECK(refusal(kept) ==
          kept[0] + ": there is no folder for checkpoints\nhelp: add --checkpoints FOLDER");
  }
  CHECK(refusal({"--checkpoints", "ckpt", "--may-change", "seed"}) ==
        "--may-change: nothing is resumed, so there is no checkpoint to differ from\nhelp: add "
        "--resume");
  for (const Arguments& place : std::vector<Arguments>{
           {"--rank", "0"}, {"--ranks", "2"}, {"--local-rank", "0"}, {"--master", "a:1"}}) {
    CHECK(refusal(with({"--transport", "loopback"}, place)) ==
          place[0] +
              ": with --transport loopback all ranks of the plan are threads of this process\n"
              "help: leave it out, or choose another transport");
  }
  CHECK(refusal({"--device", "cuda", "--threads-per-rank", "2"}) ==
        "--threads-per-rank: this is for ranks on the CPU\nhelp: leave it out, or leave "
        "out --device");
  CHECK(refusal({"--device", "cuda", "--no-pinning"}).starts_with("--no-pinning: "));
}

TEST_CASE("values that make no sense are refused") {
  CHECK(refusal({"--transport", "glo"}) ==
        "--transport: unknown transport 'glo'\nhelp: did you mean 'gloo'?");
  CHECK(refusal({"--transport", "nccl"}) ==
        "--transport: nccl moves data between GPUs only\nhelp: add --device cuda");
  CHECK(refusal({"--device", "gpu"}).starts_with("--device: expected cpu or cuda, got 'gpu'\n"));
  CHECK(refusal({"--time-out", "10ms"}).starts_with("--time-out: expected at least 1s, got 10ms"));
  CHECK(refusal({"--steps", "0"}).starts_with("--steps: "));
  CHECK(refusal({"--checkpoints", "c", "--resume", "--may-change", "sed"}) ==
        "--may-change: unknown setting 'sed'\nhelp: did you mean 'seed'?");
}

TEST_CASE("plans that follow are named with their first steps, in order") {
  const auto plans =
      settings_of({"--steps", "9", "--then", "3:b.json", "--then", "8:c:1.json"}).later_plans();
  REQUIRE(plans.size() == 2);
  CHECK(plans[0].first_step == 3);
  CHECK(plans[0].path == "b.json");
  CHECK(plans[1].first_step == 8);
  CHECK(plans[1].path == "c:1.json");
  CHECK(settings_of({}).later_plans().empty());

  const auto refused = [](const Arguments& arguments) {
    return tests::message_of([&] { static_cast<void>(settings_of(arguments).later_plans()); });
  };
  for (const char* no_plan : {"b.json", "3:", "3"}) {
    CHECK(refused({"--then", no_plan}) == "--then: '" + std::string(no_plan) +
                                              "' is not STEPS:PLAN\nhelp: for example --then "
                                              "500:other.json");
  }
  CHECK(refused({"--then", "0:b.json"}).starts_with("--then: "));
  CHECK(refused({"--then", "x:b.json"}).starts_with("--then: "));
  CHECK(refused({"--then", "5:b.json", "--then", "5:c.json"}) ==
        "--then: after 5 steps is not later than after 5, when the plan before it begins\nhelp: "
        "give them in the order in which they run");
  CHECK(refused({"--then", "10:b.json"}) ==
        "--then: after 10 steps: the run has 10, so that this plan would never run\n"
        "help: train for more --steps, or leave it out");
}

TEST_CASE("threads of one process do not run in several") {
  const TrainSettings threads = settings_of({"--transport", "loopback"});
  const auto refused = [](const TrainSettings& settings, const LaunchEnvironment& place) {
    return tests::message_of([&] { settings.refuse_other_ranks(place); });
  };
  LaunchEnvironment place;
  place.believed = "torchrun";
  place.ranks = 4;
  CHECK(refused(threads, place) ==
        "--transport loopback: all ranks of the plan are threads of one process, but torchrun "
        "started 4 processes\nhelp: start one, or choose another transport");
  CHECK(refused(settings_of({"--virtual"}), place).starts_with("--virtual: "));
  // What an allocation leaves in a shell.
  place.believed = "Slurm";
  CHECK(refused(threads, place).empty());
  place.rank = 1;
  CHECK_FALSE(refused(threads, place).empty());
  place.rank = 0;
  place.ranks = 1;
  CHECK(refused(threads, place).empty());
  threads.refuse_other_ranks(std::nullopt);
}

}  // namespace
}  // namespace penstock
