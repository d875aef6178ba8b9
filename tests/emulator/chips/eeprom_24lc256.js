// 24LC256 (DS20001203): pages of 64 bytes that wrap, no acknowledge for 5 ms after a write, 2 address bytes.
// Power loss: after `power_budget` bytes have become permanent, nothing more is stored and the chip is silent until powerOn().

const bytes = 32768;
const page_bytes = 64;
const write_ns = 5_000_000;

export class Eeprom24lc256 {
  constructor(memory = new Uint8Array(bytes).fill(0xff)) {
    this.memory = memory;
    this.busy_until = 0;
    this.address = 0;
    this.power_budget = Infinity;
    this.stored = 0;
    this.page = [];
    this.writes = 0;
  }
  get powered() { return this.power_budget > 0; }
  powerOn() {
    this.power_budget = Infinity;
    this.busy_until = 0;
  }
  start(reading, nanos) {
    if (!this.powered || nanos < this.busy_until) return false;
    this.count = 0;
    if (!reading) this.page = [];
    return true;
  }
  write(byte) {
    if (!this.powered) return false;
    if (this.count === 0) this.address = (byte << 8) & (bytes - 1);
    else if (this.count === 1) this.address |= byte;
    else this.page.push(byte);
    this.count++;
    return true;
  }
  read() {
    const byte = this.memory[this.address];
    this.address = (this.address + 1) % bytes;
    return byte;
  }
  stop(nanos) {
    if (this.page.length === 0) return;
    const base = this.address - (this.address % page_bytes);
    let offset = this.address % page_bytes;
    for (const byte of this.page) {
      if (!this.powered) break;
      this.memory[base + offset] = byte;
      offset = (offset + 1) % page_bytes;
      this.stored++;
      this.power_budget--;
    }
    this.page = [];
    this.writes++;
    this.busy_until = nanos + write_ns;
  }
}
