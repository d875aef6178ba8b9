// Second stage of the boot: the mask ROM copies the first 256 bytes of the flash to SRAM, checks their CRC (boot2_image.py puts
// it there) and jumps in. This one sets the flash interface to plain 03h reads, which every serial flash understands. That is
// slow, and does not matter: the image runs from SRAM, so the flash is read once, at start.
// Registers: RP2040 datasheet 4.10.13 (SSI).
    .syntax unified
    .cpu cortex-m0plus
    .thumb
    .section .boot2, "ax"
    .global boot2
    .thumb_func
boot2:
    ldr r3, =0x18000000        // XIP_SSI
    movs r0, #0
    str r0, [r3, #0x08]        // SSIENR: off, the others may only be written then
    movs r0, #4
    str r0, [r3, #0x14]        // BAUDR: 1/4 of the clock, 33 MHz at most
    ldr r0, =(31 << 16 | 3 << 8)
    str r0, [r3, #0x00]        // CTRLR0: 32-bit data frames, "EEPROM read": command first, then data
    movs r0, #0
    str r0, [r3, #0x04]        // CTRLR1: one data frame
    ldr r0, =(0x03 << 24 | 2 << 8 | 6 << 2)
    ldr r1, =0x180000f4
    str r0, [r1]               // SPI_CTRLR0: command 03h, 8-bit instruction, 24-bit address, all on one line
    movs r0, #1
    str r0, [r3, #0x08]        // SSIENR: on; flash can be read from here on
    ldr r0, =0x10000100        // flash_vectors: stack pointer and reset handler
    ldr r1, =0xe000ed08        // VTOR
    str r0, [r1]
    ldmia r0!, {r1, r2}
    msr msp, r1
    bx r2
    .ltorg
