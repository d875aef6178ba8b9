// Spikes of 20 us to 10 ms, 0.1 to 5.5 A, seen through a coarse path whose gain is 5 % and whose zero 20 mA off. Here: the raw
// readings are the model's, and a lost block loses no peak. The stream and the model's truth go to files from which
// peak_fit_test.cpp lets the host's own code find gain, offset and maxima.
import assert from "node:assert";
import { writeFileSync } from "node:fs";
import test from "node:test";
import { Rig } from "../harness/rig.js";
import { Load } from "../chips/load.js";

const gain_error = 1.05;
const offset_ampere = 0.02;
const window_ns = 100_000;

// The RC in front of the MCU's ADC, in closed form: edges lie at least nine time constants apart.
const rc_ns = 2200;
class CoarseLoad extends Load {
  filteredAmpere(nanos) {
    const now = this.ampere(nanos);
    const spike = this.spikes[this.at];
    const inside = spike && nanos >= spike.begin_ns;
    const edge_ns = inside ? spike.begin_ns : (this.spikes[this.at - 1]?.end_ns ?? -1e9);
    const before = inside ? this.base_ampere : (this.spikes[this.at - 1]?.ampere ?? now);
    return now + (before - now) * Math.exp(-(nanos - edge_ns) / rc_ns);
  }
  amplifierVolt(nanos) { return 1.25 + (this.filteredAmpere(nanos) * gain_error + offset_ampere) * 0.2; }
}
const widths_us = [20, 50, 100, 200, 500, 1000, 3000, 10000];
const amperes = [5.5, 0.1, 3, 1.5, 4.2, 0.5, 2.2, 5.0];
const spikes = [];
// First steps of 50 ms for the fit, then single spikes 25 ms apart.
for (let k = 0; k < 8; k++) spikes.push({ begin_ns: 60e6 + k * 100e6, end_ns: 110e6 + k * 100e6, ampere: k % 2 ? 3.5 : 2.0, step: true });
for (let k = 0; k < widths_us.length * 2; k++) {
  const width_us = widths_us[k % widths_us.length];
  const begin_ns = 900e6 + k * 25e6 + k * 1234;
  spikes.push({ begin_ns, end_ns: begin_ns + width_us * 1000, ampere: amperes[(k * 3 + (k >> 3)) % amperes.length] });
}

const rig = new Rig({ load: new CoarseLoad({ base_ampere: 0.3, spikes, noise_codes: 200 }) });
const bytes = [];
const deliver = rig.usb.onPacket;
rig.usb.onPacket = (endpoint, packet) => {
  if (endpoint === 1) bytes.push(packet);
  deliver(endpoint, packet);
};
rig.plugIn();
rig.startStream();
rig.board.run(1350e6);

// The largest mean current over 100 us that meets [begin, end): closed form, as spikes are rectangles apart.
const truth = spikes.filter((spike) => !spike.step).map((spike) => {
  const share = Math.min(1, (spike.end_ns - spike.begin_ns) / window_ns);
  return { begin_ns: spike.begin_ns, end_ns: spike.end_ns, ampere: Math.max(0.3, 0.3 + (spike.ampere - 0.3) * share) };
});

test("the stream is whole and the readings are the model's", () => {
  assert.deepStrictEqual(rig.board.faults, []);
  assert.equal(rig.compare().wrong, 0);
  const quiet = rig.blocks.find((block) => block.first_time * 8 > 880e6);
  const mean = quiet.peak.sum_low / quiet.peak.readings;
  const ideal = ((1.25 + (0.3 * gain_error + offset_ampere) * 0.2) / 7.5) * 4096;
  // E11: one wide code of 8 lies below, four over the whole range; a converter rounds down.
  const expected = ideal * ((4096 + 4 * 8) / 4096) - 8 - 0.5;
  assert.ok(Math.abs(mean - expected) < 1, `mean reading ${mean}, the model gives ${expected}`);
  assert.ok(rig.blocks.slice(1).every((block) => block.peak.readings === 576));
  assert.equal(rig.blocks.at(-1).peak_overruns, 0);
});

test("a lost block loses no peak: its group in the blocks after it has it", () => {
  let shown = 0;
  rig.blocks.forEach((block, index) => {
    const group = Math.floor(index / 8);
    const later = rig.blocks[index + 20];
    if (!later) return;
    const depth = Math.floor((index + 20) / 8) - group;
    assert.ok(later.peak.groups[depth] >= block.peak.maximum, `block ${index}`);
    const highest = Math.max(...rig.blocks.slice(group * 8, group * 8 + 8).map((one) => one.peak.maximum));
    assert.equal(later.peak.groups[depth], highest, "and no more than that");
    shown++;
  });
  assert.ok(shown > 500);
});

test("recorded for the host", () => {
  const prefix = process.env.WATTRIG_PEAK_RECORD;
  if (!prefix) return;
  writeFileSync(`${prefix}.bin`, Buffer.concat(bytes.map((packet) => Buffer.from(packet))));
  // One line a spike: begin and end in ticks, watts of its highest window at the drive's side.
  const volt = rig.load.host_volt;
  writeFileSync(`${prefix}.txt`, truth.map((spike) => {
    const watts = (volt - 0.01 * spike.ampere) * spike.ampere;
    return `${Math.round(spike.begin_ns / 8)} ${Math.round(spike.end_ns / 8)} ${watts} ${volt}`;
  }).join("\n") + "\n");
});
