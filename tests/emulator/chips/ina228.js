// INA228 (SLYS021A): continuous shunt conversions of 4.12 ms, 78.125 nV a code at ADCRANGE 1, ALERT low at their end.

const conversion_ns = 4_120_000 + 50_000;

export class Ina228 {
  constructor({ clock, load, setAlert }) {
    Object.assign(this, { load, setAlert, dead: false });
    this.registers = { 0x3e: [0x54, 0x49], 0x3f: [0x22, 0x81] };
    this.pointer = 0;
    this.conversions = 0;
    this.codes = [];
    setAlert(true);
    const alarm = clock.createAlarm(() => {
      alarm.schedule(conversion_ns);
      if (this.dead || !(this.registers[1]?.[0] >> 4)) return;
      const code = Math.max(-524288, Math.min(524287, Math.round(load.shuntVolt(clock.nanos - conversion_ns / 2) / 78.125e-9)));
      this.codes.push({ nanos: clock.nanos, code });
      const bits = (code << 4) & 0xffffff;
      this.registers[4] = [bits >> 16, (bits >> 8) & 255, bits & 255];
      this.registers[6] = [0x0c, 0x80]; // 25 degC
      this.registers[5] = [0x41, 0xeb, 0]; // 3.3 V at 195.3125 uV
      if ((this.registers[11]?.[0] ?? 0) & 0x40) setAlert(false);
    });
    alarm.schedule(conversion_ns);
  }
  start(reading) {
    this.count = 0;
    this.written = [];
    if (reading && this.pointer === 11) this.setAlert(true);
    return !this.dead;
  }
  write(byte) {
    if (this.count++ === 0) this.pointer = byte;
    else this.written.push(byte);
    return true;
  }
  read() { return (this.registers[this.pointer] ?? [0, 0, 0])[this.count++] ?? 0xff; }
  stop() { if (this.written.length) this.registers[this.pointer] = this.written; }
}
