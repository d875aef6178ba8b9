// The RP2040's own ADC as it is, not as rp2040js has it: erratum E11 (codes 512, 1536, 2560 and 3584 are some 8 wide), 8.7 effective
// bits of noise, ripple of the reference. 2 us a conversion.
import { mix, reference_volt } from "./load.js";

const conversion_ns = 2000;
const wide_codes = [512, 1536, 2560, 3584];
const extra_width = 8;
// 8.7 bits effective: total noise of 4096 / 2^8.7 / sqrt(12) codes rms.
const noise_codes = 4096 / 2 ** 8.7 / Math.sqrt(12);
const sensor_volt_27c = 0.706;

export function convert(volt, n, nanos, { noise = noise_codes, ripple = 0.0005 } = {}) {
  const reference = reference_volt * (1 + ripple * Math.sin((2 * Math.PI * nanos) / 1e9 * 100e3));
  let ideal = (volt / reference) * 4096;
  // Sum of four uniform parts: near to Gauss, variance 4/12.
  const bits = mix(n);
  const sum = (bits & 255) + ((bits >>> 8) & 255) + ((bits >>> 16) & 255) + (bits >>> 24);
  ideal += ((sum - 510) / 256 / Math.sqrt(1 / 3)) * noise;
  // A wide code holds the inputs of `extra_width` more codes: the ideal line, less what the wide codes below have swallowed; the
  // steps are spread over the range so that its ends stay.
  const scale = (4096 + wide_codes.length * extra_width) / 4096;
  let code = ideal * scale;
  for (const wide of wide_codes) {
    if (code >= wide + extra_width) code -= extra_width;
    else if (code >= wide) code = wide;
  }
  return Math.max(0, Math.min(4095, Math.floor(code)));
}

export function wireAdc(mcu, load, options = {}) {
  const readings = { count: 0 };
  let channel = 0;
  const alarm = mcu.clock.createAlarm(() => {
    const nanos = mcu.clock.nanos;
    const volt = channel === 0 ? load.amplifierVolt(nanos) : channel === 4 ? sensor_volt_27c : 0;
    mcu.adc.completeADCRead(convert(volt, readings.count++, nanos, options), false);
  });
  mcu.adc.onADCRead = (which) => {
    channel = which;
    alarm.schedule(conversion_ns);
  };
  return readings;
}
