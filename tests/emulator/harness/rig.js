// The whole emulated rig: board, chips, host. A scenario makes one, lets it stream and compares what came with what the chips gave.
import { Board } from "./board.js";
import { timeSpi } from "./shims.js";
import { UsbHost } from "./usb_host.js";
import * as protocol from "./protocol.js";
import { Ads131m04 } from "../chips/ads131m04.js";
import { Ina228 } from "../chips/ina228.js";
import { Eeprom24lc256 } from "../chips/eeprom_24lc256.js";
import { wireI2c } from "../chips/i2c_bus.js";
import { wireAdc } from "../chips/adc_front.js";
import { Load } from "../chips/load.js";

const pin = { alert: 14, chip_select: 17, drdy: 20, adc_clock: 21, sync: 22, spi_clock: 18 };
const gpout0_function = 8;
export const image_path = process.env.WATTRIG_IMAGE;

export class Rig {
  constructor({ image = image_path, load = new Load(), eeprom = new Eeprom24lc256(), front = {}, exception_cycles = 16 } = {}) {
    this.load = load;
    this.eeprom = eeprom;
    this.front = front;
    this.blocks = [];
    this.replies = [];
    this.sequence = 0;
    this.tag = 0;
    this.read_latency_ns = { worst: 0, last_drdy: 0 };
    this.board = new Board({ image, exception_cycles, attach: (mcu, board) => this.attach(mcu, board) });
    this.resetReaders();
  }

  attach(mcu, board) {
    this.current = board;
    if (!this.adc) {
      const drive = (index) => (level) => (this.board ?? board).drive(index, level);
      this.adc = new Ads131m04({ clock: mcu.clock, load: this.load, setDrdy: (level) => {
        if (!level) this.read_latency_ns.last_drdy = mcu.clock.nanos;
        drive(pin.drdy)(level);
      } });
      this.ina = new Ina228({ clock: mcu.clock, load: this.load, setAlert: drive(pin.alert) });
      this.usb = new UsbHost(board);
      this.usb.onPacket = (endpoint, packet) => this.readers[endpoint]?.push(packet);
    }
    this.usb.bind(mcu);
    wireI2c(mcu, mcu.i2c[0], { 0x40: this.ina, 0x50: this.eeprom });
    this.readings = wireAdc(mcu, this.load, this.front);
    timeSpi(mcu, mcu.spi[0], (byte) => this.adc.exchange(byte));
    mcu.gpio[pin.chip_select].addListener((state) => {
      this.adc.select(state === 0);
      if (state === 0) {
        const spi = mcu.spi[0];
        if (spi.spiMode !== 1) board.report(`SPI mode ${spi.spiMode}, the ADC wants 1`);
        if (spi.clockFrequency > 25e6) board.report("SPI clock above 25 MHz");
      } else if (this.measuring) {
        const latency = mcu.clock.nanos - this.read_latency_ns.last_drdy;
        this.read_latency_ns.worst = Math.max(this.read_latency_ns.worst, latency);
      }
    });
    mcu.gpio[pin.sync].addListener((state) => {
      if (state === 0) this.adc.setSync(false);
      else this.adc.setSync(true);
    });
    // CLKIN: the ADC runs from GPOUT0 and only at 125 MHz / 15.
    const clocks = mcu.clocks;
    const write = clocks.writeUint32.bind(clocks);
    clocks.writeUint32 = (offset, value) => {
      write(offset, value);
      if (offset > 0x04) return;
      const on = Boolean(clocks.gpout0Ctrl & (1 << 11));
      if (on && clocks.gpout0Div !== 15 << 8) board.report(`GPOUT0 divides by ${clocks.gpout0Div / 256}, not 15`);
      this.adc.setClock(on);
    };
  }

  resetReaders() {
    this.readers = {
      1: new protocol.FrameReader((frame) => { if (frame.type <= protocol.type.summary) this.blocks.push({ ...protocol.readBlock(frame.payload), sequence: frame.sequence }); }),
      2: new protocol.FrameReader((frame) => this.replies.push(protocol.readReply(frame.payload))),
    };
  }

  plugIn() {
    this.board.runUntil(() => this.usb.attached, 500, "pull-up of the device");
    this.usb.busReset();
    this.usb.configure();
    this.resetReaders();
    this.usb.reading.add(1);
    this.usb.reading.add(2);
    this.usb.sending.set(2, []);
  }
  send(id, argument_bytes) {
    const frame = protocol.makeCommand(id, ++this.tag & 0xffff, this.sequence++, argument_bytes);
    const packets = this.usb.sending.get(2);
    for (let begin = 0; begin < frame.length; begin += 64) packets.push(frame.slice(begin, begin + 64));
    if (frame.length % 64 === 0) packets.push(new Uint8Array(0));
    return this.tag & 0xffff;
  }
  ask(id, argument_bytes, milliseconds = 500) {
    const tag = this.send(id, argument_bytes);
    return this.board.runUntil(() => this.replies.find((reply) => reply.tag === tag && reply.id === id), milliseconds, `reply to command ${id}`);
  }
  info() { return protocol.readInfo(this.ask(protocol.command.get_info)); }
  counters() { return protocol.readCounters(this.ask(protocol.command.get_counters)); }
  startStream(detail = 0) {
    const reply = this.ask(protocol.command.start_stream, Uint8Array.of(1, detail, 0, 0), 1000);
    if (reply.status !== 0) throw new Error(`start_stream answered ${reply.status}`);
  }

  // Every sample of the blocks against the conversion that its time names. Device ticks are 8 ns since boot of the clock.
  compare(blocks = this.blocks) {
    const result = { samples: 0, wrong: 0, unmatched: 0, lost: 0, sum_errors: 0, first: undefined, worst_time_ns: 0 };
    const conversions = this.adc.conversions;
    let at = 0;
    for (const block of blocks) {
      const [v, i] = block.channels;
      if (!v) continue;
      const end_ns = (block.first_time + 5715) * 8;
      while (at > 0 && conversions[at].nanos > end_ns) at--;
      while (at + 1 < conversions.length && Math.abs(conversions[at + 1].nanos - end_ns) <= Math.abs(conversions[at].nanos - end_ns)) at++;
      result.worst_time_ns = Math.max(result.worst_time_ns, Math.abs(conversions[at].nanos - end_ns));
      for (let k = 0; k < block.count; k++) {
        const truth = conversions[at + k];
        result.samples++;
        if (!truth) result.unmatched++;
        else if (truth.v !== v[k] || truth.i !== i[k]) {
          result.wrong++;
          result.first ??= { block: block.first_index, k, got: [v[k], i[k]], truth };
        }
      }
    }
    return result;
  }
  // Indices must go on without a hole and the sums must be those of the codes: from PROTOCOL.md section 5.
  checkContinuity(blocks = this.blocks) {
    const problems = [];
    let previous;
    for (const block of blocks) {
      const part = block.parts[0];
      if (part.count + block.lost_samples !== block.first_index + block.span) problems.push(`block at ${block.first_index}: count + lost is not its end`);
      if (previous && block.sequence === ((previous.sequence + 1) >>> 0) && block.lost_blocks === previous.lost_blocks) {
        const hole = block.first_index - previous.first_index - previous.span;
        const counted = block.lost_samples - previous.lost_samples;
        if (hole < 0 || hole > counted) problems.push(`block at ${block.first_index}: hole of ${hole}, ${counted} counted`);
        if (block.channels.length) {
          let [sum_v, sum_i, sum_vi, sum_ii] = [0n, 0n, 0n, 0n];
          const [v, i] = block.channels;
          for (let k = 0; k < block.count; k++) {
            sum_v += BigInt(v[k]);
            sum_i += BigInt(i[k]);
            sum_vi += BigInt(v[k]) * BigInt(i[k]);
            sum_ii += BigInt(i[k]) * BigInt(i[k]);
          }
          const before = previous.parts[0];
          if (part.sum_v - before.sum_v !== sum_v || part.sum_i - before.sum_i !== sum_i || part.sum_vi - before.sum_vi !== sum_vi ||
              part.sum_ii - before.sum_ii !== sum_ii) problems.push(`block at ${block.first_index}: sums are not those of its codes`);
        }
      }
      previous = block;
    }
    return problems;
  }
}
