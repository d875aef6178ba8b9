// The harness itself: strict mode sees what it must, the stub ROM traps, boot2's CRC is checked, the models keep to their data
// sheets; and for each shim, whether rp2040js still needs it. Programs here are a few Thumb instructions, no compiler needed.
import assert from "node:assert";
import test from "node:test";
import { RP2040 } from "rp2040js";
import { Board, boot2Crc, makeStubRom } from "../harness/board.js";
import { convert } from "../chips/adc_front.js";
import { crcCcitt } from "../chips/ads131m04.js";
import { Eeprom24lc256 } from "../chips/eeprom_24lc256.js";
import { Load } from "../chips/load.js";
import { completeI2c, timeSpi } from "../harness/shims.js";

// An image whose boot2 is the program: halfwords, then words that pc-relative loads of it may use.
function imageOf(halfwords, words = [], words_at = 128) {
  const image = new Uint8Array(512);
  const view = new DataView(image.buffer);
  halfwords.forEach((halfword, k) => view.setUint16(2 * k, halfword, true));
  words.forEach((word, k) => view.setUint32(words_at + 4 * k, word, true));
  view.setUint32(252, boot2Crc(image.subarray(0, 252)), true);
  return image;
}
const boot2_address = 0x20041f00;
const stay = 0xe7fe; // b .
const load = (register, at, target) => 0x4800 | (register << 8) | ((target - ((at + 4) & ~3)) / 4); // ldr rN, [pc, #...]
const faultsOf = (halfwords, words, micros = 20) => {
  const board = new Board({ image: imageOf(halfwords, words) });
  board.run(micros * 1000);
  return board.faults;
};
// r0 = first word, r1 = second word, then `what`.
const access = (what, address, value = 0) => faultsOf([load(0, 0, 128), load(1, 2, 132), what, stay], [address, value]);
const str = 0x6001; // str r1, [r0]
const strh = 0x8001;
const ldr = 0x6801;

test("a program without a fault has none", () => assert.deepStrictEqual(access(str, 0x20000100, 7), []));
test("boot2 with a wrong CRC does not boot", () => {
  const image = imageOf([stay]);
  image[20] ^= 1;
  assert.throws(() => new Board({ image }), /CRC/);
});
for (const [name, what, address, pattern] of [
  ["store to flash", str, 0x10000200, /store to flash/], ["store to ROM", str, 0x00000100, /store to ROM/],
  ["unaligned store", str, 0x20000102, /unaligned store/], ["unaligned halfword store", strh, 0x20000101, /unaligned store/],
  ["unaligned read", ldr, 0x20000102, /unaligned word read/], ["unmapped read", ldr, 0x30000000, /warning/],
  ["unmapped store", str, 0x30000000, /warning/], ["SPI before its reset is released", str, 0x4003c000, /in reset/],
  ["USB before its reset is released", ldr, 0x50110040, /in reset/], ["TIMER before its reset is released", ldr, 0x40054028, /in reset/],
  ["halfword store to USB memory", strh, 0x50100010, /narrower/],
]) test(`strict mode: ${name}`, () => assert.match(access(what, address).join("\n"), pattern));

test("strict mode: TIMER without WATCHDOG_TICK, SPI without clk_peri, ADC without clk_adc", () => {
  // Everything out of reset first: RESETS + 0x3000 clears bits.
  const released = (address) => faultsOf([load(0, 0, 128), load(1, 2, 132), str, load(0, 6, 136), ldr, stay], [0x4000f000, 0x1ffffff, address]);
  assert.match(released(0x40054028).join(), /WATCHDOG_TICK/);
  assert.match(released(0x4003c000).join(), /clk_peri/);
  assert.match(released(0x4004c000).join(), /clk_adc/);
  assert.match(released(0x50110040).join(), /clk_usb/);
});
test("the stub ROM traps, and only its table look-up returns", () => {
  assert.match(faultsOf([load(0, 0, 128), 0x4700, stay], [0x00000201]).join(), /breakpoint/);
  const rom = new Uint16Array(makeStubRom().buffer);
  assert.equal(rom[0x18 / 2], 0x41);
  assert.equal(rom.filter((halfword) => halfword !== 0xbe00).length, 2 + 1 + 6);
});
test("an exception costs 32 cycles", () => {
  const run = (exception_cycles) => {
    // Vectors in SRAM, SysTick pended by ICSR, handler returns at once.
    const image = imageOf([load(0, 0, 128), load(1, 2, 132), str, load(0, 6, 136), load(1, 8, 140), str, load(0, 12, 144), load(1, 14, 148), str, stay],
                          [0xe000ed08, 0x20000000, 0x2000003c, 0x20000101, 0xe000ed04, 1 << 26]);
    const board = new Board({ image, exception_cycles });
    board.mcu.sramView.setUint16(0x100, 0x4770, true); // bx lr
    const end = boot2_address + 2 * 9; // where `stay` lies
    const back = () => board.mcu.core.exceptionCount === 1 && board.mcu.core.PC >>> 0 === end;
    for (let steps = 0; steps < 500 && !back(); steps++) board.run(1);
    assert.equal(board.mcu.core.PC >>> 0, end);
    assert.equal(board.mcu.core.exceptionCount, 1);
    assert.deepStrictEqual(board.faults, []);
    return board.busy_cycles;
  };
  assert.equal(run(16) - run(0), 32);
});

test("ADS131M04: the CRC of frames seen on real parts", () => {
  for (const [frame, crc] of [["240500000000000000000000000000", 0xcea1], ["ff2400f7a8667fffff7ffffff25768", 0x27c4],
                              ["0510000e16737fffff7ffffff25179", 0xab4b], ["410100c1a7866bab286bab287398dd", 0xebc0]]) {
    assert.equal(crcCcitt(Buffer.from(frame, "hex")), crc);
  }
});
test("24LC256: a page wraps, is busy for 5 ms, and power may go at any byte", () => {
  const chip = new Eeprom24lc256();
  const write = (address, bytes, nanos) => {
    if (!chip.start(false, nanos)) return false;
    for (const byte of [address >> 8, address & 255, ...bytes]) chip.write(byte);
    chip.stop(nanos);
    return true;
  };
  assert.ok(write(62, [1, 2, 3], 0));
  assert.deepStrictEqual([chip.memory[62], chip.memory[63], chip.memory[0], chip.memory[64]], [1, 2, 3, 255]);
  assert.equal(write(0, [9], 4_999_999), false);
  assert.equal(write(128, [9], 5_000_000), true);
  chip.power_budget = 1;
  assert.ok(write(192, [7, 8], 20e6));
  assert.deepStrictEqual([chip.memory[192], chip.memory[193]], [7, 255]);
  assert.equal(chip.start(false, 90e6), false);
});
test("the MCU's ADC: steps of E11 and 8.7 effective bits", () => {
  const at = (code) => convert(((code + 0.5) / 4096) * 7.5, 0, 0, { noise: 0, ripple: 0 });
  const widths = new Map();
  for (let k = 0; k < 4096 * 16; k++) {
    const code = at(k / 16);
    widths.set(code, (widths.get(code) ?? 0) + 1 / 16);
  }
  for (const wide of [512, 1536, 2560, 3584]) assert.ok(widths.get(wide) > 8 && widths.get(wide) < 10, `code ${wide} is ${widths.get(wide)} wide`);
  assert.ok([...widths].filter(([code, width]) => width > 2 && code > 0 && code < 4080).length === 4);
  let [sum, squares] = [0, 0];
  const count = 20000;
  for (let n = 0; n < count; n++) {
    const code = convert(1.0, n, 0, { ripple: 0 });
    sum += code;
    squares += code * code;
  }
  const rms = Math.sqrt(squares / count - (sum / count) ** 2);
  const effective = Math.log2(4096 / Math.sqrt(12) / rms);
  assert.ok(Math.abs(effective - 8.7) < 0.15, `${effective} bits`);
});
test("the load: spikes are where they are said to be", () => {
  const model = new Load({ base_ampere: 1, spikes: [{ begin_ns: 1000, end_ns: 2000, ampere: 5 }, { begin_ns: 5000, end_ns: 5500, ampere: 0.1 }] });
  assert.deepStrictEqual([999, 1000, 1999, 2000, 5000, 5500, 1500].map((t) => model.ampere(t)), [1, 5, 5, 1, 0.1, 1, 5]);
});

// ---- does stock rp2040js still need the shim? A failure here says: upstream has mended it, drop the shim.
const stock = () => {
  const mcu = new RP2040();
  mcu.logger = { debug() {}, info() {}, warn() {}, error() {} };
  return mcu;
};
test("still needed: timeSpi (stock completes at once)", () => {
  const mcu = stock();
  mcu.spi[0].writeUint32(4, 2);
  for (let k = 0; k < 12; k++) mcu.spi[0].writeUint32(8, k);
  assert.equal(mcu.spi[0].rxFIFO.itemCount, 8, "twelve words came back in no time, four are lost");
  const timed = stock();
  timeSpi(timed, timed.spi[0], () => 1);
  timed.spi[0].writeUint32(0x10, 2);
  timed.spi[0].writeUint32(0, 7);
  timed.spi[0].writeUint32(8, 1);
  assert.equal(timed.spi[0].rxFIFO.itemCount, 0);
});
test("still needed: completeI2c (stock has no IC_INTR_MASK)", () => {
  const mcu = stock();
  mcu.i2c[0].writeUint32(0x30, 0x10);
  assert.equal(mcu.i2c[0].intEnable, 0);
  const mended = stock();
  completeI2c(mended, mended.i2c[0]);
  mended.i2c[0].writeUint32(0x30, 0x10);
  assert.equal(mended.i2c[0].intEnable, 0x10);
});
test("still needed: completeAdc (stock keeps START_ONE)", () => {
  const mcu = stock();
  mcu.adc.writeUint32(0, 5);
  assert.ok(mcu.adc.cs & 4);
});
test("still needed: alignTimer (stock rings early)", () => {
  const mcu = stock();
  mcu.clock.tick(1500);
  const timer = mcu.peripherals[0x40054];
  timer.writeUint32(0x10, 3);
  assert.notEqual(timer.alarms[0].clockAlarm.nanos, 3000);
});
test("still needed: trackResets (stock says that everything is out of reset)", () => {
  assert.equal(stock().peripherals[0x4000c].readUint32(8), 0x1ffffff);
});
test("still needed: connectPads (stock pads wake with the input off)", () => assert.equal(stock().gpio[3].padValue & 0x40, 0));
test("still needed: addExceptionCost (stock exceptions are free)", () => {
  const mcu = stock();
  mcu.core.SP = 0x20001000;
  const before = mcu.core.cycles;
  mcu.core.exceptionEntry(16);
  assert.equal(mcu.core.cycles, before);
});
test("still needed: the token-level host (stock takes an IN packet when AVAILABLE is written)", () => {
  const mcu = stock();
  mcu.writeUint32(0x50100080, 0x8000 | 0x400 | 8);
  assert.equal(mcu.usbDPRAMView.getUint32(0x80, true) & 0x400, 0);
});
test("still needed: maskWaitForInterrupt (stock takes the exception under PRIMASK)", () => {
  const mcu = stock();
  mcu.core.SP = 0x20001000;
  mcu.core.PM = true;
  mcu.core.waiting = true;
  mcu.core.enabledInterrupts = 1;
  mcu.core.pendingInterrupts = 1;
  mcu.core.interruptPriorities[0] = 1;
  mcu.core.IPSR = 0;
  const before = mcu.core.IPSR;
  mcu.core.checkForInterrupts();
  assert.notEqual(mcu.core.IPSR, before);
});
