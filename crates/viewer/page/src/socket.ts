// The connection to the server.

import type { Chunk, News } from './protocol.ts';
import { readChunk } from './protocol.ts';

export class Socket {
  onNews: (news: News) => void = () => {};
  onChunk: (chunk: Chunk) => void = () => {};
  onState: (connected: boolean) => void = () => {};
  private socket: WebSocket | null = null;
  private waiting = 500;

  connect(): void {
    const address = new URL('socket', location.href);
    address.protocol = 'ws:';
    address.search = '';
    address.hash = '';
    const socket = new WebSocket(address);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => {
      this.waiting = 500;
      this.onState(true);
    };
    socket.onmessage = (message: MessageEvent<string | ArrayBuffer>) => {
      if (typeof message.data === 'string') this.onNews(JSON.parse(message.data) as News);
      else this.onChunk(readChunk(message.data));
    };
    socket.onclose = () => {
      this.onState(false);
      setTimeout(() => this.connect(), this.waiting);
      this.waiting = Math.min(2 * this.waiting, 10000);
    };
  }

  send(wish: Record<string, unknown>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(wish));
  }
}
