// ADS131M04, datasheet SBAS890D: 24-bit words, output CRC, registers with read-back, FIFO of two, DRDY as level.
// Faults can be planted: wrong CRC, missed DRDY, reset, dead.

const words_per_frame = 6;
const bytes_per_word = 3;
const frame_bytes = words_per_frame * bytes_per_word;
const drdy_high_ns = 480; // 4 tCLKIN
const defaults = () => {
  const registers = new Uint16Array(64);
  registers.set([0x2405, 0x0500, 0x0510, 0x0f0e, 0, 0, 0x0600]);
  for (let channel = 0; channel < 4; channel++) registers[12 + 5 * channel] = 0x8000;
  return registers;
};
const status_reset = 1 << 10;
const status_resync = 1 << 14;

export function crcCcitt(bytes) {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}

export class Ads131m04 {
  constructor({ clock, load, setDrdy, period_ns = 30720 }) {
    Object.assign(this, { clock, load, setDrdy, period_ns });
    this.conversions = []; // of the whole run: {nanos, v, i}; the truth that frames are compared with
    this.dead = false;
    this.corrupt_frames = 0;
    this.missed_edges = 0;
    this.wrong_frames = 0;
    this.clocked = false;
    this.selected = false;
    this.in_reset = false;
    this.end_alarm = clock.createAlarm(() => this.endConversion());
    this.edge_alarm = clock.createAlarm(() => this.setDrdy(false));
    this.resetChip();
  }

  resetChip() {
    this.registers = defaults();
    this.response = 0xff24;
    this.locked = false;
    this.fifo = [];
    this.setDrdy(true);
    this.restart();
  }
  restart() {
    this.fifo = [];
    this.registers[1] |= status_resync;
    this.end_alarm.cancel();
    if (this.clocked && !this.in_reset) this.end_alarm.schedule(this.periodNow() * 3);
  }
  periodNow() {
    const ratio = [128, 256, 512, 1024, 2048, 4096, 8192, 16256][(this.registers[3] >> 2) & 7];
    return this.period_ns * (ratio / 128);
  }
  setClock(on) {
    if (on === this.clocked) return;
    this.clocked = on;
    this.restart();
  }
  // SYNC/RESET: low for under 2048 tCLKIN synchronises, longer resets (datasheet 8.4.2).
  setSync(high) {
    if (!high) {
      this.sync_low_at = this.clock.nanos;
      return;
    }
    if (this.sync_low_at === undefined) return;
    const low_ns = this.clock.nanos - this.sync_low_at;
    this.sync_low_at = undefined;
    if (low_ns >= 2048 * 120) this.resetChip();
    else if (low_ns >= 120) this.restart();
  }

  measure(channel, n, codes) {
    const mux = this.registers[9 + 5 * channel] & 3;
    if (mux === 1) return (n % 7) - 3;
    const test = Math.round((0.16 / 1.2) * 8388608);
    if (mux === 2) return test;
    if (mux === 3) return -test;
    return codes[channel] ?? 0;
  }
  endConversion() {
    this.end_alarm.schedule(this.periodNow());
    if (this.dead) return;
    const nanos = this.clock.nanos;
    const n = this.conversions.length;
    const codes = this.load.codes(n, nanos);
    const channels = [0, 1, 2, 3].map((channel) => this.measure(channel, n, codes));
    this.conversions.push({ nanos, v: channels[0], i: channels[1] });
    if (this.fifo.length === 2) this.fifo.shift();
    this.fifo.push({ channels, n });
    if (this.missed_edges > 0) {
      this.missed_edges--;
      return;
    }
    this.setDrdy(true);
    this.edge_alarm.schedule(drdy_high_ns);
  }

  select(low) {
    if (low === this.selected) return;
    this.selected = low;
    if (low) {
      this.input = [];
      this.output = this.makeFrame();
    } else {
      this.endFrame();
    }
  }
  makeFrame() {
    const bytes = new Uint8Array(frame_bytes);
    if (this.dead) return bytes;
    const entry = this.fifo.shift();
    const put = (word, value) => bytes.set([(value >> 16) & 255, (value >> 8) & 255, value & 255], word * bytes_per_word);
    this.registers[1] = (this.registers[1] & ~15) | (entry ? 15 : 0);
    const status = this.response === "status" ? this.registers[1] : this.response;
    put(0, status << 8);
    if (this.read_back) {
      this.read_back.forEach((value, index) => { if (index + 1 < words_per_frame - 1) put(index + 1, value << 8); });
    } else {
      (entry ?? this.last_entry ?? { channels: [0, 0, 0, 0] }).channels.forEach((code, channel) => put(1 + channel, code & 0xffffff));
    }
    this.last_entry = entry ?? this.last_entry;
    let crc = crcCcitt(bytes.subarray(0, frame_bytes - bytes_per_word));
    if (this.corrupt_frames > 0) {
      this.corrupt_frames--;
      crc ^= 0x0100;
    }
    put(words_per_frame - 1, crc << 8);
    if (this.fifo.length === 0) this.setDrdy(true);
    return bytes;
  }
  exchange(byte) {
    if (!this.selected) return 0;
    this.input.push(byte);
    return this.output[this.input.length - 1] ?? 0;
  }
  endFrame() {
    if (this.input.length === 0 || this.dead) return;
    if (this.input.length < bytes_per_word) return void this.wrong_frames++;
    const word = (index) => ((this.input[index * bytes_per_word] ?? 0) << 8) | (this.input[index * bytes_per_word + 1] ?? 0);
    const command = word(0);
    const whole = this.input.length >= frame_bytes;
    const address = (command >> 7) & 63;
    const count = (command & 127) + 1;
    this.read_back = undefined;
    this.response = "status";
    if (command === 0x0011) {
      if (whole) this.resetChip();
      else this.response = 0x0011;
    } else if (command === 0x0555 || command === 0x0655) {
      this.response = command;
    } else if (command >> 13 === 5) {
      const values = Array.from(this.registers.subarray(address, address + count));
      if (count === 1) this.response = values[0];
      else {
        this.response = 0xe000 | (command & 0x1fff);
        this.read_back = values;
      }
    } else if (command >> 13 === 3) {
      for (let index = 0; index < count; index++) this.writeRegister(address + index, word(1 + index));
      this.response = 0x4000 | (address << 7) | (count - 1);
    } else if (command !== 0) {
      this.wrong_frames++;
    }
    if (this.response === "status" && this.registers[1] & status_resync && command === 0) this.registers[1] &= ~status_resync;
  }
  writeRegister(address, value) {
    if (address < 2) return;
    this.registers[address] = value;
    if (address === 2) {
      if (!(value & status_reset)) this.registers[1] &= ~status_reset;
      this.registers[1] = (this.registers[1] & ~0x300) | (value & 0x300);
    }
    if (address === 3) this.restart();
  }
  // Planted: as after a brown-out, in the midst of a stream.
  brownOut() { this.resetChip(); }
}
