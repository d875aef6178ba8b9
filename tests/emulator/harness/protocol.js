// The wire format as firmware/protocol/PROTOCOL.md tells it, written from that page alone: it is the independent reading that the
// firmware's frames are judged by.

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc >>> 0;
});
export function crc32c(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}
if (crc32c(new TextEncoder().encode("123456789")) !== 0xe3069283) throw new Error("CRC32C of the check string is wrong");

export const type = { block: 1, summary: 2, event: 3, command: 4, reply: 5 };
export const command = { get_info: 1, start_stream: 2, stop_stream: 3, sync: 4, set_detail: 5, self_test: 6, read_storage: 7,
                         write_storage: 8, set_drive_power: 9, get_counters: 10, set_sync_out: 11, enter_bootloader: 12 };
export const flag = { overrun: 1, clipped: 2, resynchronised: 4, adc_crc_error: 8, low_voltage: 16, adc_silent: 32, samples_lost: 64,
                      slow_stale: 128, power_off: 256, peak_unavailable: 512 };
const magic = 0x31525457;
const header_bytes = 16;
const maximum_payload_bytes = 1272;

export function makeCommand(id, tag, sequence, argument_bytes = new Uint8Array(0)) {
  const frame = new Uint8Array(header_bytes + 8 + argument_bytes.length + 4);
  const view = new DataView(frame.buffer);
  view.setUint32(0, magic, true);
  frame[4] = 1;
  frame[5] = type.command;
  view.setUint16(6, 8 + argument_bytes.length, true);
  view.setUint32(8, sequence, true);
  view.setUint16(14, crc32c(frame.subarray(0, 14)) & 0xffff, true);
  view.setUint16(16, id, true);
  view.setUint16(18, tag, true);
  frame.set(argument_bytes, header_bytes + 8);
  view.setUint32(frame.length - 4, crc32c(frame.subarray(0, frame.length - 4)), true);
  return frame;
}

// Takes bytes as they come, gives whole frames; what does not fit is counted, byte by byte.
export class FrameReader {
  constructor(onFrame) {
    this.onFrame = onFrame;
    this.buffer = new Uint8Array(8192);
    this.used = 0;
    this.skipped_bytes = 0;
    this.bad_frames = 0;
    this.sequence = undefined;
    this.missing_frames = 0;
  }
  push(packet) {
    if (this.used + packet.length > this.buffer.length) throw new Error("frame reader overflows");
    this.buffer.set(packet, this.used);
    this.used += packet.length;
    let begin = 0;
    while (this.used - begin >= header_bytes) {
      const taken = this.tryFrame(begin);
      if (taken === 0) break;
      begin += taken;
    }
    this.buffer.copyWithin(0, begin, this.used);
    this.used -= begin;
  }
  tryFrame(begin) {
    const view = new DataView(this.buffer.buffer, begin);
    const skip = () => {
      this.skipped_bytes++;
      return 1;
    };
    if (view.getUint32(0, true) !== magic) return skip();
    const payload_bytes = view.getUint16(6, true);
    const header = this.buffer.subarray(begin, begin + 14);
    if (view.getUint16(14, true) !== (crc32c(header) & 0xffff) || payload_bytes % 4 || payload_bytes > maximum_payload_bytes) return skip();
    const total = header_bytes + payload_bytes + 4;
    if (this.used - begin < total) return 0;
    if (view.getUint32(total - 4, true) !== crc32c(this.buffer.subarray(begin, begin + total - 4))) {
      this.bad_frames++;
      return skip();
    }
    const sequence = view.getUint32(8, true);
    if (this.sequence !== undefined) this.missing_frames += (sequence - this.sequence - 1) >>> 0;
    this.sequence = sequence;
    this.onFrame({ type: view.getUint8(5), version: view.getUint8(4), sequence,
                   payload: this.buffer.slice(begin + header_bytes, begin + header_bytes + payload_bytes) });
    return total;
  }
}

const int128 = (view, offset) => (view.getBigInt64(offset + 8, true) << 64n) + view.getBigUint64(offset, true);

export function readBlock(payload) {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  const u32 = (offset) => view.getUint32(offset, true);
  const block = {
    first_index: Number(view.getBigUint64(0, true)), first_time: Number(view.getBigInt64(8, true)),
    lost_samples: Number(view.getBigUint64(16, true)), boot_id: u32(24), segment: u32(28), span: u32(32), count: u32(36), flags: u32(40),
    lost_blocks: u32(44), adc_crc_errors: u32(48), peak_overruns: u32(52), slow_errors: u32(56), command_errors: u32(60),
    shunt_temperature: view.getInt16(64, true), board_temperature: view.getInt16(66, true), rails: payload[68], detail: payload[69],
    parts: [], channels: [],
  };
  for (let rail = 0; rail < block.rails; rail++) {
    const at = 72 + 72 * rail;
    block.parts.push({ count: Number(view.getBigUint64(at, true)), sum_v: view.getBigInt64(at + 8, true),
                       sum_i: view.getBigInt64(at + 16, true), sum_vi: int128(view, at + 24), sum_ii: int128(view, at + 40),
                       v_minimum: view.getInt32(at + 56, true), v_maximum: view.getInt32(at + 60, true),
                       i_minimum: view.getInt32(at + 64, true), i_maximum: view.getInt32(at + 68, true) });
  }
  const slow = 72 + 72 * block.rails;
  block.slow = { sum: view.getBigInt64(slow, true), fast_sum: view.getBigInt64(slow + 8, true), count: u32(slow + 16), fast_count: u32(slow + 20) };
  const peak = slow + 24;
  block.peak = { groups: Array.from({ length: 8 }, (_, k) => view.getInt32(peak + 4 * k, true)), maximum: view.getInt32(peak + 32, true),
                 maximum_at: view.getUint16(peak + 36, true), minimum_reading: view.getUint16(peak + 38, true),
                 maximum_reading: view.getUint16(peak + 40, true), readings: u32(peak + 44), sum_low: u32(peak + 48) };
  let at = peak + 56;
  if (block.detail === 0 && block.count > 0) {
    for (let channel = 0; channel < 2 * block.rails; channel++) {
      const codes = new Int32Array(block.count);
      for (let k = 0; k < block.count; k++, at += 3) codes[k] = payload[at] | (payload[at + 1] << 8) | ((payload[at + 2] << 24) >> 8);
      block.channels.push(codes);
    }
    block.sideband = payload.slice(at, at + block.count);
  }
  return block;
}

export function readReply(payload) {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  return { id: view.getUint16(0, true), tag: view.getUint16(2, true), status: view.getUint16(4, true), view,
           data: payload.subarray(8) };
}
export function readInfo(reply) {
  const u32 = (offset) => reply.view.getUint32(8 + offset, true);
  return { board_id: u32(0), firmware_version: u32(4), boot_id: u32(8), shunt_micro_ohm: u32(12), protocol_version: reply.data[16],
           rails: reply.data[17], reset_cause: reply.data[22], now: Number(reply.view.getBigUint64(8 + 24, true)),
           serial: new TextDecoder().decode(reply.data.slice(32, 48)).replace(/\0+$/, "") };
}
export function readCounters(reply) {
  const u64 = (offset) => Number(reply.view.getBigUint64(8 + offset, true));
  const u32 = (offset) => reply.view.getUint32(8 + offset, true);
  return { samples: u64(0), lost_samples: u64(8), blocks: u64(16), lost_blocks: u32(24), adc_crc_errors: u32(28), peak_overruns: u32(32),
           slow_errors: u32(36), command_errors: u32(40), resynchronisations: u32(44), longest_masked_ticks: u32(48), ring_high_water: u32(52) };
}
