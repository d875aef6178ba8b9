// Power of the EEPROM lost at every byte of a calibration write: the newest valid slot is the old payload or the new one, and the
// stream goes on. The slots are read from the chip's memory by PROTOCOL.md's layout, and again through the firmware.
import assert from "node:assert";
import test from "node:test";
import { Rig } from "../harness/rig.js";
import { command, crc32c } from "../harness/protocol.js";

const slot_bytes = 4096;
const header_bytes = 32;
const payload_bytes = 72; // two pages, the second in part

function newest(memory) {
  let found;
  for (const base of [0, slot_bytes]) {
    const view = new DataView(memory.buffer, memory.byteOffset + base, slot_bytes);
    const length = view.getUint16(6, true);
    if (view.getUint32(0, true) !== 0x4c435457 || view.getUint16(4, true) !== 1 || length > slot_bytes - header_bytes) continue;
    const payload = memory.slice(base + header_bytes, base + header_bytes + length);
    if (crc32c(payload) !== view.getUint32(12, true)) continue;
    const sequence = view.getUint32(8, true);
    if (!found || sequence > found.sequence) found = { sequence, payload };
  }
  return found;
}
const payloadOf = (seed) => Uint8Array.from({ length: payload_bytes }, (_, k) => (seed * 37 + k * 11) & 255);
const same = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)) === 0;

function write(rig, payload) {
  const data = new Uint8Array(8 + payload.length);
  new DataView(data.buffer).setUint16(2, payload.length, true);
  new DataView(data.buffer).setUint16(4, payload.length, true);
  new DataView(data.buffer).setUint16(6, 1, true);
  data.set(payload, 8);
  return rig.ask(command.write_storage, data, 2000);
}
function read(rig) {
  const data = new Uint8Array(8);
  new DataView(data.buffer).setUint16(0, 0xffff, true);
  new DataView(data.buffer).setUint16(4, payload_bytes, true);
  const reply = rig.ask(command.read_storage, data, 2000);
  return { status: reply.status, payload: reply.data.slice(header_bytes, header_bytes + payload_bytes) };
}

test("old or new, never a mixture, at every byte; the stream is not interrupted", () => {
  const rig = new Rig();
  rig.plugIn();
  rig.startStream();
  let old = payloadOf(1);
  assert.equal(write(rig, old).status, 0);
  assert.ok(same(newest(rig.eeprom.memory).payload, old));
  let whole = 0;
  const stored_before = rig.eeprom.stored;
  assert.equal(write(rig, payloadOf(2)).status, 0);
  const bytes_of_a_write = rig.eeprom.stored - stored_before;
  assert.ok(bytes_of_a_write >= header_bytes + payload_bytes);
  old = payloadOf(2);
  for (let budget = 1; budget <= bytes_of_a_write; budget++) {
    const fresh = payloadOf(budget + 3);
    rig.eeprom.power_budget = budget;
    const status = write(rig, fresh).status;
    const survivor = newest(rig.eeprom.memory);
    rig.eeprom.powerOn();
    assert.ok(survivor, `nothing valid after ${budget} bytes`);
    const is_new = same(survivor.payload, fresh);
    assert.ok(is_new || same(survivor.payload, old), `a mixture after ${budget} bytes`);
    if (status === 0) assert.ok(is_new, "ok was answered and it is not there");
    const through_firmware = read(rig);
    assert.equal(through_firmware.status, 0);
    assert.ok(same(through_firmware.payload, survivor.payload), `the firmware reads another payload after ${budget} bytes`);
    if (is_new) {
      whole++;
      old = fresh;
    }
  }
  const last = rig.blocks.at(-1);
  assert.equal(last.lost_samples + last.lost_blocks, 0);
  assert.equal(rig.compare().wrong, 0);
  assert.deepStrictEqual(rig.board.faults, []);
  console.log(`# power lost at each of ${bytes_of_a_write} bytes: ${whole} times the new payload, else the old; 0 samples lost`);

  // A rig that boots from that memory finds the same payload, and has a new boot id.
  const boot_id = rig.info().boot_id;
  const next = new Rig({ eeprom: rig.eeprom });
  next.plugIn();
  assert.equal(next.info().boot_id, boot_id + 1);
  assert.ok(same(read(next).payload, old));
});
