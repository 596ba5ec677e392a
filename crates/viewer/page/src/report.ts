// A report: runs that lie in the page itself.

import { App } from './app.ts';
import type { EventSpec, Facts, SceneSpec } from './protocol.ts';
import { readChunk } from './protocol.ts';

interface ReportRun {
  label: string;
  scene: SceneSpec;
  /** A chunk of frames, base64. */
  frames: string;
  events: EventSpec[];
  facts: Facts;
}

function bytes(base64: string): ArrayBuffer {
  const text = atob(base64);
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
  return out.buffer;
}

export function openReport(place: HTMLElement, json: string): App | undefined {
  const { runs } = JSON.parse(json) as { runs: ReportRun[] };
  if (runs.length === 0) return undefined;
  const app = new App(place, 'report');
  runs.forEach((run, id) => {
    app.news({ type: 'scene', run: id, generation: 0, keeps: false, scene: run.scene });
    const chunk = readChunk(bytes(run.frames));
    app.news({ type: 'run', run: id, label: run.label, generation: 0, first: 0, frames: chunk.frames.length, growing: false, facts: run.facts });
    app.news({ type: 'events', run: id, from: 0, events: run.events });
    app.chunk({ ...chunk, run: id, generation: 0 });
  });
  app.bar.refresh();
  app.panels.events();
  app.panels.runs();
  return app;
}
