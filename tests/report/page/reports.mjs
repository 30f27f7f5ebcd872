// Reports by the program itself, for tests of the page.
import {execFileSync, spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

export const kSource = fileURLToPath(new URL('../../..', import.meta.url));
const kProfile = 'data/profiles/gpt-6.7b.a100-40gb.json';
const kQuestion = ['--cluster', 'data/clusters/a100-40gb-p4d-8x8.json', '--gpus', '16', '--global-batch', '64',
                   '--sequence-length', '2048'];

// What a hostile file could call its model: it would end the data, and then run.
export const kHostile = '</script><img src=x onerror="window.hostile=1"><b>&amp;';

/** The data as they stand in the file, read without a browser. */
export function dataOf(html) {
  const match = /<script type="application\/json" id="report-data">([^<]*)<\/script>/.exec(html);
  if (!match) throw new Error('the file holds no report-data');
  return JSON.parse(match[1]);
}

/** How many actions the lists of a plan file's ranks have: blocks of names, and repeated ones. */
function actionsOfRanks(plan) {
  const ofBlock = (block) => (Array.isArray(block) ? block.length : block.repeat * block.actions.length);
  return plan.program.pipelines[0].ranks.map((blocks) => blocks.reduce((sum, block) => sum + ofBlock(block), 0));
}

/** A penstock.run/1: in every step the actions of a rank follow each other, each as long as the next. */
function runOf(plan, hash, stepTime) {
  const header = {format: 'penstock.run/1', model: plan.model, plan: '1f1b.json', plan_hash: hash, tool_version: '0.1.0',
                  transport: 'loopback', device: 'test', host: 'test', started: '2026-01-01T00:00:00Z', library: 'none',
                  precision: 'float16', ranks: 4, threads_per_rank: 1, first_step: 0};
  const ranks = actionsOfRanks(plan).map((count, rank) => {
    const at = (index) => Math.floor(index * stepTime / count);
    return {rank, pipeline: 0, pipeline_rank: rank, start_ns: Array.from({length: count}, (_, i) => at(i)),
            end_ns: Array.from({length: count}, (_, i) => at(i + 1))};
  });
  const steps = Array.from({length: 5}, (_, step) => ({
    step, loss: 1, gradient_norm: 1, skipped: false, tokens: 1, step_time_ns: stepTime, compute_ns: stepTime,
    waiting_ns: 0, reducing_ns: 0, optimizer_ns: 0, ranks,
  }));
  return [header, ...steps].map((line) => JSON.stringify(line) + '\n').join('');
}

/** A folder of reports that goes when the tests end. */
export class Reports {
  constructor(program) {
    this.program = resolve(program);
    this.folder = mkdtempSync(join(tmpdir(), 'penstock-page-'));
    symlinkSync(join(kSource, 'data'), this.path('data'));
  }

  close() {
    rmSync(this.folder, {recursive: true, force: true});
  }

  path(name) {
    return join(this.folder, name);
  }

  /** Runs the program in the folder: no path of this machine gets into a report. */
  run(...arguments_) {
    return execFileSync(this.program, arguments_,
        {cwd: this.folder, maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'pipe']});
  }

  /** Writes what the program prints; `html`, its text, and `data`, what is embedded, come along. */
  write(name, ...arguments_) {
    const html = this.run('report', ...arguments_, '-o', '-').toString();
    return this.keep(name, html);
  }

  keep(name, html) {
    writeFileSync(this.path(name), html);
    return {file: this.path(name), html, data: dataOf(html)};
  }

  /** A search: plans, Pareto front, staircase. */
  search() {
    return this.write('search.html', kProfile, ...kQuestion, '--top', '6');
  }

  /** A search in vain: the model is too large for one GPU. The program says so by its exit code, too. */
  nothing() {
    const question = ['--cluster', 'data/clusters/a100-40gb-p4d-8x8.json', '--gpus', '1', '--global-batch', '16'];
    const {status, stdout} = spawnSync(this.program, ['report', kProfile, ...question, '-o', '-'],
        {cwd: this.folder, maxBuffer: 2 ** 30});
    if (status !== 1) throw new Error(`exit code ${status} where nothing fits`);
    return this.keep('nothing.html', stdout.toString());
  }

  /** The best plan of four ranks. */
  plan() {
    return this.ofProfile('plan', kProfile);
  }

  /** A plan of a model with a hostile name. */
  hostile() {
    const profile = JSON.parse(readFileSync(this.path(kProfile), 'utf8'));
    writeFileSync(this.path('profile.json'), JSON.stringify({...profile, name: kHostile}));
    return this.ofProfile('hostile', 'profile.json');
  }

  ofProfile(name, profile) {
    this.run('plan', profile, ...kQuestion, '--pin', 'P=4', '--schedule', '1f1b', '-o', `${name}.json`);
    return this.write(`${name}.html`, `${name}.json`);
  }

  /** One plan and its run, whose steps took `factor` times what was predicted; beside another plan. */
  measured(factor) {
    const question = ['--cluster', 'data/clusters/a100-40gb-p4d-8x8.json', '--gpus', '4', '--global-batch', '16',
                      '--sequence-length', '2048'];
    for (const schedule of ['1f1b', 'gpipe']) {
      this.run('plan', kProfile, ...question, '--pin', 'P=4', '--recompute', 'full', '--schedule', schedule,
          '-o', `${schedule}.json`);
    }
    const predicted = JSON.parse(this.run('report', '1f1b.json', '--json'));
    writeFileSync(this.path('run.jsonl'), runOf(JSON.parse(readFileSync(this.path('1f1b.json'), 'utf8')),
        predicted.inputs[0].hash, Math.round(factor * predicted.plans[0].prediction.step_time_ns)));
    return this.write(`measured-${factor}.html`, '1f1b.json', '--baseline', 'gpipe.json', '--run', 'run.jsonl');
  }

  /** Batches of samples of different lengths, planned in four ways. */
  dynamic() {
    const html = this.run('dynamic', 'data/profiles/gpt-6.7b.a100-40gb.all-lengths.json',
        '--cluster', 'data/clusters/a100-40gb-p4d-8x8.json', '--gpus', '8', '--pin', 'TP=1,PP=4,VP=1',
        '--lengths', 'data/lengths/flan-cot.csv', '--tokens-per-batch', '16384', '--batches', '3', '--replays', '50',
        '--repeatable', '-o', '-').toString();
    return this.keep('dynamic.html', html);
  }

  /** A recording replayed under policies, by a book of three plans. */
  morph() {
    this.run('plan', kProfile, '--cluster', 'data/clusters/a100-40gb-p4d-8x8.json', '--gpus', '8,16,32', '--schedule',
        '1f1b', '--pin', 'T=1', '--global-batch', '64', '--sequence-length', '2048', '-o', 'book.json');
    const html = this.run('morph', '--book', 'book.json', '--trace', 'data/availability/aws_p3_bamboo.nodes.csv',
        '-o', '-').toString();
    return this.keep('morph.html', html);
  }

  /** As a build without uPlot writes it: where its script names itself, it names itself otherwise. */
  withoutCurves(report) {
    return this.keep('tables.html', report.html.replace('var uPlot=', 'var noPlot='));
  }
}
