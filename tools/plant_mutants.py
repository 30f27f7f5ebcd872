#!/usr/bin/env python3
"""Plants errors into the sources, one at a time, and reports which of them no test notices.

    tools/plant_mutants.py BUILD [--list] [--jobs 2] [--target T] [--name WORDS]

BUILD is a configured build (preset release; those of the manager need PENSTOCK_MANAGER=ON). Each mutant is an exact
text of one file, what stands in its place, and the test that should notice: TARGET_tests of BUILD is built and run.
Killed: a test failed. Survived: every test passed, so a test is missing. A mutant that does not compile proves
nothing and counts as one that survived. A mutant whose text is not found exactly once is an error, before anything is
planted: then the source has changed, and the mutant must follow. The file is put back whatever happens; a work tree
with changes of its own in these files is refused. docs/testing.md has the last tally.
"""

import argparse
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

# File, text, replacement, test target, what is wrong with it.
MUTANTS = [
    ('core/values/durations.h',
     'std::max({forward, backward, forward + backward - gain})',
     'forward + backward - gain', 'core',
     'an OVERLAP shorter than its longer member'),
    ('core/values/durations.h',
     'longest = std::max(longest,',
     'longest = std::min(longest,', 'core',
     'reductions of copies: the shortest'),
    ('core/values/durations.h',
     'return price_alone(prices, kind, place) + fixed_cost(executor, kind);',
     'return price_alone(prices, kind, place) + 0 * fixed_cost(executor, kind);', 'core',
     'executor costs forgotten'),
    ('core/values/durations.h',
     'return (prices.transfer_of(place.stage - 1, place.shape).*rule.of_boundary).duration;',
     'return (prices.transfer_of(place.stage, place.shape).*rule.of_boundary).duration;', 'core',
     'a gradient at the price of the wrong boundary'),
    ('core/values/durations.h',
     'holds.stash * price.stash.count + holds.weight_stash',
     'holds.stash * price.stash.count - holds.weight_stash', 'core',
     'weight stash freed when taken'),
    ('core/values/durations.cc',
     'return price.reduce.duration + fixed_cost',
     'return fixed_cost', 'core',
     'a tie for nothing'),
    ('core/values/durations.cc',
     'place.copies = owner.copies;',
     'place.copies = 1;', 'core',
     'copies forgotten where a price is looked up'),
    ('core/values/stage_map.h',
     'return stage < ranks ? stage : 2 * ranks - 1 - stage;',
     'return stage < ranks ? stage : stage - ranks;', 'core',
     'a V that goes around'),
    ('core/values/factor.cc',
     '(rest + kMillion - 1) / kMillion',
     'rest / kMillion', 'core',
     'a factor rounds down'),
    ('core/values/units.cc',
     'snaps ? nearest : std::ceil(ns)',
     'snaps ? nearest : std::floor(ns)', 'core',
     'times round down'),
    ('core/files/run_log_file.cc',
     'fields.time("reducing", step.phases.reducing);',
     'fields.time("reducing", step.phases.waiting);', 'core',
     'reducing written and read as waiting'),
    ('core/check/check_memory.cc',
     'std::max(use.working_peak.count, working_peak_of_pairs(*list))',
     'use.working_peak.count', 'core',
     'the checker forgets the working peak of a pair'),
    ('core/check/check_memory.cc',
     'if (total > device.memory) {',
     'if (total >= device.memory) {', 'core',
     'a device that is just full does not fit'),
    ('costmodel/price_stages.cc',
     'std::max(factor(stage), factor(stage + 1))',
     'std::min(factor(stage), factor(stage + 1))', 'costmodel',
     'the faster of two types'),
    ('costmodel/price_stages.cc',
     'std::max(factor(stage), factor(stage + 1))',
     'factor(stage)', 'costmodel',
     "the sender's factor"),
    ('costmodel/price_stages.cc',
     'price.gradient.duration = scaled(point_to_point_time(cluster, back, boundary), factor);',
     'price.gradient.duration = price.activation.duration +\n      0 * scaled(point_to_point_time(cluster, back, boundary), factor);', 'costmodel',
     'gradients at the price of activations'),
    ('costmodel/price_stages.cc',
     'price.gradient.duration = scaled(point_to_point_time(cluster, back, boundary), factor);',
     'price.gradient.duration = point_to_point_time(cluster, back, boundary);', 'costmodel',
     'the factor of gradients forgotten'),
    ('costmodel/step_prices.cc',
     'slowest.reduction = std::max(slowest.reduction, factors.reduction);',
     'slowest.reduction = factors.reduction;', 'costmodel',
     "reductions by the last type's factor"),
    ('costmodel/step_prices.cc',
     'std::max(slowest.reduction_ps_per_byte, factors.reduction_ps_per_byte);',
     'factors.reduction_ps_per_byte;', 'costmodel',
     "reductions by the last type's price per byte"),
    ('costmodel/step_prices.cc',
     'prices.level_used[level] = all.group.levels[level].most > 1;',
     'prices.level_used[level] = all.group.levels[level].most > 8;', 'costmodel',
     'links between few nodes are not named'),
    ('costmodel/sharded_state.cc',
     'rounded_up(rest * divided_.*part, shards_) +',
     'rest * divided_.*part / shards_ +', 'costmodel',
     "a share of the optimizer's state rounds down"),
    ('costmodel/assumptions.cc',
     'if (!pricing.level_used[level]) continue;',
     '', 'costmodel',
     'links are named that are not used'),
    ('costmodel/assumptions.cc',
     'if (sections == 0 && note.about != SectionNote::About::kAll) continue;',
     '', 'costmodel',
     'notes of sections that the rank lacks'),
    ('costmodel/assumptions.cc',
     'static_cast<double>(m) / plan.copies();',
     'static_cast<double>(m);', 'costmodel',
     "spreads average over the other copy's micro-batches"),
    ('costmodel/assumptions.cc',
     'splits_backward ? kNotMeasured * weights.share(weights.split) * bubble : 0.0',
     '(static_cast<void>(splits_backward), kNotMeasured * weights.share(weights.split) * bubble)', 'costmodel',
     'an assumed split counts where none is used'),
    ('costmodel/hide_reductions.cc',
     'std::max(scaled(whole, bucket_share), whole - beside)',
     '(static_cast<void>(bucket_share), whole - beside)', 'costmodel',
     'the last bucket hides, too'),
    ('costmodel/hide_reductions.cc',
     'splits_backward ? price.weight_gradient.duration : price.fused_backward.duration',
     '(static_cast<void>(splits_backward), price.fused_backward.duration)', 'costmodel',
     'reductions hide behind all of B'),
    ('costmodel/interpolate.cc',
     'return y0 * natural_exponential(exponent * natural_log(x / x0));',
     'return exponent < 1e9 ? linear(x0, y0, x1, y1, x) : natural_exponential(natural_log(x));', 'costmodel',
     'power laws are lines'),
    ('costmodel/tensor_traffic.cc',
     'one.rings = std::max(top.beside / top.members, 1);',
     'one.rings = std::min(top.members, 1);', 'costmodel',
     'tensor groups side by side do not share their link'),
    ('costmodel/tensor_traffic.cc',
     'level = std::max(level, static_cast<int>(each.group.levels.size()) - 1);',
     'level = static_cast<int>(each.group.levels.size()) - 1;', 'costmodel',
     "the last tensor group's level"),
    ('report/model_flops.cc',
     'peak += known->second * replicas_of_rank(plan, rank) * plan.devices_per_rank();',
     'peak += known->second * replicas_of_rank(plan, rank);', 'report',
     'MFU of mixed plans without TP'),
    ('report/model_flops.cc',
     'samples_per_second(plan, step_time) / plan.devices();',
     'samples_per_second(plan, step_time);', 'report',
     "FLOP/s of all GPUs as one's"),
    ('report/validate.cc',
     'value = value < median ? median - value : value - median;',
     'value = value - median;', 'report',
     'deviations with a sign'),
    ('runtime_bridge/step_transfers.cc',
     '    ++transfers;',
     '', 'runtime_bridge',
     'receives are posted without an end'),
    ('runtime_bridge/step_transfers.cc',
     'k < order.size() && transfers < transfers_ahead_; ++k',
     'k < order.size() && receives.size() < transfers_ahead_; ++k', 'runtime_bridge',
     'sends do not count as transfers ahead'),
    ('runtime_bridge/step_transfers.cc',
     'if (!is_transfer(kind)) continue;',
     'if (!is_receive(kind)) continue;', 'runtime_bridge',
     'only receives count as transfers ahead'),
    ('runtime_bridge/step_transfers.cc',
     'if (posted_[static_cast<std::size_t>(transfer)] ||\n',
     'if (\n', 'runtime_bridge',
     'what was posted ahead is posted again'),
    ('runtime_bridge/execute_step.cc',
     'phases.waiting = waiting;',
     'phases.waiting = 0 * waiting;', 'execution',
     'no time is waiting'),
    ('runtime_bridge/execute_step.cc',
     'phases.reducing = std::max(Duration{0}, reduced - computed);',
     '', 'execution',
     'no time is reducing'),
    ('runtime_bridge/step_copies.cc',
     'ready = std::max(ready, record_->end[needs]);',
     'ready = std::max(ready, step_begins_);', 'execution',
     'copies of stages wait for nothing but copies'),
    ('runtime_bridge/step_copies.cc',
     'if (lane != kAtOnce && last_[lane] != nullptr) after.push_back(last_[lane]);',
     '', 'execution',
     'copies of one lane run side by side'),
    ('runtime_bridge/step_reductions.cc',
     'if (!norm_begun_ && is_reduced()) begin_norm(index);',
     '(void)index;', 'execution',
     'the norm begins behind an update that does not wait for it'),
    ('runtime_bridge/step_report.cc',
     'own[kWaiting] = record.phases.waiting.count();',
     'own[kWaiting] = record.phases.reducing.count();', 'execution',
     'waiting reported as reducing'),
    ('runtime_bridge/step_report.cc',
     'own[kReducing] = record.phases.reducing.count();',
     'own[kReducing] = record.phases.waiting.count();', 'execution',
     'reducing reported as waiting'),
    ('runtime_bridge/virtual_prices.cc',
     '  shorten_overlaps(file, pipeline, stretch, *durations);',
     '  if (stretch < 0) shorten_overlaps(file, pipeline, stretch, *durations);', 'execution',
     'sleeping ranks do not overlap'),
    ('runtime_bridge/virtual_prices.cc',
     'overlapped(f, b, gain) - f',
     'overlapped(f, b, gain)', 'execution',
     'the backward of an OVERLAP sleeps for the pair'),
    ('runtime_bridge/virtual_prices.cc',
     'duration_of(file.prices, file.executor, kind, place) * stretch;',
     'duration_of(file.prices, file.executor, kind, place);', 'execution',
     'sleeping ranks do not stretch'),
    ('search/evaluation.cc',
     'usd += hours * usd_per_hour[rank] * replicas_of_rank(plan, rank) * plan.devices_per_rank();',
     'usd += hours * usd_per_hour[rank] * replicas_of_rank(plan, rank);', 'search',
     'dollars of mixed plans without TP'),
    ('search/evaluation.cc',
     'if (usd_per_hour[rank] == 0.0) return 0.0;',
     '', 'search',
     'an unknown price is free'),
    ('search/relative_interval.cc',
     'behind <= scaled(',
     'behind < scaled(', 'search',
     'just as far behind is no tie'),
    ('search/relative_interval.cc',
     '&plan != &best && behind',
     'behind', 'search',
     'the best plan ties with itself'),
    ('search/remedies.cc',
     'if (plan.devices() > gpus) words +=',
     'if (plan.devices() < gpus) words +=', 'search',
     'more GPUs are not named'),
    ('search/remedies.cc',
     'std::max(a.first.devices(), gpus) < std::max(b.first.devices(), gpus)',
     'std::max(a.first.devices(), gpus) > std::max(b.first.devices(), gpus)', 'search',
     'what needs more devices comes first'),
    ('search/remedies.cc',
     'for (int b = plan.micro_batch_size / 2; b >= 1 && plan.has_even_batch(); b /= 2) {',
     'for (int b = 1; b < plan.micro_batch_size && plan.has_even_batch(); b *= 2) {', 'search',
     'the smallest micro-batch is the first remedy'),
    ('manager/decide_transitions.cc',
     'if (++next().failures >= limits_.attempts) {',
     'if (++next().failures > limits_.attempts) {', 'manager',
     'one attempt more than the limit'),
    ('manager/decide_transitions.cc',
     'if (more_) return false;',
     '', 'manager',
     'ranks start before all machines of one look are there'),
    ('manager/decide_transitions.cc',
     'if (stopping.killed) count_out_of_reach();',
     '', 'manager',
     'a job waits for ever for ranks on a machine that went'),
    ('manager/decide_events.cc',
     'known.gone_by.reset();\n  known.gpus = gpus;',
     'known.gpus = gpus;', 'manager',
     'a machine that joins again is still about to go'),
    ('manager/choose_plan.cc',
     '*machine.gone_by - now >= least',
     '*machine.gone_by > now', 'manager',
     'a job starts on a machine that goes in a moment'),
    ('manager/choose_plan.cc',
     'scaled(best->step(), kLeastGain) <= running',
     'best->step() <= running', 'manager',
     'a slow machine is left for any gain'),
    ('manager/hosts/generation_ranks.cc',
     'if (seen.launcher || seen.was_started) return;',
     'if (seen.launcher) return;', 'manager_hosts',
     'a launcher that has ended is started again'),
    ('manager/hosts/generation_ranks.cc',
     'process.id.start_ticks < oldest->id.start_ticks',
     'process.id.start_ticks > oldest->id.start_ticks', 'manager_hosts',
     'a child is taken for its launcher'),
    ('manager/port/answer_request.cc',
     'std::exchange(conversation.challenge, "")',
     'conversation.challenge', 'manager_port',
     'a recorded command is accepted again'),
    ('manager/port/port_key.cc',
     '(facts.st_mode & 077U) != 0 || ',
     '', 'manager_port',
     'a key that all can read is taken'),
    ('manager/notices/azure.cc',
     'if (written.empty() || text_at(event, "EventStatus") == "Started") return now;',
     'if (written.empty()) return now;', 'manager_notices',
     'an event of Azure that has started is dated later'),
    ('morphing/checkpoint_interval.cc',
     'ratio / 9.0) - d;',
     'ratio / 9.0);', 'morphing',
     'the interval of checkpoints forgets what one takes'),
    ('morphing/expected_gain.cc',
     'std::max(0.0, 1.0 - kBreakShare * broken_ * rate)',
     'std::max(1.0, 1.0 - kBreakShare * broken_ * rate)', 'morphing',
     'losses do not lower what a plan is worth'),
    ('morphing/replay_availability.cc',
     'to_seconds((now_ - ready_) % (costs_.every + costs_.stall))',
     'to_seconds(now_ - ready_)', 'morphing',
     'a loss takes all steps since the start'),
    ('morphing/slow_ranks.cc',
     'if (values.size() == 2) return values.front();',
     '', 'morphing',
     'of two ranks the slow one is half hidden'),
    ('morphing/slow_ranks.cc',
     'if (state.streak >= rule_.in_a_row) state.is_slow = true;',
     'if (state.streak >= 1) state.is_slow = true;', 'morphing',
     'one slow window is enough'),
    ('runtime_bridge/last_step.cc',
     'if (!standing.reduced || !norm_is_known) return',
     'if (!standing.reduced || (false && !norm_is_known)) return', 'runtime_bridge',
     'a step is finished without the sums of the norm'),
    ('runtime_bridge/last_step.cc',
     'const bool commits = is_complete(standing) || (standing.norm_first && standing.norm);',
     'const bool commits = is_complete(standing);', 'runtime_bridge',
     'a rank with the norm does not commit to its step'),
    ('runtime_bridge/survivors.cc',
     'return is_in ? *last : none(who + " counted this rank as lost");',
     'return is_in || true ? *last : none(who + " counted this rank as lost");', 'runtime_bridge',
     'a rank that was counted as lost writes all the same'),
    ('runtime_bridge/survivors.cc',
     'if (heartbeat && heartbeat->state != RankCondition::kRunning) return std::nullopt;',
     '', 'runtime_bridge',
     'a rank that stopped is waited for'),
    ('runtime_bridge/step_copies.cc',
     'if (lane != kAtOnce) break;',
     '', 'execution',
     'copies of one lane overtake each other'),
    ('runtime_bridge/step_copies.cc',
     'lane == Lane::kCopyIn || program_.host_link == HostLink::kSimplex ? kIn : kOut',
     'lane == Lane::kCopyIn ? kIn : kOut', 'execution',
     'both directions of a simplex link copy at once'),
    ('spilling/best_shards.cc',
     'std::max(own.back(false), added.store + one_before.load)',
     'std::max(own.back(false), std::max(added.store, one_before.load))', 'spilling',
     'a copy back and the load behind it are taken to run side by side'),
    ('spilling/best_shards.cc',
     'const std::int64_t alone = (first.forward + first.back(false) + first.store).count();',
     'const std::int64_t alone = (first.forward + first.back(false)).count();', 'spilling',
     'the first shard is copied back for nothing'),
    ('spilling/spilled_prices.cc',
     'return largest_boundary() * choice.micro_batches * shards;',
     'return largest_boundary() * choice.micro_batches * (shards - 1);', 'spilling',
     'no room for the input that is on its way between two shards'),
    ('spilling/spilled_prices.cc',
     '(choice.passes > 1 ? state.gradients : 0)',
     '(choice.passes > 16 ? state.gradients : 0)', 'spilling',
     'gradients that add up over several passes are left behind'),
    ('spilling/spilled_prices.cc',
     'if (s < 2) loaded = std::max(loaded, updated) + duration(ActionKind::kLoad);',
     'if (s < 2) loaded = updated + duration(ActionKind::kLoad);', 'spilling',
     'the second load behind a norm does not wait for the first'),
    ('spilling/spilled_plan.cc',
     'shards = found;  // more inputs are kept than was thought',
     'break;', 'spilling',
     'fewer inputs of shards are kept than there are shards'),
    ('estimator/count_operations.cc',
     'windowed = s * w - w * w / 2.0;',
     'windowed = s * w;', 'estimator',
     'the first queries of a window see as many keys as the others'),
    ('estimator/count_operations.cc',
     'return score_count(model, key) * (2.0 * key.element_bytes + 1.0);',
     'return score_count(model, key) * 2.0 * key.element_bytes;', 'estimator',
     'the mask of dropout on kept scores takes nothing'),
    ('estimator/count_operations.cc',
     'const double ring = 2.0 * (key.tensor_degree - 1) / key.tensor_degree;',
     'const double ring = 2.0;', 'estimator',
     'a ring moves all of a tensor, its own part as well'),
    ('estimator/section_traffic.cc',
     '  scatter.input_gradient = 1;\n',
     '', 'estimator',
     'the scatter that a backward shows is hidden'),
    ('estimator/attention_rate.cc',
     'if (index + 1 >= curve.size()) return curve.back();\n',
     'if (index + 1 >= curve.size()) return curve.front();\n', 'estimator',
     'attention over long sequences is as slow as over short ones'),
    ('search/dynamic/balance_replicas.cc',
     'const double taken = other ? time(division_[bin].items[*other]) : 0.0;',
     'const double taken = 0.0;', 'search_dynamic',
     'what a replica gets in exchange is not counted'),
    ('search/dynamic/balance_replicas.cc',
     '    if (!empty.items.empty()) continue;\n',
     '    continue;\n', 'search_dynamic',
     'a replica may be left without a micro-batch'),
    ('search/dynamic/split_exactly.cc',
     'const bool may_be_longer = distinct_[part.hi - 1] > best_.longest;',
     'const bool may_be_longer = false;', 'search_dynamic',
     'of partitions that cost the same not the one with the longer range'),
    ('search/dynamic/sample_orders.cc',
     'const std::int64_t after = joined(i - 1, last + 1) + gap(i, j) + gap(last, j + 1);',
     'const std::int64_t after = gap(i, j) + gap(last, j + 1);', 'search_dynamic',
     'a part that moves leaves no gap behind'),
    ('manager/choose_plan.cc',
     '(!best || its->step() < best->step())',
     '(!best || its->step() <= best->step())', 'manager',
     'of plans that are equally fast the one with the most GPUs'),
    ('manager/choose_plan.cc',
     'if (found->slow_factor != made.factors[i]) return std::nullopt;\n',
     '', 'manager',
     'a plan that was made for slow ranks goes on when they are well again'),
    ('manager/choose_plan.cc',
     'if (!rank) return std::nullopt;\n      rank->rank',
     'if (!rank) continue;\n      rank->rank', 'manager',
     'a plan for more GPUs than there are'),
]


def misplaced(mutants):
    """What cannot be planted, and why."""
    wrong = []
    for path, text, replacement, _, name in mutants:
        count = (ROOT / path).read_text().count(text) if (ROOT / path).is_file() else 0
        if count != 1:
            wrong.append(f"{path}: the text of {name!r} stands there {count} times, not once")
        if text == replacement:
            wrong.append(f"{path}: {name!r} changes nothing")
    return wrong


def built(build, target, jobs):
    return subprocess.run(["ninja", "-C", str(build), f"-j{jobs}", f"{target}_tests"], capture_output=True, text=True,
                          check=False)


def passes(build, target):
    """Whether the tests pass; those of a folder that has no binary of its own have a test of the same name."""
    ran = subprocess.run(["ctest", "--test-dir", str(build), "--output-on-failure", "--timeout", "600", "-R", f"^{target}$"],
                         capture_output=True, text=True, check=False)
    if "No tests were found" in ran.stdout + ran.stderr:
        sys.exit(f"{build}: there is no test named {target}")
    return ran.returncode == 0


def tried(build, mutant, jobs):
    path, text, replacement, target, _ = mutant
    source = ROOT / path
    before = source.read_text()
    try:
        source.write_text(before.replace(text, replacement))
        if built(build, target, jobs).returncode != 0:
            return "DOES NOT COMPILE"
        return "SURVIVED" if passes(build, target) else "killed"
    finally:
        source.write_text(before)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("--list", action="store_true", help="only check that each can be planted, and list them")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--target", help="only those of this test")
    options.add_argument("--name", help="only those whose description has these words")
    given = options.parse_args()
    mutants = [one for one in MUTANTS
               if (not given.target or one[3] == given.target) and (not given.name or given.name in one[4])]
    if not mutants:
        sys.exit("no such mutant; --list without a choice shows all")
    wrong = misplaced(mutants)
    if wrong:
        sys.exit("\n".join(wrong))
    if given.list:
        for path, _, _, target, name in mutants:
            print(f"{target:12} {path}: {name}")
        print(f"{len(mutants)} mutants, each found once")
        return 0
    files = sorted({one[0] for one in mutants})
    dirty = subprocess.run(["git", "status", "--porcelain", "--", *files], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout
    if dirty:
        sys.exit(f"these files have changes of their own; commit or stash them first:\n{dirty}")
    for target in sorted({one[3] for one in mutants}):
        ran = built(given.build, target, given.jobs)
        if ran.returncode != 0 or not passes(given.build, target):
            sys.exit(f"{target}_tests do not build or pass before anything is planted\n{ran.stdout[-2000:]}")
    # An order to end unwinds like an interrupt, so that the planted file is put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    survivors = 0
    for mutant in sorted(mutants, key=lambda one: (one[3], one[0])):
        began = time.monotonic()
        answer = tried(given.build, mutant, given.jobs)
        survivors += answer != "killed"
        print(f"{answer:24} {time.monotonic() - began:5.0f} s  {mutant[3]}: {mutant[0]}: {mutant[4]}", flush=True)
    for target in sorted({one[3] for one in mutants}):
        built(given.build, target, given.jobs)
    print(f"{len(mutants)} mutants, {len(mutants) - survivors} killed, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
