// Takes the pictures of the guide from the real page:
//
//   cargo build -p gelenk-cli && node crates/viewer/page/screenshots.mjs

import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../../..');
const gelenk = resolve(process.env.GELENK ?? join(root, 'target/debug/gelenk'));
const out = join(root, 'docs/screenshots');
const folder = mkdtempSync(join(tmpdir(), 'gelenk-shots-'));
const only = process.argv.slice(2);
mkdirSync(out, { recursive: true });

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

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
  throw new Error('no address');
}

/** Lets `act` prepare a page and takes its picture. */
async function shoot(name, address, options, act) {
  const context = await browser.newContext({ viewport: { width: 1080, height: 640 }, ...options });
  const page = await context.newPage();
  await page.goto(address.includes('file:') ? address : `${address}?fine`);
  await page.waitForFunction(() => (window.gelenk?.main?.frames.length ?? 0) > 0, null, { timeout: 60000 });
  await act(page);
  await page.waitForTimeout(1500);
  const path = join(out, `${name}.png`);
  await page.screenshot({ path });
  console.log(`${name}.png ${Math.round(statSync(path).size / 1000)} kB`);
  await context.close();
}

async function live(name, model, options, act) {
  if (only.length > 0 && !only.includes(name)) return;
  const { child, address } = await serve(...model);
  try {
    await shoot(name, address, options, act);
  } finally {
    child.kill('SIGINT');
  }
}

const until = (page, t) => page.waitForFunction((t) => window.gelenk.t > t, t, { timeout: 120000 });
const looks = (page, on) =>
  page.evaluate((on) => {
    Object.assign(window.gelenk.stage.looks, on);
    window.gelenk.bar.refresh();
  }, on);

await live('live', ['double-pendulum'], { colorScheme: 'dark' }, async (page) => {
  await looks(page, { trails: true });
  await page.keyboard.press('Space');
  await until(page, 1.2);
  const at = await page.evaluate(() => window.gelenk.stage.screenPlace(2));
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await page.mouse.move(at.x - 130, at.y - 110, { steps: 4 });
  await page.waitForTimeout(500);
});

await live('contact', ['hexapod'], { colorScheme: 'light' }, async (page) => {
  await looks(page, { contactForces: true });
  await page.keyboard.press('Space');
  await until(page, 1.0);
  await page.keyboard.press('Space');
  await page.getByRole('tab', { name: 'Model' }).click();
});

if (only.length === 0 || only.includes('overlay') || only.includes('phone')) {
  for (const [engine, more] of [
    ['impulse', ['--step', '0.02', '--order', '2']],
    ['dae', []],
  ]) {
    spawnSync(gelenk, ['run', 'eight-loop', '--engine', engine, '--duration', '3', '--output', `${engine}.mcap`, '--sample', '0.01', '--quiet', ...more], { cwd: folder });
  }
  await live('overlay', ['impulse.mcap', 'dae.mcap'], { colorScheme: 'light' }, async (page) => {
    await page.waitForFunction(() => window.gelenk.ghosts[0]?.frames.length === window.gelenk.ghosts[0]?.total && window.gelenk.main.frames.length === window.gelenk.main.total);
    await looks(page, { jointForces: true });
    await page.evaluate(() => {
      window.gelenk.stage.fit();
      window.gelenk.seek(1.55);
    });
  });
  await live('phone', ['impulse.mcap'], { colorScheme: 'dark', viewport: { width: 390, height: 760 } }, async (page) => {
    await looks(page, { trails: true });
    await page.evaluate(() => window.gelenk.seek(0.9));
  });
}

if (only.length === 0 || only.includes('report')) {
  const path = join(folder, 'report.html');
  spawnSync(gelenk, ['derive', 'double-pendulum', '--report', path, '--quiet'], { cwd: folder });
  await shoot('report', pathToFileURL(path).href, { colorScheme: 'light', viewport: { width: 1000, height: 900 } }, async (page) => {
    await looks(page, { trails: true });
    await page.addStyleTag({ content: '.report .viewer { height: 420px }' }).catch(() => {});
    await page.evaluate(() => {
      window.gelenk.seek(2.4);
      window.scrollTo(0, 120);
    });
  });
}

await browser.close();
rmSync(folder, { recursive: true, force: true });
