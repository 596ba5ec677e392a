// Where it begins: a report has its data in the page, else there is a server.

import './style.css';
import { App } from './app.ts';
import { openReport } from './report.ts';
import { Socket } from './socket.ts';
import { applyTheme } from './theme.ts';

declare global {
  interface Window {
    /** For tests and the curious. */
    gelenk?: App;
  }
}

applyTheme();
const place = document.getElementById('viewer');
const data = document.getElementById('gelenk-data');
if (place && data) {
  window.gelenk = openReport(place, data.textContent ?? '');
} else if (place) {
  const app = new App(place, 'replay');
  const socket = new Socket();
  socket.onNews = (news) => app.news(news);
  socket.onChunk = (chunk) => app.chunk(chunk);
  socket.onState = (connected) => app.connected(connected);
  app.send = (wish) => socket.send(wish);
  socket.connect();
  window.gelenk = app;
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  window.gelenk?.stage.theme();
  window.gelenk?.plots.theme();
});
