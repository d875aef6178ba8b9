// The device as chapter 9 of USB 2.0 wants it.
import assert from "node:assert";
import test from "node:test";
import { Rig } from "../harness/rig.js";

const rig = new Rig();
const { usb, board } = rig;
rig.plugIn();
const word = (bytes, at) => bytes[at] | (bytes[at + 1] << 8);
const descriptor = (kind, index, length = 1024, language = 0) => usb.control(0x80, 6, (kind << 8) | index, language, length);

test("descriptors are well formed", () => {
  const device = descriptor(1, 0, 18);
  assert.equal(device.length, 18);
  assert.equal(word(device, 2), 0x0210);
  assert.equal(device[17], 1);
  const configuration = descriptor(2, 0);
  assert.equal(word(configuration, 2), configuration.length);
  const endpoints = [];
  let at = 0;
  for (; at < configuration.length; at += configuration[at]) {
    assert.ok(configuration[at] >= 2);
    if (configuration[at + 1] === 5) endpoints.push([configuration[at + 2], configuration[at + 3], word(configuration, at + 4)]);
  }
  assert.equal(at, configuration.length);
  assert.deepStrictEqual(endpoints.sort((a, b) => a[0] - b[0]), [[0x02, 2, 64], [0x81, 2, 64], [0x82, 2, 64]]);
  for (const index of [0, device[14], device[15], device[16]]) {
    const string = descriptor(3, index, 255, 0x0409);
    assert.notEqual(string, "stall");
    assert.equal(string[0], string.length);
    assert.equal(string[1], 3);
  }
  const bos = descriptor(15, 0);
  assert.equal(word(bos, 2), bos.length);
  // MS OS 2.0 platform capability: its set must have the length it says.
  const capability = Buffer.from(bos).indexOf(Buffer.from("df60ddd88945c74c9cd2659d9e648a9f", "hex"));
  assert.ok(capability > 0);
  const total = word(bos, capability + 20);
  const set = usb.control(0xc0, bos[capability + 22], 0, 7, total);
  assert.equal(set.length, total);
  assert.equal(word(set, 8), total);
  assert.equal(descriptor(1, 0, 8).length, 8, "no more than was asked for");
});

test("unknown requests are stalled, and the next one is answered", () => {
  const unknown = [[0x80, 6, 0x0600, 0, 10], [0x80, 6, 0x2200, 0, 64], [0x80, 6, 0x03f0, 0x0409, 64], [0xc0, 0x55, 0, 0, 8],
                   [0x21, 0x20, 0, 0, 7], [0xa1, 0x21, 0, 0, 7], [0x40, 0x99, 0, 0, 10], [0x00, 7, 0x0100, 0, 18], [0x80, 12, 0, 0, 2],
                   [0x00, 9, 2, 0, 0], [0x02, 3, 0, 0x85, 0], [0x82, 0, 0, 0x07, 2]];
  for (const request of unknown) {
    const data = new Uint8Array(request[0] & 0x80 ? 0 : request[4]);
    assert.equal(usb.control(...request, data), "stall", JSON.stringify(request));
    assert.equal(descriptor(1, 0, 18).length, 18);
  }
});

test("halt of an endpoint, and its end", () => {
  assert.notEqual(usb.control(2, 3, 0, 0x81, 0), "stall");
  board.run(1e6);
  assert.equal(usb.control(0x82, 0, 0, 0x81, 2)[0], 1);
  assert.equal(usb.takeIn(1), "stall");
  assert.notEqual(usb.control(2, 1, 0, 0x81, 0), "stall");
  assert.equal(usb.control(0x82, 0, 0, 0x81, 2)[0], 0);
});

test("suspend, resume and bus reset in mid-stream", () => {
  rig.startStream();
  board.run(30e6);
  const samples_before = rig.blocks.length;
  assert.ok(samples_before > 5);
  usb.suspend();
  board.run(50e6);
  usb.resume();
  board.run(60e6);
  assert.ok(rig.blocks.length > samples_before + 30, "goes on after the resume");
  assert.equal(rig.compare().wrong, 0);
  const last = rig.blocks.at(-1);
  rig.plugIn();
  board.run(50e6);
  const first = rig.blocks.find((block) => block.first_index > last.first_index);
  assert.equal(first.boot_id, last.boot_id, "a bus reset is no restart");
  assert.equal(rig.compare().wrong, 0);
  assert.equal(rig.info().boot_id, last.boot_id);
  assert.deepStrictEqual(usb.errors, []);
  assert.deepStrictEqual(board.faults, []);
});

test("broken commands are counted and leave no trace", () => {
  const before = rig.counters().command_errors;
  usb.sending.get(2).push(Uint8Array.of(1, 2, 3, 4, 5, 6, 7));
  board.run(10e6);
  const counters = rig.counters();
  assert.ok(counters.command_errors > before);
});
