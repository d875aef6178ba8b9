// Wires one I2C block of the emulator to chip models, each step taking its bits' time. The master is serial, so one alarm does.
// A chip has start(reading, nanos) -> acknowledged, write(byte) -> acknowledged, read() -> byte, stop(nanos).

export function wireI2c(mcu, i2c, chips) {
  let pending;
  let chip;
  const alarm = mcu.clock.createAlarm(() => {
    const action = pending;
    pending = undefined;
    action();
  });
  const bit_ns = () => ((i2c.sclLowPeriod + i2c.sclHighPeriod + 15) * 1e9) / mcu.clkSys;
  const after = (bits, action) => {
    pending = action;
    alarm.schedule(Math.round(bits * bit_ns()));
  };
  i2c.onDisable = () => {
    alarm.cancel();
    pending = undefined;
    chip = undefined;
  };
  i2c.onStart = () => after(1, () => i2c.completeStart());
  i2c.onConnect = (address, reading) => after(9, () => {
    const found = chips[address];
    const acknowledged = Boolean(found) && found.start(Boolean(reading), mcu.clock.nanos);
    chip = acknowledged ? found : undefined;
    i2c.completeConnect(acknowledged);
  });
  i2c.onWriteByte = (byte) => after(9, () => i2c.completeWrite(chip.write(byte)));
  i2c.onReadByte = () => after(9, () => i2c.completeRead(chip.read()));
  i2c.onStop = () => after(1, () => {
    chip?.stop(mcu.clock.nanos);
    chip = undefined;
    i2c.completeStop();
  });
}
