// A Pico with the unmodified image on it: RP2040 from its boot2 on, one clock in whole nanoseconds that follows the core's
// cycles, and a watchdog that really resets. Chips outside attach through `attach(mcu, board)`, which is called again for the new
// chip after each reset; nothing else may keep an `mcu`.
import { readFileSync } from "node:fs";
import { RP2040 } from "rp2040js";
import * as shims from "./shims.js";
import { makeStrict } from "./strict.js";

const boot2_bytes = 256;
const boot2_address = 0x20041f00;
const breakpoint = 0xbe00;

// The ROM's check of boot2: CRC-32 of polynomial 04c11db7, not reflected, start all ones, no final inversion.
export function boot2Crc(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  }
  return crc >>> 0;
}

// 16 KiB that trap wherever they run, but for the table look-up, which answers every code with one trapping function.
export function makeStubRom() {
  const halfwords = new Uint16Array(8192).fill(breakpoint);
  const lookup = 0x40;
  const trap = 0x61; // thumb address of a breakpoint
  halfwords.set([0x2000 | trap, 0x4770], lookup / 2); // movs r0, #trap; bx lr
  halfwords[0x18 / 2] = lookup + 1;
  const words = new Uint32Array(halfwords.buffer);
  words[0] = boot2_address;
  words[1] = trap;
  words[0x10 / 4] = 0x0201754d; // "Mu", version of the ROM
  return words;
}

export class Board {
  constructor({ image, attach = () => {}, tolerate = () => false, exception_cycles = 16 }) {
    this.attach = attach;
    this.tolerate = tolerate;
    this.exception_cycles = exception_cycles;
    this.faults = [];
    this.resets = [];
    this.busy_cycles = 0;
    this.image = typeof image === "string" ? readFileSync(image) : image;
    this.makeChip(undefined);
    this.mcu.flash.set(this.image);
    this.boot();
  }

  report(what) {
    if (this.tolerate(what)) return;
    if (this.faults.length < 20) this.faults.push(`${(this.clock.nanos / 1e6).toFixed(3)} ms: ${what}`);
  }

  makeChip(previous) {
    const mcu = new RP2040(previous?.clock);
    mcu.loadBootrom(makeStubRom());
    this.mcu = mcu;
    this.clock = mcu.clock;
    if (previous) {
      mcu.flash.set(previous.flash);
      mcu.sram.set(previous.sram);
    }
    shims.addExceptionCost(mcu, this.exception_cycles, this.exception_cycles);
    shims.maskWaitForInterrupt(mcu);
    shims.connectPads(mcu);
    for (const i2c of mcu.i2c) shims.completeI2c(mcu, i2c);
    shims.completeAdc(mcu);
    shims.alignTimer(mcu);
    makeStrict(mcu, (what) => this.report(what));
    const watchdog = mcu.peripherals[0x40058];
    watchdog.onWatchdogTrigger = () => { this.pending_reset = watchdog; };
    this.last_cycles = mcu.core.cycles;
    this.rest = 0; // of a nanosecond, times the clock's frequency
    this.attach(mcu, this);
  }

  boot() {
    const { mcu } = this;
    const boot2 = mcu.flash.slice(0, boot2_bytes);
    const stored = new DataView(boot2.buffer).getUint32(boot2_bytes - 4, true);
    if (boot2Crc(boot2.subarray(0, boot2_bytes - 4)) !== stored) throw new Error("boot2: the ROM would refuse it, its CRC is wrong");
    mcu.sram.set(boot2, boot2_address - 0x20000000);
    mcu.core.SP = boot2_address;
    mcu.core.LR = 0;
    mcu.core.PC = boot2_address;
  }

  // As the chip: scratch registers and SRAM stay, flash too; clock and world go on.
  reset(watchdog) {
    const old = this.mcu;
    old.peripherals[0x40058].alarm.enable = false;
    old.peripherals[0x40058].timer.enable = false;
    const levels = old.gpio.map((pin) => pin.externalLevel);
    this.makeChip(old);
    const fresh = this.mcu.peripherals[0x40058];
    fresh.scratchData.set(watchdog.scratchData);
    fresh.reason = watchdog.reason;
    levels.forEach((level, index) => { if (level !== undefined) this.drive(index, level); });
    this.resets.push({ at_ns: this.clock.nanos, reason: watchdog.reason });
    this.onReset?.();
    this.boot();
  }

  // An outside driver of a pin. Only changes are passed on: the emulator latches an edge at every call.
  drive(index, level) {
    const pin = this.mcu.gpio[index];
    pin.externalLevel = level;
    if (pin.rawInputValue !== level) pin.setInputValue(level);
  }

  run(nanos) {
    const { clock } = this;
    const end = clock.nanos + nanos;
    while (clock.nanos < end) {
      if (this.pending_reset) {
        const watchdog = this.pending_reset;
        this.pending_reset = undefined;
        this.reset(watchdog);
      }
      const { mcu } = this;
      const { core } = mcu;
      if (core.waiting) {
        if (core.pendingInterrupts & core.enabledInterrupts || core.pendingSystick || core.pendingPendSV) {
          core.interruptsUpdated = true;
          core.waiting = false;
          continue;
        }
        const next = clock.nextAlarm ? Math.max(clock.nextAlarm.nanos - clock.nanos, 0) : end - clock.nanos;
        clock.tick(Math.min(next, end - clock.nanos));
        continue;
      }
      // Hot: at a whole number of ns a cycle, and with no alarm due, time is one addition.
      const ns_per_cycle = mcu.clkSys === 125e6 ? 8 : 0;
      do {
        core.executeInstruction();
        const cycles = core.cycles - this.last_cycles;
        this.last_cycles = core.cycles;
        this.busy_cycles += cycles;
        if (ns_per_cycle !== 0 && this.rest === 0) {
          const then = clock.nanosCounter + cycles * 8;
          if (clock.nextAlarm === null || clock.nextAlarm.nanos > then) clock.nanosCounter = then;
          else clock.tick(cycles * 8);
        } else {
          const scaled = cycles * 1e9 + this.rest;
          const whole = Math.floor(scaled / mcu.clkSys);
          this.rest = ns_per_cycle !== 0 ? 0 : scaled - whole * mcu.clkSys; // under 8 ns, once, when the clock changes
          clock.tick(whole);
        }
      } while (!core.waiting && this.pending_reset === undefined && clock.nanosCounter < end && ns_per_cycle !== 0);
    }
  }

  runUntil(condition, milliseconds, what) {
    const end = this.clock.nanos + milliseconds * 1e6;
    for (;;) {
      const result = condition();
      if (result) return result;
      if (this.clock.nanos > end) throw new Error(`no ${what} within ${milliseconds} ms (${this.faults.join("; ")})`);
      this.run(20_000);
    }
  }
}
