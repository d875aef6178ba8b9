// Where rp2040js 1.4.1 differs from the chip. Each shim overrides methods of one instance, never the package; probes/ shows for
// each that the stock block still needs it.

export function addExceptionCost(mcu, cycles_in = 16, cycles_out = 16) {
  const core = mcu.core;
  const enter = core.exceptionEntry.bind(core);
  const leave = core.exceptionReturn.bind(core);
  core.exceptionCount = 0;
  core.exceptionEntry = (number) => {
    core.cycles += cycles_in;
    core.exceptionCount++;
    enter(number);
  };
  core.exceptionReturn = (value) => {
    core.cycles += cycles_out;
    leave(value);
  };
}

// WFI under PRIMASK: the chip wakes and takes the exception only after CPSIE; stock runs the handler inside the masked section.
export function maskWaitForInterrupt(mcu) {
  const core = mcu.core;
  const check = core.checkForInterrupts.bind(core);
  core.checkForInterrupts = () => {
    if (core.waiting && core.PM && !core.pendingNMI) {
      return Boolean(core.pendingInterrupts & core.enabledInterrupts) || core.pendingSystick || core.pendingPendSV;
    }
    return check();
  };
}

// A driven pin can be read back; pads come out of reset with their input enabled (datasheet 2.19.6.3).
export function connectPads(mcu) {
  for (const pin of mcu.gpio) {
    pin.padValue = 0x56;
    pin.addListener((state) => {
      const driven = state < 2;
      const level = driven ? state === 1 : (pin.externalLevel ?? state === 3);
      if (pin.rawInputValue !== level) pin.setInputValue(level);
    });
  }
}

// Each word takes its bits' time; stock completes at once and overruns the receive FIFO.
export function timeSpi(mcu, spi, exchange) {
  let answer = 0;
  const alarm = mcu.clock.createAlarm(() => spi.completeTransmit(answer));
  spi.onTransmit = (word) => {
    answer = exchange(word);
    alarm.schedule(Math.round((spi.dataBits * 1e9) / spi.clockFrequency));
  };
}

// IC_INTR_MASK has no effect in stock, TX_EMPTY and RX_FULL are edges there, and a change of direction makes no RESTART.
export function completeI2c(mcu, i2c) {
  const tx_empty = 1 << 4;
  const rx_full = 1 << 2;
  const restart = 1 << 10;
  const stock = { read: i2c.readUint32.bind(i2c), write: i2c.writeUint32.bind(i2c), next: i2c.nextCommand.bind(i2c),
                  push: i2c.pushRX.bind(i2c), abort: i2c.abort.bind(i2c) };
  let reading = null;
  const updateLevels = () => {
    i2c.intRaw &= ~(tx_empty | rx_full);
    if (i2c.enable & 1 && i2c.txFIFO.itemCount <= i2c.txThreshold) i2c.intRaw |= tx_empty;
    if (i2c.rxFIFO.itemCount > i2c.rxThreshold) i2c.intRaw |= rx_full;
    i2c.checkInterrupts();
  };
  i2c.setInterrupts = (mask) => {
    i2c.intRaw |= mask;
    i2c.checkInterrupts();
  };
  i2c.nextCommand = () => {
    if (!i2c.txFIFO.empty && !i2c.busy && i2c.enable & 1) {
      const command = i2c.txFIFO.peek();
      const read = Boolean(command & 0x100);
      const connected = i2c.state === 3;
      if (connected && reading !== null && read !== reading && !(command & restart)) {
        i2c.txFIFO.buffer[i2c.txFIFO.start] |= restart;
      }
      reading = read;
    }
    stock.next();
    updateLevels();
  };
  i2c.pushRX = (value) => {
    stock.push(value);
    updateLevels();
  };
  i2c.abort = (reason) => {
    i2c.abortSource = 0;
    stock.abort(reason);
    updateLevels();
  };
  i2c.readUint32 = (offset) => {
    if (offset === 0x80) return i2c.abortSource >>> 0;
    const value = stock.read(offset);
    updateLevels();
    return value;
  };
  i2c.writeUint32 = (offset, value) => {
    if (offset === 0x10 && i2c.intRaw & (1 << 6)) return; // held flushed until CLR_TX_ABRT
    if (offset === 0x30) {
      i2c.intEnable = value & 0x1fff;
    } else if (offset === 0xa0 || offset === 0x7c) {
      if (offset === 0xa0) i2c.spikelen = value;
    } else {
      if (offset === 0x6c && !(value & 1)) {
        i2c.state = 0;
        i2c.busy = i2c.stop = i2c.pendingRestart = false;
        reading = null;
        i2c.onDisable?.();
      }
      stock.write(offset, value);
    }
    updateLevels();
  };
}

// FCS: its error bits are write-1-to-clear each by itself, and CS.START_ONE clears itself.
export function completeAdc(mcu) {
  const adc = mcu.adc;
  const write = adc.writeUint32.bind(adc);
  adc.writeUint32 = (offset, value) => {
    if (offset === 0x08) {
      const kept = adc.fcs & 0xc00 & ~value;
      write(offset, value);
      adc.fcs = (adc.fcs & ~0xc00) | kept;
      if (adc.fcs & 8) adc.updateDMA();
      else mcu.dma.clearDREQ(adc.dreq);
      return;
    }
    write(offset, value);
    if (offset === 0x00) adc.cs &= ~4;
  };
}

// Alarms: stock truncates what remains of the microsecond and rings up to 1 us early.
export function alignTimer(mcu) {
  const timer = mcu.peripherals[0x40054];
  const write = timer.writeUint32.bind(timer);
  timer.writeUint32 = (offset, value) => {
    if (offset < 0x10 || offset > 0x1c) return write(offset, value);
    const alarm = timer.alarms[(offset - 0x10) / 4];
    const now_us = Math.floor(mcu.clock.nanos / 1000);
    alarm.armed = true;
    alarm.targetMicros = value >>> 0;
    alarm.clockAlarm.schedule(((value - now_us) >>> 0) * 1000 - (mcu.clock.nanos - now_us * 1000));
  };
}
