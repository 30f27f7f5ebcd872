// Reports by the program itself, for tests of the page.
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

export const kSource = fileURLToPath(new URL('../../..', import.meta.url));
const kProfile = 'data/profiles/gpt-6.7b.a100-40gb.json';
const kQuestion = ['--cluster', 'data/clusters/a100-40gb-p4d-8x8.json', '--gpus', '16', '--global-batch', '64',
                   '--sequence-length', '2048'];

// What a hostile file could call its model: it would end the data, and then run.
export const kHostile = '</script><img src=x onerror="window.hostile=1"><b>&amp;';

/** Runs the program in the repository's root, so that no path of this machine gets into a report. */
function run(program, ...arguments_) {
  return execFileSync(program, arguments_, {cwd: kSource, maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'pipe']});
}

/** The data as they stand in the file, read without a browser. */
export function dataOf(html) {
  const match = /<script type="application\/json" id="report-data">([^<]*)<\/script>/.exec(html);
  if (!match) throw new Error('the file holds no report-data');
  return JSON.parse(match[1]);
}

/** A folder of reports that goes when the tests end. */
export class Reports {
  constructor(program) {
    this.program = program;
    this.folder = mkdtempSync(join(tmpdir(), 'penstock-page-'));
  }

  close() {
    rmSync(this.folder, {recursive: true, force: true});
  }

  path(name) {
    return join(this.folder, name);
  }

  /** Writes what the program prints; `html`, its text, and `data`, what is embedded, come along. */
  write(name, ...arguments_) {
    const html = run(this.program, 'report', ...arguments_, '-o', '-').toString();
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

  /** One plan against another. */
  plan() {
    const plans = [['best.json', '1f1b'], ['other.json', 'gpipe']];
    for (const [file, schedule] of plans) {
      run(this.program, 'plan', kProfile, ...kQuestion, '--schedule', schedule, '-o', this.path(file));
    }
    return this.write('plan.html', this.path('best.json'), '--baseline', this.path('other.json'));
  }

  /** A plan of a model with a hostile name. */
  hostile() {
    const profile = JSON.parse(readFileSync(join(kSource, kProfile), 'utf8'));
    writeFileSync(this.path('hostile.json'), JSON.stringify({...profile, name: kHostile}));
    return this.write('hostile.html', this.path('hostile.json'), ...kQuestion, '--top', '2');
  }

  /** As a build without uPlot writes it: where its script names itself, it names itself otherwise. */
  withoutCurves(report) {
    return this.keep('tables.html', report.html.replace('var uPlot=', 'var noPlot='));
  }
}
