// What the chip would punish and rp2040js lets pass. Everything found goes to `report`; a scenario fails on the first one.

const flash_begin = 0x10000000;
const flash_end = 0x18000000; // all aliases and the cache's window
const clock_enable = 1 << 11;

// Bit in RESETS, base >> 12, name of the clock that must run.
const blocks = [
  [0, 0x4004c, "adc"], [2, 0x50000], [3, 0x40044], [4, 0x40048], [5, 0x40014], [8, 0x4001c], [12, 0x40028], [13, 0x4002c],
  [14, 0x40050], [16, 0x4003c, "peri"], [17, 0x40040, "peri"], [21, 0x40054], [22, 0x40034, "peri"], [23, 0x40038, "peri"],
  [24, 0x50110, "usb"],
];

export function makeStrict(mcu, report) {
  trackResets(mcu, report);
  checkAccesses(mcu, report);
  mcu.logger = {
    debug() {}, info() {},
    warn: (component, message) => report(`emulator warning: ${component}: ${message}`),
    error: (component, message) => report(`emulator error: ${component}: ${message}`),
  };
  mcu.onBreak = (code) => report(`breakpoint ${code} at ${(mcu.core.PC >>> 0).toString(16)}`);
}

function trackResets(mcu, report) {
  const resets = mcu.peripherals[0x4000c];
  const all = 0x1ffffff;
  resets.reset = all;
  Object.defineProperty(resets, "reset_done", { get: () => all & ~resets.reset, configurable: true });
  const watchdog = mcu.peripherals[0x40058];
  const clocks = mcu.clocks;
  const runs = {
    adc: () => clocks.adcCtrl & clock_enable,
    peri: () => clocks.periCtrl & clock_enable,
    usb: () => clocks.usbCtrl & clock_enable,
  };
  for (const [bit, base, clock] of blocks) {
    const block = mcu.peripherals[base];
    const read = block.readUint32;
    const write = block.writeUint32Atomic;
    const check = (what, offset) => {
      const where = `${what} ${block.name}+0x${offset.toString(16)}`;
      if ((resets.reset >>> bit) & 1) report(`${where} while in reset`);
      else if (clock && !runs[clock]()) report(`${where} without clk_${clock}`);
    };
    block.readUint32 = function (offset) {
      check("read of", offset);
      if (base === 0x40054 && !watchdog.tickEnable) report("TIMER read before WATCHDOG_TICK was enabled");
      return read.call(this, offset);
    };
    block.writeUint32Atomic = function (offset, value, kind) {
      check("write to", offset);
      return write.call(this, offset, value, kind);
    };
  }
  watchdog.tickEnable = false;
}

function checkAccesses(mcu, report) {
  const core = mcu.core;
  const at = () => `by ${(core.PC >>> 0).toString(16)}`;
  const stock = {};
  for (const name of ["readUint16", "readUint32", "writeUint8", "writeUint16", "writeUint32"]) stock[name] = mcu[name].bind(mcu);
  mcu.readUint16 = (address) => {
    if (address & 1) report(`unaligned halfword read at ${(address >>> 0).toString(16)} ${at()}`);
    return stock.readUint16(address);
  };
  mcu.readUint32 = (address) => {
    if (address & 3) report(`unaligned word read at ${(address >>> 0).toString(16)} ${at()}`);
    return stock.readUint32(address);
  };
  const guard = (address, alignment) => {
    const place = address >>> 0;
    if (place & alignment) report(`unaligned store at ${place.toString(16)} ${at()}`);
    if (place < flash_end) report(`store to ${place < flash_begin ? "ROM" : "flash"} at ${place.toString(16)} ${at()}`);
    if (alignment !== 3 && place >>> 12 === 0x50100) report(`store narrower than a word to USB memory at ${place.toString(16)} ${at()}`);
  };
  mcu.writeUint8 = (address, value) => { guard(address, 0); stock.writeUint8(address, value); };
  mcu.writeUint16 = (address, value) => { guard(address, 1); stock.writeUint16(address, value); };
  mcu.writeUint32 = (address, value) => { guard(address, 3); stock.writeUint32(address, value); };
}
