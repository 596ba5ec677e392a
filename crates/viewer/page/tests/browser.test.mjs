// The page in a real browser: open, play, drag, slide, scrub, overlay, report.
//
//   GELENK=target/debug/gelenk CHROMIUM=/usr/bin/chromium node --test tests/

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const here = dirname(fileURLToPath(import.meta.url));
const gelenk = resolve(process.env.GELENK ?? join(here, '../../../../target/debug/gelenk'));
const folder = mkdtempSync(join(tmpdir(), 'gelenk-browser-'));
const shots = process.env.SHOTS;
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts `gelenk view` and gives its address. */
async function serve(...args) {
  const child = spawn(gelenk, ['view', ...args, '--no-open', '--json'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const data of child.stdout) {
    text += data;
    try {
      return { child, address: JSON.parse(text).address };
    } catch {
      // More is to come.
    }
  }
  throw new Error(`gelenk view has ended: ${text}`);
}

/** While the page is being written: its script and looks in a report, instead of the program's. */
function renew(report) {
  const folder = process.env.PAGE;
  if (!folder) return;
  const [script, page, own] = [join(folder, 'page.js'), join(folder, 'page.css'), join(here, '../../src/report/report.css')].map((file) => readFileSync(file, 'utf8'));
  const html = readFileSync(report, 'utf8')
    .replace(/<style>[^]*?<\/style>/, () => `<style>\n${page}\n${own}</style>`)
    .replace(/<script type="module">[^]*<\/script>/, () => `<script type="module">${script.replaceAll('</script', '<\\/script')}</script>`);
  writeFileSync(report, html);
}

/** A page at an address; what goes wrong in it fails the test. */
async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1000, height: 640 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(new URL(address).origin) && !/^(data|blob|file|ws):/.test(url)) faults.push(`asks for ${url}`);
  });
  // While the page is being written: take it from a folder instead of the program.
  if (process.env.PAGE && address.startsWith('http')) {
    for (const file of ['page.js', 'page.css']) await page.route(`**/${file}`, (route) => route.fulfill({ path: join(process.env.PAGE, file) }));
  }
  // How a slower machine would see it: THROTTLE=8.
  if (process.env.THROTTLE) await (await context.newCDPSession(page)).send('Emulation.setCPUThrottlingRate', { rate: Number(process.env.THROTTLE) });
  // Pictures and messages that come early or late, to find what the tests take for granted: JITTER=200 (milliseconds).
  if (process.env.JITTER) {
    await page.addInitScript((most) => {
      const frame = window.requestAnimationFrame.bind(window);
      window.requestAnimationFrame = (draw) => frame(() => setTimeout(() => draw(performance.now()), most * Math.random()));
    }, Number(process.env.JITTER));
  }
  await page.goto(address);
  await page.waitForFunction(() => (window.gelenk?.main?.frames.length ?? 0) > 0 && window.gelenk.stage.main !== null);
  return { page, context, faults };
}

/** Waits until something holds in the page; if it never does, says what was there instead. */
async function until(page, what, holds, arg = null, timeout = 30000) {
  try {
    await page.waitForFunction(holds, arg, { timeout });
  } catch (error) {
    const now = await page.evaluate(() => {
      const { t, playing, main, ghosts } = window.gelenk;
      const { end, every, total, frames } = main;
      return { t, playing, end, every, total, frames: frames.length, ghosts: ghosts.length, chips: document.querySelector('.chips')?.textContent };
    });
    throw new Error(`${what}: not within ${timeout / 1000} s; ${JSON.stringify(now)}`, { cause: error });
  }
}
/** Waits for the text of an element. */
async function reads(page, selector, pattern) {
  const place = page.locator(selector, { hasText: pattern });
  await place.first().waitFor({ state: 'attached' }).catch(async (error) => {
    throw new Error(`${selector} does not come to read ${pattern}: ${await page.locator(selector).allTextContents()}`, { cause: error });
  });
}
const time = (page) => page.evaluate(() => window.gelenk.t);
const placeOf = (page, body) => page.evaluate((i) => window.gelenk.stage.main.bodies[i].position.toArray(), body);
const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
/** Until what is on the stage is what the page says: one frame to see the change, one to have drawn it. */
const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
/** Stops a run that plays, if it has not come to its end by itself. */
async function pause(page) {
  if (await page.evaluate(() => window.gelenk.playing)) await page.keyboard.press('Space');
  await page.waitForFunction(() => !window.gelenk.playing);
  await drawn(page);
}
async function shoot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`) });
}

test('live: plays, is dragged, slid and overlaid', { timeout: 120000 }, async () => {
  const { child, address } = await serve('double-pendulum');
  try {
    const { page, context, faults } = await open(address);
    await reads(page, 'h1', /^double-pendulum$/);
    assert.equal(await time(page), 0);

    // Play, then pause.
    await page.getByRole('button', { name: 'Play (space)' }).click();
    await page.waitForFunction(() => window.gelenk.t > 0.3);
    await shoot(page, 'live');
    await pause(page);
    const swung = await placeOf(page, 2);

    // Reset takes it back.
    await page.getByRole('button', { name: 'To the start (R)' }).click();
    await page.waitForFunction(() => window.gelenk.t === 0);
    await drawn(page);
    const rest = await placeOf(page, 2);
    assert.ok(distance(swung, rest) > 0.05, 'it has moved and is back');

    // Take the lower bar, let it run, and pull it to the left: it follows the pointer.
    const from = await page.evaluate(() => window.gelenk.stage.screenPlace(2));
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.keyboard.press('Space');
    await page.waitForFunction(() => window.gelenk.t > 0.05);
    const to = { x: from.x - 110, y: from.y + 20 };
    await page.mouse.move(to.x, to.y, { steps: 6 });
    const away = ({ x, y }) => {
      const p = window.gelenk.stage.screenPlace(2);
      const at = window.gelenk.main.frames.at(-1);
      const speed = Math.hypot(at.x[13 * 2 + 7], at.x[13 * 2 + 8], at.x[13 * 2 + 9]);
      return Math.hypot(p.x - x, p.y - y) < 70 && speed < 0.5 && at.t > 1;
    };
    await page.waitForFunction(away, to, { timeout: 30000 });
    await shoot(page, 'drag');
    const work = await page.evaluate(() => window.gelenk.main.frames.at(-1).ledger[3]);
    assert.ok(Math.abs(work) > 1e-3, `the hand has done work: ${work} J`);
    await page.mouse.up();

    // A slider changes the mechanism while it runs.
    await page.getByRole('tab', { name: 'Model' }).click();
    const before = await page.evaluate(() => window.gelenk.main.scene.bodies[2].shapes[0].length);
    const slider = page.locator('[data-parameter="l2"]');
    await slider.evaluate((input) => {
      input.value = String(0.6 * Number(input.value));
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    await page.waitForFunction((old) => window.gelenk.main.scene.bodies[2].shapes[0].length < 0.7 * old, before);
    const t = await time(page);
    await page.waitForFunction((old) => window.gelenk.t > old + 0.1, t);
    await shoot(page, 'sliders');

    // Keys of a focused slider: arrows are its own, the others the page's.
    await slider.focus();
    await page.keyboard.press('Space');
    await page.waitForFunction(() => !window.gelenk.playing);
    const value = Number(await slider.inputValue());
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction((old) => Number(document.querySelector('[data-parameter="l2"]').value) > old, value);
    await page.keyboard.press('Space');
    await page.waitForFunction(() => window.gelenk.playing);

    // Another engine goes on from here.
    await page.getByRole('button', { name: 'dae', exact: true }).click();
    await page.waitForFunction(() => window.gelenk.status.engine === 'dae');
    await page.waitForFunction((old) => window.gelenk.t > old, await time(page));

    // Overlay two engines.
    await page.locator('[data-ghost="lagrange"]').click();
    await page.waitForFunction(() => window.gelenk.stage.ghosts.length === 1 && !window.gelenk.ghosts[0].growing, null, { timeout: 30000 });
    await page.keyboard.press('r');
    await page.waitForFunction(() => window.gelenk.t < 1);
    await page.waitForFunction(() => window.gelenk.t > 0.4);
    await pause(page);
    await page.getByRole('tab', { name: 'Plots' }).click();
    // The same model by two engines, shown between frames: apart by less than a millimetre or so.
    await until(page, 'the engines agree', () => {
      const { main, ghosts } = window.gelenk.stage;
      return main.bodies[2].position.distanceTo(ghosts[0].bodies[2].position) < 5e-3;
    });
    await shoot(page, 'overlay');

    // Scrub back: the run waits, the time is that of the line.
    const half = await page.locator('.scrub').evaluate((input) => {
      input.value = String(0.5 * Number(input.max));
      input.dispatchEvent(new Event('input', { bubbles: true }));
      return Number(input.value);
    });
    await until(page, `at the line's ${half} s`, (half) => half > 0 && Math.abs(window.gelenk.t - half) < 0.05 * half, half);
    assert.deepEqual(faults, []);
    await context.close();
  } finally {
    child.kill('SIGINT');
  }
  const code = await new Promise((ended) => (child.exitCode !== null ? ended(child.exitCode) : child.once('exit', ended)));
  assert.equal(code, 0, 'Ctrl-C ends it well');
});

/** An arm on a hinge, and a ball that nothing holds. */
const FALLS = `
[model]
name = "falls"
[run]
duration = 0.5
step = 0.005
[parameters]
l = { value = 0.8, unit = "m", min = 0.2, max = 2 }
[[body]]
name = "arm"
mass = 2
ends = [[0, 0, 0], ["l", 0, 0]]
shape = { cylinder = { radius = 0.03 } }
[[joint]]
name = "shoulder"
type = "hinge"
between = ["world", "arm"]
point = [0, 0, 0]
axis = [0, 1, 0]
[[body]]
name = "ball"
mass = 1
position = [0.5, 0.5, 0]
shape = { sphere = { radius = 0.1 } }
`;

test('live: a part that falls off does not take the camera along; an overlay that has ended is gone', { timeout: 120000 }, async () => {
  writeFileSync(join(folder, 'falls.toml'), FALLS);
  const { child, address } = await serve('falls.toml');
  try {
    const { page, context, faults } = await open(address);
    const camera = () => page.evaluate(() => window.gelenk.stage.camera.position.toArray());
    await drawn(page);
    const begun = await camera();
    const reach = await page.evaluate(() => window.gelenk.stage.camera.position.distanceTo(window.gelenk.stage.controls.target));
    await page.evaluate(() => window.gelenk.setSpeed(4));
    await page.keyboard.press('Space');
    await until(page, 'the ball is far below', () => window.gelenk.stage.main.bodies[2].position.z < -40);
    await pause(page);
    const now = await camera();
    assert.ok(distance(now, begun) < 1e-9 + 1e-6 * reach, `the camera has moved from ${begun} to ${now}`);
    // Show all: the arm, not the ball.
    await page.keyboard.press('0');
    await drawn(page);
    await until(page, 'the arm is seen from near', (reach) => {
      const { stage } = window.gelenk;
      const box = stage.canvas.getBoundingClientRect();
      const p = stage.screenPlace(1);
      const inside = p.x > box.left && p.x < box.right && p.y > box.top && p.y < box.bottom;
      return inside && stage.camera.position.distanceTo(stage.controls.target) < 2 * reach;
    }, reach);
    await shoot(page, 'falls');
    // Looking where nothing is, it says how to come back.
    await page.evaluate(() => {
      const { stage } = window.gelenk;
      for (const place of [stage.camera.position, stage.controls.target]) place.x += 50;
      stage.controls.update();
    });
    await page.locator('.away').click();
    await page.locator('.away').waitFor({ state: 'hidden' });

    // The overlay ends with the model's duration of half a second: afterwards it is gone, and both places say so.
    await page.getByRole('tab', { name: 'Model' }).click();
    await page.locator('[data-ghost="dae"]').click();
    await reads(page, '.ghost', /ends at 0\.5 s/);
    await until(page, 'it has ended', () => window.gelenk.stage.ghosts.length === 1 && !window.gelenk.stage.ghosts[0].group.visible);
    await reads(page, '.chips span', /dae engine: ends at 0\.5 s/);
    await page.evaluate(() => window.gelenk.seek(0.3));
    await until(page, 'it is there', () => window.gelenk.stage.ghosts[0].group.visible && !/ends at/.test(document.querySelector('.chips').textContent));

    // Another engine: the worst gap does not fall, and the moments of before stay those of the engine of before.
    await page.keyboard.press('End');
    const { gap, t } = await page.evaluate(() => ({ gap: window.gelenk.main.frames.at(-1).ledger[6], t: window.gelenk.main.end }));
    await page.getByRole('button', { name: 'lagrange', exact: true }).click();
    await reads(page, '.chips span', /^lagrange engine$/);
    await page.keyboard.press('Space');
    await until(page, 'it goes on', (t) => window.gelenk.main.end > t + 0.1, t);
    await pause(page);
    await until(page, 'gaps do not fall', (gap) => {
      const { frames } = window.gelenk.main;
      return frames.at(-1).ledger[6] >= gap && frames.every((frame, i) => i === 0 || frame.ledger[6] >= frames[i - 1].ledger[6]);
    }, gap);
    await page.evaluate((t) => window.gelenk.seek(0.5 * t), t);
    await reads(page, '.chips span', /^impulse engine$/);
    await page.keyboard.press('End');
    await reads(page, '.chips span', /^lagrange engine$/);
    assert.deepEqual(faults, []);
    await context.close();
  } finally {
    child.kill('SIGINT');
  }
});

test('replay: no state is lost, plots and scene go together, also on a phone', { timeout: 120000 }, async () => {
  for (const engine of ['impulse', 'dae']) {
    const run = spawnSync(gelenk, ['run', 'four-bar', '--engine', engine, '--duration', '2', '--output', `${engine}.mcap`, '--quiet'], { cwd: folder });
    assert.equal(run.status, 0, String(run.stderr));
  }
  const { child, address } = await serve('impulse.mcap', 'dae.mcap');
  try {
    const { page, context, faults } = await open(address);
    await page.waitForFunction(() => {
      const { main, ghosts } = window.gelenk;
      return main.frames.length === main.total && ghosts[0]?.frames.length === ghosts[0]?.total;
    });
    const counts = await page.evaluate(() => {
      const { main } = window.gelenk;
      return [main.frames.length, main.frames.every((frame, i) => frame.index === i), main.end];
    });
    assert.ok(counts[0] > 100 && counts[1] && Math.abs(counts[2] - 2) < 1e-9, String(counts));
    await page.getByRole('button', { name: 'Play (space)' }).click();
    await page.waitForFunction(() => window.gelenk.t > 0.5);
    await pause(page);

    // Pressing in the middle of a plot shows the middle of the run.
    const over = page.locator('[data-plot="energy"] .u-over');
    const box = await over.boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await until(page, 'at the middle of the run', () => Math.abs(window.gelenk.t - 1) < 0.1);
    await drawn(page);

    // Choosing a body offers its plots.
    const at = await page.evaluate(() => window.gelenk.stage.screenPlace(2));
    await page.mouse.click(at.x, at.y);
    await page.waitForFunction(() => window.gelenk.chosen !== null).catch((error) => {
      throw new Error(`nothing is chosen at ${JSON.stringify(at)}`, { cause: error });
    });
    await page.locator('.choice').getByRole('button', { name: 'velocity', exact: true }).click();
    await page.locator('[data-plot^="body.coupler.velocity"]').waitFor();
    await page.keyboard.press('f');
    await page.keyboard.press('t');
    await page.waitForTimeout(300);
    await shoot(page, 'replay');
    assert.deepEqual(faults, []);
    await context.close();

    const phone = await open(address, { viewport: { width: 390, height: 780 }, hasTouch: true, colorScheme: 'dark' });
    await until(phone.page, 'fits the phone', () => document.documentElement.scrollWidth <= 390 && window.gelenk.stage.canvas.clientHeight > 250);
    await until(phone.page, 'the time line has room, and nothing lies over the time', () => {
      const box = (what) => document.querySelector(what).getBoundingClientRect();
      const [line, clock] = [box('.scrub'), box('.clock')];
      return line.width > 300 && ['.speed', '.line'].every((other) => box(other).left >= clock.right || box(other).bottom <= clock.top);
    });
    await phone.page.getByRole('button', { name: 'Play (space)' }).tap();
    await phone.page.waitForFunction(() => window.gelenk.t > 0.2);
    await shoot(phone.page, 'phone');
    assert.deepEqual(phone.faults, []);
    await phone.context.close();
  } finally {
    child.kill('SIGINT');
  }
});

test('replay: keys after a click on the time line', { timeout: 120000 }, async () => {
  const run = spawnSync(gelenk, ['run', 'four-bar', '--duration', '2', '--output', 'keys.mcap', '--quiet'], { cwd: folder });
  assert.equal(run.status, 0, String(run.stderr));
  const { child, address } = await serve('keys.mcap');
  try {
    const { page, context, faults } = await open(address);
    await page.waitForFunction(() => window.gelenk.main.frames.length === window.gelenk.main.total);
    // A click on the time line takes no key away: help opens and closes, it plays, forces and the other look come and go.
    await page.locator('.scrub').click();
    await until(page, 'at the middle of the line', () => Math.abs(window.gelenk.t - 1) < 0.2);
    const there = await time(page);
    await page.keyboard.press('?');
    await page.locator('dialog.help').waitFor({ state: 'visible' });
    await page.keyboard.press('Escape');
    await page.locator('dialog.help').waitFor({ state: 'hidden' });
    await page.keyboard.press('Space');
    await until(page, 'plays on by the key', (there) => window.gelenk.t > there + 0.1, there);
    await pause(page);
    for (const [key, name] of [['f', 'Forces of joints (F)'], ['T', 'Trails (T)']]) {
      for (const on of ['true', 'false']) {
        await page.keyboard.press(key);
        await page.locator(`button[aria-label="${name}"][aria-pressed="${on}"]`).waitFor();
      }
    }
    // Arrows go by steps of the run, not by hundredths of the line.
    await page.locator('.scrub').click();
    await until(page, 'at the middle of the line', () => Math.abs(window.gelenk.t - 1) < 0.2);
    const from = await time(page);
    await page.keyboard.press('ArrowRight');
    await until(page, 'at the next frame', (from) => window.gelenk.t === window.gelenk.main.frames.find((frame) => frame.t > from)?.t, from);
    assert.deepEqual(faults, []);
    await context.close();
  } finally {
    child.kill('SIGINT');
  }
});

test('replay: of a run too long for the page, every frame is there where it is looked at', { timeout: 120000 }, async () => {
  const run = spawnSync(gelenk, ['run', 'double-pendulum', '--duration', '40', '--step', '0.005', '--sample', '0.005', '--output', 'long.mcap', '--quiet'], { cwd: folder });
  assert.equal(run.status, 0, String(run.stderr));
  const { child, address } = await serve('long.mcap');
  try {
    // As if the page had room for 200 kB only.
    const { page, context, faults } = await open(`${address}?memory=200000`);
    await page.waitForFunction(() => window.gelenk.main.end > 40 - 1e-9);
    const { every, kept, total, start } = await page.evaluate(() => {
      const { main } = window.gelenk;
      return { every: main.every, kept: main.frames.length, total: main.total, start: main.start };
    });
    assert.equal(total, 8001);
    assert.equal(start, 0);
    assert.ok(every >= 8 && kept < total / 2, `one in ${every}, ${kept} of ${total}`);
    await until(page, 'the page says how many it has', () => {
      const { every } = window.gelenk.main;
      const thinned = document.querySelector('[data-thinned]')?.getAttribute('data-thinned');
      return thinned === String(every) && document.querySelector('.chips').textContent.includes(`1 in ${every} frames`);
    });
    for (const t of [20, 33.3, 5, 39.99]) {
      // Pressing → moves by one sample, not by those that are kept everywhere.
      await page.evaluate((t) => window.gelenk.seek(t), t);
      await page.waitForFunction(() => {
        const { main, t } = window.gelenk;
        const i = main.before(t);
        return main.frames[i + 1] && main.frames[i + 1].index === main.frames[i].index + 1;
      });
      const before = await time(page);
      await page.keyboard.press('ArrowRight');
      await until(page, `a step on from ${before}`, (before) => window.gelenk.t > before && window.gelenk.t - before < 0.0051, before);
    }
    // What is no longer looked at is given up again, and nothing else.
    for (let t = 1; t < 40; t += 3) {
      await page.evaluate((t) => window.gelenk.seek(t), t);
      await page.waitForFunction(() => {
        const { main, t } = window.gelenk;
        return main.frames[main.before(t) + 1].index === main.frames[main.before(t)].index + 1;
      });
    }
    await until(page, 'few frames, in order', () => {
      const { frames, every, total } = window.gelenk.main;
      const coarse = frames.filter((frame) => frame.index % every === 0).length;
      const sorted = frames.every((frame, i) => i === 0 || frame.index > frames[i - 1].index);
      return sorted && frames.length < 0.75 * total && coarse === Math.ceil(total / every);
    });
    // It plays through, piece by piece.
    await page.evaluate(() => window.gelenk.setSpeed(16));
    await page.keyboard.press('Home');
    await page.getByRole('button', { name: 'Play (space)' }).click();
    await page.waitForFunction(() => window.gelenk.t > 39.99, null, { timeout: 60000 });
    assert.deepEqual(faults, []);
    await context.close();
  } finally {
    child.kill('SIGINT');
  }
});

test('replay: a recording that breaks off is shown as far as it goes, and says so', { timeout: 60000 }, async () => {
  const run = spawnSync(gelenk, ['run', 'four-bar', '--duration', '2', '--output', 'whole.mcap', '--quiet'], { cwd: folder });
  assert.equal(run.status, 0, String(run.stderr));
  const bytes = readFileSync(join(folder, 'whole.mcap'));
  writeFileSync(join(folder, 'cut.mcap'), bytes.subarray(0, Math.floor(0.6 * bytes.length)));
  const { child, address } = await serve('cut.mcap');
  try {
    const { page, context, faults } = await open(address);
    await page.waitForFunction(() => !window.gelenk.main.asked);
    await reads(page, '.notice', /truncated at byte \d+/);
    assert.ok((await page.evaluate(() => window.gelenk.main.end)) < 2);
    assert.deepEqual(faults, []);
    await context.close();
  } finally {
    child.kill('SIGINT');
  }
});

test('a report opens from its file, without a network', { timeout: 120000 }, async () => {
  const path = join(folder, 'report.html');
  const run = spawnSync(gelenk, ['run', 'newtons-cradle', '--duration', '1', '--no-record', '--report', path, '--quiet'], { cwd: folder });
  assert.equal(run.status, 0, String(run.stderr));
  renew(path);
  const address = pathToFileURL(path).href;
  const { page, context, faults } = await open(address, { offline: true });
  assert.equal(await page.evaluate(() => window.gelenk.mode), 'report');
  await page.getByRole('button', { name: 'Play (space)' }).click();
  await page.waitForFunction(() => window.gelenk.t > 0.2);
  await pause(page);
  await page.keyboard.press('c');
  // Events are there to jump to.
  await page.getByRole('tab', { name: /Events/ }).click();
  const first = page.locator('.events button').first();
  await first.click();
  await until(page, 'at the first event', () => Math.abs(window.gelenk.t - window.gelenk.main.events[0].time) < 1e-9);
  await page.locator('article table').nth(1).waitFor({ state: 'attached' });
  await shoot(page, 'report');
  assert.deepEqual(faults, []);
  await context.close();

  const equations = join(folder, 'equations.html');
  const derive = spawnSync(gelenk, ['derive', 'double-pendulum', '--report', equations], { cwd: folder });
  assert.equal(derive.status, 0, String(derive.stderr));
  renew(equations);
  const second = await open(pathToFileURL(equations).href, { offline: true });
  await second.page.locator('math').nth(15).waitFor({ state: 'attached' });
  const fraction = await second.page.locator('math mfrac').first().boundingBox();
  assert.ok(fraction.height > 15, 'formulas are set');
  // On a narrow page the long ones go on behind the edge, which a shadow shows, and are reached by moving them.
  await second.page.setViewportSize({ width: 420, height: 700 });
  await second.page.waitForFunction(() =>
    [...document.querySelectorAll('.formula')].some((formula) => {
      formula.scrollLeft = 1e6;
      const shadows = getComputedStyle(formula).backgroundAttachment.split(', ').filter((how) => how === 'local').length;
      return formula.scrollWidth > formula.clientWidth + 50 && formula.scrollLeft > 50 && shadows === 2;
    }),
  );
  await second.page.waitForFunction(() => document.documentElement.scrollWidth <= 420);
  if (shots) await second.page.screenshot({ path: join(shots, 'equations.png'), fullPage: true });
  assert.deepEqual(second.faults, []);
  await second.context.close();

  const optimum = join(folder, 'optimum.html');
  const optimize = spawnSync(gelenk, ['optimize', 'walk-0.1', '--report', optimum, '--no-checkpoint', '--no-record', '--quiet'], { cwd: folder });
  assert.equal(optimize.status, 0, String(optimize.stderr));
  renew(optimum);
  const third = await open(pathToFileURL(optimum).href, { offline: true });
  await third.page.getByRole('button', { name: 'Play (space)' }).click();
  await third.page.waitForFunction(() => window.gelenk.t > 0.05);
  await third.page.locator('article img').nth(3).waitFor({ state: 'attached' });
  for (const title of ['Result', 'Certificate', 'Controls', 'Conditions', 'Iterations', 'Settings', 'Problem']) {
    assert.equal(await third.page.locator('article h2', { hasText: new RegExp(`^${title}$`) }).count(), 1, title);
  }
  const pictures = third.page.locator('article img');
  assert.ok((await pictures.count()) >= 4);
  for (const picture of await pictures.all()) assert.ok(await picture.evaluate((image) => image.decode().then(() => image.naturalWidth > 300)));
  if (shots) await third.page.screenshot({ path: join(shots, 'optimum.png'), fullPage: true });
  assert.deepEqual(third.faults, []);
  await third.context.close();
});
