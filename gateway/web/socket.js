// One conversation's socket. After a drop it comes back, asks for what it missed and sends again
// what was not answered; the gateway knows a frame it has already.

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15000;
const SIGNED_OUT = 4401;

export class ChatSocket {
  constructor(conversationId, lastTurnId, { onFrame, onLost, onBack, onSignedOut }) {
    this.conversationId = conversationId;
    this.tell = { onFrame, onLost, onBack, onSignedOut };
    this.unanswered = []; // frames in the order sent
    this.lastTurnId = lastTurnId;
    this.pause = FIRST_PAUSE_MS;
    this.isOver = false;
    this.connect();
  }

  connect() {
    const address = new URL("/ws/chat", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.searchParams.set("conversation_id", this.conversationId);
    address.searchParams.set("after", this.lastTurnId ?? "");
    const socket = new WebSocket(address);
    this.socket = socket;
    socket.onopen = () => {
      this.pause = FIRST_PAUSE_MS;
      for (const frame of this.unanswered) socket.send(JSON.stringify(frame));
      this.tell.onBack();
    };
    socket.onmessage = (event) => this.take(JSON.parse(event.data));
    socket.onclose = (event) => {
      if (this.isOver) return;
      if (event.code === SIGNED_OUT) return void this.tell.onSignedOut();
      this.tell.onLost();
      this.timer = setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE_MS);
    };
  }

  ask(text, agent) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const frame = { type: "user_message", id, text, attachments: [], agent };
    this.unanswered.push(frame);
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(frame));
  }

  take(frame) {
    if (frame.type === "assistant_done") {
      if (!this.lastTurnId || frame.turn_id > this.lastTurnId) {
        this.lastTurnId = frame.turn_id;
        this.unanswered.shift();
      }
    }
    if (frame.type === "error") this.unanswered.shift();
    this.tell.onFrame(frame);
  }

  close() {
    this.isOver = true;
    clearTimeout(this.timer);
    this.socket.close();
  }
}
