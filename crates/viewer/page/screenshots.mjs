// Takes the pictures of the guide from the real page:
//
//   cargo build -p gelenk-cli && node crates/viewer/page/screenshots.mjs

import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { deflateSync } from 'node:zlib';
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
  // While the page is being written: take it from a folder instead of the program.
  if (process.env.PAGE && address.startsWith('http')) {
    for (const file of ['page.js', 'page.css']) await page.route(`**/${file}`, (route) => route.fulfill({ path: join(process.env.PAGE, file) }));
  }
  await page.goto(address.includes('file:') ? address : `${address}?fine`);
  await page.waitForFunction(() => (window.gelenk?.main?.frames.length ?? 0) > 0, null, { timeout: 60000 });
  await act(page);
  await page.waitForTimeout(1500);
  const path = join(out, `${name}.png`);
  await save(context, await page.screenshot(), path);
  console.log(`${name}.png ${Math.round(statSync(path).size / 1000)} kB`);
  await context.close();
}

/** Saves a picture with 256 colours: a third of the bytes, and the eye does not see it. */
async function save(context, png, path) {
  const page = await context.newPage();
  const { width, height, rgba } = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]));
    const ink = new OffscreenCanvas(image.width, image.height).getContext('2d');
    ink.drawImage(image, 0, 0);
    const { data } = ink.getImageData(0, 0, image.width, image.height);
    let text = '';
    for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
    return { width: image.width, height: image.height, rgba: btoa(text) };
  }, png.toString('base64'));
  const pixels = Buffer.from(rgba, 'base64');
  const coarse = (i) => ((pixels[i] >> 2) << 12) | ((pixels[i + 1] >> 2) << 6) | (pixels[i + 2] >> 2);
  const counts = new Map();
  for (let i = 0; i < pixels.length; i += 4) counts.set(coarse(i), (counts.get(coarse(i)) ?? 0) + 1);
  const part = (colour, shift) => (colour >> shift) & 63;
  const apart = (a, b) => [12, 6, 0].reduce((sum, shift) => sum + (part(a, shift) - part(b, shift)) ** 2, 0);
  // The most frequent ones, then those that are farthest from all chosen, so that small bright things keep their colour.
  const ranked = [...counts].sort((a, b) => b[1] - a[1]).map(([colour]) => colour);
  const colours = ranked.splice(0, 128);
  const rest = ranked.filter((colour) => counts.get(colour) > 2);
  const gaps = rest.map((colour) => Math.min(...colours.map((other) => apart(colour, other))));
  while (colours.length < 256 && rest.length > 0) {
    const next = gaps.indexOf(Math.max(...gaps));
    const [colour] = rest.splice(next, 1);
    gaps.splice(next, 1);
    colours.push(colour);
    rest.forEach((other, i) => (gaps[i] = Math.min(gaps[i], apart(colour, other))));
  }
  const nearest = new Map(colours.map((colour, i) => [colour, i]));
  const find = (colour) => {
    let [best, least] = [0, Infinity];
    colours.forEach((other, i) => {
      const d = apart(colour, other);
      if (d < least) [best, least] = [i, d];
    });
    nearest.set(colour, best);
    return best;
  };
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const colour = coarse(4 * (y * width + x));
      rows[y * (width + 1) + 1 + x] = nearest.get(colour) ?? find(colour);
    }
  }
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const palette = Buffer.from(colours.flatMap((colour) => [12, 6, 0].map((shift) => Math.round((part(colour, shift) * 255) / 63))));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [chunk('IHDR', head), chunk('PLTE', palette), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))];
  writeFileSync(path, Buffer.concat([signature, ...parts]));
  await page.close();
}

/** The checksum of PNG chunks. */
function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
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
  // Taken while it stands still, then pulled while it runs.
  const at = await page.evaluate(() => window.gelenk.stage.screenPlace(2));
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await page.keyboard.press('Space');
  await until(page, 0.4);
  await page.mouse.move(at.x - 190, at.y - 40, { steps: 4 });
  await until(page, 2.2);
  await page.mouse.move(at.x + 20, at.y - 150, { steps: 4 });
  await until(page, 3.2);
  // Frames that a slow page has missed come after.
  await page.keyboard.press('Space');
  await page.waitForFunction(() => !window.gelenk.playing && window.gelenk.main.gap() === null, null, { timeout: 60000 });
  await page.evaluate(() => window.gelenk.refreshPlots());
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
