// A visitor's socket. The token goes in the first frame, never in an address; after a drop the
// socket comes back, tells the last turn it saw and sends again what was not answered.

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15000;
const OVER = 4401;

export class WidgetSocket {
  constructor(agent, language, { onFrame, onLost, onBack }) {
    this.agent = agent;
    this.language = language;
    this.tell = { onFrame, onLost, onBack };
    this.key = `shutten:${agent}`;
    this.unanswered = []; // frames in the order sent
    this.lastTurnId = null;
    this.pause = FIRST_PAUSE_MS;
    this.isGreeted = false;
    this.connect();
  }

  connect() {
    const address = new URL(`/ws/widget/${encodeURIComponent(this.agent)}`, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.socket = socket;
    socket.onopen = () => {
      const hello = { type: "hello", token: this.token, after: this.lastTurnId, language: this.language };
      socket.send(JSON.stringify(hello));
    };
    socket.onmessage = (event) => this.take(JSON.parse(event.data));
    socket.onclose = (event) => {
      if (event.code === OVER) this.token = null;
      this.isGreeted = false;
      this.tell.onLost();
      setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MS);
    };
  }

  ask(text) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const frame = { type: "user_message", id, text };
    this.unanswered.push(frame);
    if (this.isGreeted) this.socket.send(JSON.stringify(frame));
  }

  take(frame) {
    if (frame.type === "session") {
      this.token = frame.token;
      this.isGreeted = true;
      this.pause = FIRST_PAUSE_MS;
      for (const each of this.unanswered) this.socket.send(JSON.stringify(each));
      this.tell.onBack();
      return;
    }
    if (frame.type === "history") {
      const newest = frame.turns.at(-1)?.turn_id ?? null;
      if (!this.lastTurnId || newest > this.lastTurnId) this.lastTurnId = newest;
    }
    if (frame.type === "assistant_done" && (!this.lastTurnId || frame.turn_id > this.lastTurnId)) {
      this.lastTurnId = frame.turn_id;
      this.unanswered.shift();
    }
    if (frame.type === "error") this.unanswered.shift();
    this.tell.onFrame(frame);
  }

  // For this tab only; where a browser keeps nothing for frames of other sites, for this page only.
  get token() {
    try {
      return sessionStorage.getItem(this.key) ?? this.kept ?? null;
    } catch {
      return this.kept ?? null;
    }
  }

  set token(value) {
    this.kept = value;
    try {
      if (value === null) sessionStorage.removeItem(this.key);
      else sessionStorage.setItem(this.key, value);
    } catch {
      // kept in this page
    }
  }
}
