// The ADC misbehaves in mid-stream: each time flagged, counted, recovered, and no wrong code is ever sent.
import assert from "node:assert";
import test from "node:test";
import { Rig } from "../harness/rig.js";
import { flag } from "../harness/protocol.js";

const rig = new Rig();
rig.plugIn();
rig.startStream();
rig.board.run(40e6);

function after(plant, milliseconds) {
  rig.board.run(20e6);
  const from = rig.blocks.length;
  const before = rig.blocks.at(-1);
  plant();
  rig.board.run(milliseconds * 1e6);
  const blocks = rig.blocks.slice(from);
  const flags = blocks.reduce((all, block) => all | block.flags, 0);
  const result = rig.compare(blocks);
  assert.deepStrictEqual(rig.board.faults, []);
  assert.equal(result.wrong, 0, JSON.stringify(result.first));
  assert.deepStrictEqual(rig.checkContinuity(rig.blocks.slice(from - 1)), []);
  const tail = blocks.slice(-5);
  assert.deepStrictEqual(tail.map((block) => [block.flags, block.count]), Array(5).fill([0, 75]), "it streams again, without flags");
  return { before, blocks, flags, last: blocks.at(-1) };
}

test("a wrong CRC", () => {
  const { before, flags, last } = after(() => { rig.adc.corrupt_frames = 1; }, 60);
  assert.ok(flags & flag.adc_crc_error);
  assert.equal(last.adc_crc_errors - before.adc_crc_errors, 1);
  assert.equal(last.lost_samples - before.lost_samples, 1);
  assert.equal(last.segment, before.segment);
});

test("a missed DRDY", () => {
  const { before, flags, last } = after(() => { rig.adc.missed_edges = 1; }, 60);
  assert.ok(flags & flag.resynchronised);
  assert.ok(flags & flag.samples_lost);
  assert.ok(last.lost_samples - before.lost_samples >= 1);
  assert.ok(last.lost_samples - before.lost_samples <= 6, `${last.lost_samples - before.lost_samples} lost`);
  assert.equal(last.segment, before.segment + 1);
});

// At several places of the sample period: what the firmware sees first depends on whether a frame is under way.
for (const phase_ns of [0, 3000, 6000, 10_000, 15_000, 25_000]) test(`a reset of the ADC ${phase_ns / 1000} us after DRDY`, () => {
  const { before, flags, last } = after(() => {
    const conversions = rig.adc.conversions.length;
    while (rig.adc.conversions.length === conversions) rig.board.run(100);
    rig.board.run(phase_ns + 100);
    rig.adc.brownOut();
  }, 60);
  assert.ok(flags & flag.resynchronised);
  assert.ok(last.segment > before.segment);
  assert.ok(last.lost_samples > before.lost_samples);
});

test("a dead ADC gives flagged empty blocks, then comes back", () => {
  const { blocks, flags, last, before } = after(() => {
    rig.adc.dead = true;
    rig.board.run(120e6);
    rig.adc.dead = false;
    rig.adc.brownOut();
  }, 350);
  assert.ok(flags & flag.adc_silent);
  const empty = blocks.filter((block) => block.flags & flag.adc_silent);
  assert.ok(empty.every((block) => block.count === 0 && block.span > 0));
  assert.ok(empty.length > 20, `${empty.length} empty blocks in 120 ms`);
  assert.ok(last.segment > before.segment);
});
