// The drive as the rig sees it: current over time in closed form, and the front end's nominal constants. Codes add a fixed
// pseudo-random part for each sample, so that a shifted, lost or swapped sample cannot pass for its neighbour.

const shunt_ohm = 0.01;
const amplifier_gain = 20;
const amplifier_zero_volt = 1.25;
const full_scale_volt = 1.2;
const divider = 2.0 / 6.02;
const reference_volt = 7.5; // of the MCU's ADC, as seen from the amplifier: 3.0 V behind a divider of 2/5
const clip = (code) => Math.max(-8388608, Math.min(8388607, code));

export function mix(n) {
  let x = Math.imul(n ^ 0x9e3779b9, 0x85ebca6b);
  x ^= x >>> 13;
  x = Math.imul(x, 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

export class Load {
  // spikes: [{begin_ns, end_ns, ampere}], in order, not overlapping
  constructor({ base_ampere = 0.8, host_volt = 3.3, spikes = [], noise_codes = 2000 } = {}) {
    Object.assign(this, { base_ampere, host_volt, spikes, noise_codes });
    this.at = 0;
  }
  ampere(nanos) {
    const { spikes } = this;
    if (this.at >= spikes.length || (this.at > 0 && nanos < spikes[this.at - 1].end_ns)) this.at = 0;
    while (this.at < spikes.length && spikes[this.at].end_ns <= nanos) this.at++;
    const spike = spikes[this.at];
    return spike && nanos >= spike.begin_ns ? spike.ampere : this.base_ampere;
  }
  // What conversion number n of the precise ADC, ended at `nanos`, gives: [V, I].
  codes(n, nanos) {
    const group_delay_ns = 45720;
    const volt = this.host_volt * divider;
    const sense = this.ampere(nanos - group_delay_ns) * shunt_ohm * amplifier_gain;
    const noise = mix(n);
    return [clip(Math.round((volt / full_scale_volt) * 8388608) + (noise & 0xffff) % this.noise_codes),
            clip(Math.round((sense / full_scale_volt) * 8388608) + (noise >>> 16) % this.noise_codes)];
  }
  amplifierVolt(nanos) { return amplifier_zero_volt + this.ampere(nanos) * shunt_ohm * amplifier_gain; }
  shuntVolt(nanos) { return this.ampere(nanos) * shunt_ohm; }
}
export { reference_volt };
