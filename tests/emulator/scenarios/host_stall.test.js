// A host that does not read: 100 ms cost nothing, 2 s a counted number of blocks, and no energy.
import assert from "node:assert";
import test from "node:test";
import { Rig } from "../harness/rig.js";

function stalled(milliseconds) {
  const rig = new Rig();
  rig.plugIn();
  rig.startStream();
  rig.board.run(50e6);
  rig.usb.reading.delete(1);
  rig.board.run(milliseconds * 1e6);
  rig.usb.reading.add(1);
  rig.board.run(400e6);
  return rig;
}
const indexSpan = (rig) => rig.blocks.reduce((sum, block) => sum + block.span, 0);

test("a stall of 100 ms loses nothing", () => {
  const rig = stalled(100);
  const result = rig.compare();
  const last = rig.blocks.at(-1);
  assert.deepStrictEqual(rig.board.faults, []);
  assert.equal(result.wrong, 0);
  assert.equal(last.lost_blocks, 0);
  assert.equal(last.lost_samples, 0);
  assert.equal(indexSpan(rig), last.first_index + last.span);
  assert.deepStrictEqual(rig.checkContinuity(), []);
});

test("a stall of 2 s loses a counted number and no sum", () => {
  const rig = stalled(2000);
  const result = rig.compare();
  const last = rig.blocks.at(-1);
  assert.deepStrictEqual(rig.board.faults, []);
  assert.equal(result.wrong, 0);
  assert.ok(last.lost_blocks > 700, `${last.lost_blocks} blocks lost`);
  assert.equal(indexSpan(rig) + 75 * last.lost_blocks, last.first_index + last.span, "received and counted are all there is");
  const after = rig.blocks.findIndex((block) => block.flags & 1);
  assert.ok(after > 0, "the block behind the gap is flagged");
  // The sums across the gap are those of the model's codes, conversion by conversion.
  const before = rig.blocks[after - 1];
  const first_end = (before.first_time + 5715) * 8 + before.span * 30720;
  const conversions = rig.adc.conversions;
  let at = conversions.findIndex((c) => Math.abs(c.nanos - first_end) < 15360);
  let sum_vi = 0n;
  const total = rig.blocks[after].parts[0].count - before.parts[0].count;
  for (let k = 0; k < total; k++, at++) sum_vi += BigInt(conversions[at].v) * BigInt(conversions[at].i);
  assert.equal(rig.blocks[after].parts[0].sum_vi - before.parts[0].sum_vi, sum_vi);
  console.log(`# emulated stall of 2 s: ${last.lost_blocks} blocks lost, all counted, energy exact`);
});
