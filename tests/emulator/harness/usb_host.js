// A full-speed host at the level of tokens, and the device controller's side of them. This model is ours: rp2040js's own consumes
// an IN packet when AVAILABLE is written and knows no NAK, PID, suspend or start of frame.
// Buffer control words: RP2040 datasheet 4.1.2.5.

const available = 1 << 10;
const stalled = 1 << 11;
const data1 = 1 << 13;
const full = 1 << 15;
const length_mask = 0x3ff;
const status = { suspended: 1 << 4, resume: 1 << 11, setup: 1 << 17, bus_reset: 1 << 19, sequence: 1 << 31 };
const frame_interrupt = 1 << 17;
const transactions_per_frame = 19; // of 64 bytes, as many as fit in 1 ms
const packet_bytes = 64;

export class UsbHost {
  constructor(board) {
    this.board = board;
    this.reading = new Set(); // IN endpoints with a transfer submitted
    this.sending = new Map(); // OUT endpoint -> packets
    this.onPacket = () => {};
    this.counts = { in: 0, out: 0, nak: 0, stall: 0, frames: 0 };
    this.errors = [];
    this.arm_latest_ns = 0;
    this.frames_on = false;
    this.toggles = new Map();
    let slot = 0;
    this.slot_alarm = board.clock.createAlarm(() => {
      const now = Math.round((slot * 1e6) / transactions_per_frame);
      const next = Math.round(((slot + 1) * 1e6) / transactions_per_frame);
      this.slot_alarm.schedule(next - now);
      if (this.frames_on) {
        if (slot === 0) this.startFrame();
        this.serveSlot();
      }
      slot = (slot + 1) % transactions_per_frame;
    });
    this.slot_alarm.schedule(1000);
  }

  bind(mcu) {
    this.mcu = mcu;
    this.usb = mcu.usbCtrl;
    this.memory = mcu.usbDPRAMView;
    const usb = this.usb;
    usb.DPRAMUpdated = () => {};
    const read = usb.readUint32.bind(usb);
    const write = usb.writeUint32.bind(usb);
    usb.readUint32 = (offset) => {
      const value = read(offset);
      if ((offset & 0xfff) === 0x48 && usb.intRaw & frame_interrupt) {
        usb.intRaw &= ~frame_interrupt;
        usb.checkInterrupts();
      }
      return value;
    };
    usb.writeUint32 = (offset, value) => {
      if (offset === 0x50) usb.sieStatus &= ~(usb.rawWriteValue & (status.suspended | (1 << 26) | (1 << 25)));
      write(offset, value);
    };
  }

  get attached() { return Boolean(this.usb.sieCtrl & (1 << 16)); }
  raise(bit) {
    this.usb.sieStatus |= bit;
    this.usb.sieStatusUpdated();
  }
  endpointControl(endpoint, out) { return this.memory.getUint32(8 * endpoint + (out ? 4 : 0), true); }
  interrupts(endpoint, out) {
    return endpoint ? this.endpointControl(endpoint, out) & (1 << 29) : this.usb.sieCtrl & (1 << 29);
  }
  bufferAddress(endpoint, out) { return endpoint ? this.endpointControl(endpoint, out) & 0xffc0 : 0x100; }
  enabled(endpoint, out) { return endpoint === 0 || this.endpointControl(endpoint, out) >>> 31; }

  startFrame() {
    this.counts.frames++;
    this.usb.sofFrameNumber = (this.usb.sofFrameNumber + 1) & 0x7ff;
    this.usb.intRaw |= frame_interrupt;
    this.usb.checkInterrupts();
  }

  sendSetup(packet) {
    this.mcu.usbDPRAM.set(packet, 0);
    this.usb.epStallArm = 0; // a SETUP ends a stall of endpoint 0
    this.toggles.set("in0", 1).set("out0", 1);
    this.raise(status.setup);
  }

  // One IN token: the packet, "nak" or "stall".
  takeIn(endpoint) {
    const offset = 0x80 + 8 * endpoint;
    const word = this.memory.getUint32(offset, true);
    const count = (answer) => {
      this.counts[answer]++;
      return answer;
    };
    if (!this.enabled(endpoint, false)) return count("nak");
    if (word & stalled && (endpoint || this.usb.epStallArm & 1)) return count("stall");
    if (!(word & available) || !(word & full)) return count("nak");
    const key = `in${endpoint}`;
    const expected = this.toggles.get(key) ?? 0;
    const pid = word & data1 ? 1 : 0;
    if (pid !== expected) this.errors.push(`IN ${endpoint} sent DATA${pid}, DATA${expected} was due`);
    this.toggles.set(key, pid ^ 1);
    const begin = this.bufferAddress(endpoint, false);
    const packet = this.mcu.usbDPRAM.slice(begin, begin + (word & length_mask));
    if (packet.length > packet_bytes) this.errors.push(`IN ${endpoint} sent ${packet.length} bytes`);
    this.memory.setUint32(offset, (word & ~(available | full)) >>> 0, true);
    if (this.interrupts(endpoint, false)) this.usb.indicateBufferReady(endpoint, false);
    this.counts.in++;
    return packet;
  }

  giveOut(endpoint, packet) {
    const offset = 0x84 + 8 * endpoint;
    const word = this.memory.getUint32(offset, true);
    if (!this.enabled(endpoint, true)) return "nak";
    if (word & stalled && (endpoint || this.usb.epStallArm & 2)) {
      this.counts.stall++;
      return "stall";
    }
    if (!(word & available) || word & full) return "nak";
    const key = `out${endpoint}`;
    const pid = this.toggles.get(key) ?? 0;
    if ((word & data1 ? 1 : 0) !== pid) {
      this.errors.push(`OUT ${endpoint} expected another PID than DATA${pid}`);
      this.raise(status.sequence);
      return "ack";
    }
    this.toggles.set(key, pid ^ 1);
    this.mcu.usbDPRAM.set(packet, this.bufferAddress(endpoint, true));
    this.memory.setUint32(offset, ((word & ~(available | length_mask)) | full | packet.length) >>> 0, true);
    if (this.interrupts(endpoint, true)) this.usb.indicateBufferReady(endpoint, true);
    this.counts.out++;
    return "ack";
  }

  // One data transaction a slot; NAKs are cheap and cost none. Endpoints take turns.
  serveSlot() {
    for (const [endpoint, packets] of this.sending) {
      if (packets.length && this.giveOut(endpoint, packets[0]) === "ack") {
        packets.shift();
        return;
      }
    }
    for (const endpoint of [...this.reading]) {
      const packet = this.takeIn(endpoint);
      if (typeof packet === "string") continue;
      this.reading.delete(endpoint);
      this.reading.add(endpoint); // to the end of the queue
      this.onPacket(endpoint, packet);
      return;
    }
  }

  // ---- what a driver does; each call runs the board until it is done
  control(type, request, value, index, length, data = new Uint8Array(0)) {
    this.sendSetup(Uint8Array.of(type, request, value & 255, value >> 8, index & 255, index >> 8, length & 255, length >> 8));
    this.board.run(50_000);
    const answered = (token, what) => this.board.runUntil(() => {
      const answer = token();
      return answer === "nak" ? false : answer;
    }, 50, what);
    const empty = new Uint8Array(0);
    if (type & 0x80) {
      const received = [];
      for (;;) {
        const packet = answered(() => this.takeIn(0), "data of endpoint 0");
        if (packet === "stall") return "stall";
        received.push(...packet);
        if (packet.length < packet_bytes || received.length >= length) break;
      }
      this.toggles.set("out0", 1);
      if (answered(() => this.giveOut(0, empty), "status of endpoint 0") === "stall") return "stall";
      this.board.run(50_000);
      return Uint8Array.from(received);
    }
    for (let begin = 0; begin < length; begin += packet_bytes) {
      const packet = data.subarray(begin, Math.min(begin + packet_bytes, length));
      if (answered(() => this.giveOut(0, packet), "data to endpoint 0") === "stall") return "stall";
    }
    this.toggles.set("in0", 1);
    if (answered(() => this.takeIn(0), "status of endpoint 0") === "stall") return "stall";
    this.board.run(50_000);
    if (type === 0 && request === 9) this.toggles = new Map();
    if (type === 2 && request === 1 && value === 0) this.toggles.set(`${index & 0x80 ? "in" : "out"}${index & 15}`, 0);
    return empty;
  }

  quiet() {
    this.frames_on = false;
    this.reading.clear();
    this.sending.clear();
    this.toggles = new Map();
  }
  busReset() {
    this.quiet();
    this.board.run(100_000);
    this.raise(status.bus_reset);
    this.board.runUntil(() => !(this.usb.sieStatus & status.bus_reset), 50, "answer to a bus reset");
    this.board.run(10e6);
    this.frames_on = true;
    this.board.run(2e6);
  }
  suspend() {
    this.frames_on = false;
    this.board.run(3e6);
    this.raise(status.suspended);
  }
  resume() {
    this.usb.sieStatus &= ~status.suspended;
    this.raise(status.resume);
    this.board.run(20e6);
    this.frames_on = true;
  }
  configure() {
    this.control(0, 5, 9, 0, 0);
    if (this.control(0, 9, 1, 0, 0) === "stall") throw new Error("SET_CONFIGURATION was stalled");
  }
}
